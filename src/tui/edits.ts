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

function readText(file: string): string | null {
  try {
    const stat = statSync(file)
    return stat.isFile() && stat.size <= LARGEST ? readFileSync(file, 'utf8') : null
  } catch {
    return null
  }
}
