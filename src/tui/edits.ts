/** What a call changes in a file, for showing it before or after it is done. */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { ToolUseBlock } from '../machines/messages.ts'
import type { Change } from './diff.ts'

const LARGEST = 1024 * 1024

/** @returns the change, to the file as it is now; null for calls that write no file, or that would fail */
export function changeOf(call: ToolUseBlock, cwd: string): Change | null {
  const { path, content, old_text, new_text, replace_all } = call.input as Record<string, unknown>
  if (typeof path !== 'string' || (call.name !== 'edit_file' && call.name !== 'write_file')) return null
  const before = readText(isAbsolute(path) ? path : join(cwd, path))
  if (call.name === 'write_file') return typeof content === 'string' ? { before: before ?? '', after: content } : null
  if (typeof old_text !== 'string' || typeof new_text !== 'string' || old_text === '') return null
  if (before === null) return { before: old_text, after: new_text }
  const text = before.includes('\r\n') ? before.replaceAll('\r\n', '\n') : before
  const [from, to] = [old_text.replaceAll('\r\n', '\n'), new_text.replaceAll('\r\n', '\n')]
  const at = text.indexOf(from)
  if (at < 0) return { before: from, after: to }
  const after = replace_all === true ? text.split(from).join(to) : text.slice(0, at) + to + text.slice(at + from.length)
  return { before: text, after }
}

/**
 * @param result what the tool said of it then
 * @returns the change that a call has made, as far as it is known afterwards: where the file holds the new text once,
 *   in its place there; null where nothing is known of what it replaced
 */
export function pastChangeOf(call: ToolUseBlock, result: string, cwd: string): Change | null {
  const { path, content, old_text, new_text, replace_all } = call.input as Record<string, unknown>
  if (typeof path !== 'string') return null
  if (call.name === 'write_file')
    return typeof content === 'string' && result.startsWith('Created ') ? { before: '', after: content } : null
  if (call.name !== 'edit_file' || typeof old_text !== 'string' || typeof new_text !== 'string') return null
  const [from, to] = [old_text.replaceAll('\r\n', '\n'), new_text.replaceAll('\r\n', '\n')]
  const now = replace_all === true || to === '' ? null : readText(isAbsolute(path) ? path : join(cwd, path))
  const parts = now === null ? [] : now.replaceAll('\r\n', '\n').split(to)
  return parts.length === 2 ? { before: parts.join(from), after: parts.join(to) } : { before: from, after: to }
}

function readText(file: string): string | null {
  try {
    const stat = statSync(file)
    return stat.isFile() && stat.size <= LARGEST ? readFileSync(file, 'utf8') : null
  } catch {
    return null
  }
}
