/** Reads lines from the middle of a file of any length without holding the rest of it. */
import { readChunks } from '../files.ts'
import { decodeText } from './files.ts'
import type { LineRange } from './mentionTokens.ts'

export type LinesRead =
  /** `lastLine`: the last one that is in `text`. `cut`: the limit ended it. */
  | { kind: 'read'; text: string; lastLine: number; cut: boolean }
  | { kind: 'beyond'; lastLine: number }
  | { kind: 'tooFar' }
  | { kind: 'binary' }
  | { kind: 'unreadable'; reason: string }

const CHUNK = 64 * 1024
/** Bytes looked through for the first line: about a tenth of a second. */
const SCAN_LIMIT = 128 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * @param limit most bytes of the text
 * @returns the lines of the range as they stand in the file, `\n` and `\r\n` ends included
 */
export function readLines(path: string, range: LineRange, limit: number): LinesRead {
  const buffer = Buffer.allocUnsafe(CHUNK)
  const wanted: Buffer[] = []
  let wantedLength = 0
  let scanned = 0
  /** The line that the next byte belongs to. */
  let line = 1
  let openLine = false
  const failure = readChunks(path, (read) => {
    const chunk = buffer.subarray(0, read(buffer, 0))
    scanned += chunk.length
    let at = 0
    while (at < chunk.length && line <= range.to) {
      const newline = chunk.indexOf(NEWLINE, at)
      const end = newline === -1 ? chunk.length : newline + 1
      if (line >= range.from) {
        wanted.push(Buffer.from(chunk.subarray(at, end)))
        wantedLength += end - at
      }
      openLine = newline === -1
      if (!openLine) line += 1
      at = end
    }
    return chunk.length > 0 && line <= range.to && wantedLength <= limit && scanned < SCAN_LIMIT
  })
  if (failure !== null) return { kind: 'unreadable', reason: failure }
  const lastLine = openLine ? line : line - 1
  if (wanted.length === 0) return scanned >= SCAN_LIMIT ? { kind: 'tooFar' } : { kind: 'beyond', lastLine }
  const cut = wantedLength > limit
  const bytes = Buffer.concat(wanted).subarray(0, limit)
  const text = decodeText(bytes, cut)
  if (text === null) return { kind: 'binary' }
  return { kind: 'read', text, lastLine: cut ? range.from + newlines(text) : lastLine, cut }
}

function newlines(text: string): number {
  return text.split('\n').length - 1
}
