/** Reads a skill's text with care: only a regular file, only as far as asked, whatever bytes are in it. */
import { readHead } from '../files.ts'

export type ReadText =
  /** `valid`: every byte made sense. `cut`: the file goes on. */
  { kind: 'text'; text: string; valid: boolean; cut: boolean } | { kind: 'unreadable'; reason: string }

/**
 * Decodes UTF-8, or UTF-16 where a byte-order mark says so; the mark is left out, what cannot be decoded becomes U+FFFD.
 * @param limit bytes read at most
 * @returns the text, or a clause that says why there is none ("permission denied")
 */
export function readText(path: string, limit: number): ReadText {
  const read = readHead(path, limit)
  if (read.kind === 'unreadable') return read
  const { bytes: head, more: cut } = read
  const encoding = head[0] === 0xff && head[1] === 0xfe ? 'utf-16le' : 'utf-8'
  if (head[0] === 0xfe && head[1] === 0xff) return decode(swapped(head), 'utf-16le', cut)
  if (encoding === 'utf-8' && head.includes(0)) return { kind: 'unreadable', reason: 'it is not a text file' }
  return decode(head, encoding, cut)
}

function decode(bytes: Uint8Array, encoding: 'utf-8' | 'utf-16le', cut: boolean): ReadText {
  // As a stream the decoder keeps back a character that the cut went through.
  const options = { stream: cut }
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, options)
    return { kind: 'text', text, valid: true, cut }
  } catch {
    return { kind: 'text', text: new TextDecoder(encoding).decode(bytes, options), valid: false, cut }
  }
}

function swapped(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2))).swap16()
}
