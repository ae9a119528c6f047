/** What a call changes in a file, for showing it before or after it is done. */
import { readFileSync, statSync } from 'node:fs'
import type { ToolUseBlock } from '../machines/messages.ts'
import { absolutePath } from '../services/paths.ts'
import { lineEnd, lineStart } from './editor.ts'

export interface Change {
  before: string
  after: string
  /** The line of the file that both begin with, from 1; absent for whole files. */
  line?: number
}

const LARGEST = 16 * 1024 * 1024
/** Unchanged lines around what is changed. */
export const CONTEXT = 3

/** @returns the change, to the file as it is now; null for calls that write no file, or that would fail */
export function changeOf(call: ToolUseBlock, cwd: string): Change | null {
  const { path, content, old_text, new_text, replace_all } = call.input as Record<string, unknown>
  if (typeof path !== 'string' || (call.name !== 'edit_file' && call.name !== 'write_file')) return null
  const before = readText(absolutePath(path, cwd))
  if (call.name === 'write_file') return typeof content === 'string' ? { before: before ?? '', after: content } : null
  if (typeof old_text !== 'string' || typeof new_text !== 'string' || old_text === '') return null
  if (before === null) return { before: old_text, after: new_text }
  const text = before.includes('\r\n') ? before.replaceAll('\r\n', '\n') : before
  const [from, to] = [old_text.replaceAll('\r\n', '\n'), new_text.replaceAll('\r\n', '\n')]
  const at = text.indexOf(from)
  if (at < 0) return { before: from, after: to }
  return replace_all === true ? { before: text, after: text.split(from).join(to) } : around(text, at, from, to)
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
  const now = replace_all === true || to === '' ? null : readText(absolutePath(path, cwd))
  const parts = now === null ? [] : now.replaceAll('\r\n', '\n').split(to)
  const [head = '', tail = ''] = parts
  return parts.length === 2 ? around(head + from + tail, head.length, from, to) : { before: from, after: to }
}

/** The change of one place with the lines around it: the rest of the file, however long, has no part in it. */
function around(text: string, at: number, from: string, to: string): Change {
  let start = lineStart(text, at)
  for (let n = 0; n < CONTEXT && start > 0; n++) start = lineStart(text, start - 1)
  let end = at + from.length
  for (let n = 0; n <= CONTEXT; n++) end = Math.min(text.length, lineEnd(text, end) + 1)
  const [head, tail] = [text.slice(start, at), text.slice(at + from.length, end)]
  const line = text.slice(0, start).split('\n').length
  return { before: head + from + tail, after: head + to + tail, line }
}

function readText(file: string): string | null {
  try {
    const stat = statSync(file)
    return stat.isFile() && stat.size <= LARGEST ? readFileSync(file, 'utf8') : null
  } catch {
    return null
  }
}
