/** What stands at a path, and what a file holds as text: decoded so that no half character and no binary comes into a prompt. */
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { wellFormed } from '../../machines/messages.ts'
import { type FileState, stateOf } from '../files.ts'

/** Most bytes of one file that go into a prompt (contract.md, section 5). */
export const FILE_LIMIT = 256 * 1024

/** What stands at a path. `real` is the path without symlinks. */
export type Found =
  | ({ kind: 'file'; real: string; size: number } & FileState)
  | { kind: 'directory'; real: string }
  /** A FIFO, a socket or a device. */
  | { kind: 'special' }
  | { kind: 'dangling' }
  | { kind: 'missing' }

/** Looks at a path, through symlinks. A place that may not be looked at counts as missing. */
export function look(path: string): Found {
  try {
    const stat = statSync(path, { bigint: true })
    if (stat.isDirectory()) return { kind: 'directory', real: realpathSync.native(path) }
    if (!stat.isFile()) return { kind: 'special' }
    return { kind: 'file', real: realpathSync.native(path), size: Number(stat.size), ...stateOf(stat) }
  } catch {
    return { kind: isLink(path) ? 'dangling' : 'missing' }
  }
}

/** @returns the path without symlinks, or as it is where it cannot be looked at. */
export function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

/**
 * Decodes text as UTF-8, or as UTF-16 where a byte-order mark says so; the mark itself is left out, invalid bytes
 * become U+FFFD.
 * @param more whether the bytes were cut: then a character in pieces at their end is left out
 * @returns null where the bytes are no text
 */
export function decodeText(bytes: Buffer, more = false): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return decodeUtf16(bytes.subarray(2))
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return decodeUtf16(Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2))).swap16())
  if (isBinary(bytes)) return null
  const text = (more ? bytes.subarray(0, wholeCharacters(bytes)) : bytes).toString('utf8')
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

function decodeUtf16(bytes: Buffer): string {
  return wellFormed(bytes.toString('utf16le').replace(/[\ud800-\udbff]$/, ''))
}

/** Begins like a format that is never text, though its first bytes may have no zero among them. */
const BINARY_HEADS = ['%PDF-', 'PK\x03\x04', '\x1f\x8b', 'BZh', '\x7fELF']
/** Bytes looked at for the share of what no text has. */
const SAMPLE = 8192

function isBinary(bytes: Buffer): boolean {
  if (bytes.includes(0)) return true
  if (BINARY_HEADS.some((head) => bytes.subarray(0, head.length).toString('latin1') === head)) return true
  const sample = bytes.subarray(0, wholeCharacters(bytes.subarray(0, SAMPLE))).toString('utf8')
  const odd = sample.match(/[\ufffd\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]/g)?.length ?? 0
  return odd > sample.length / 10
}

/** @returns how many of the bytes are left when a UTF-8 character cut at their end is taken away. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** @returns a text cut to at most `limit` bytes of UTF-8, at a character's end. */
export function cutText(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return text
  const head = bytes.subarray(0, limit)
  return head.toString('utf8', 0, wholeCharacters(head))
}

/** @returns a size in words: `12 bytes`, `3.4 KiB`, `5.0 MiB`. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  if (bytes < 1024 * 1024) return `${trimZero(bytes / 1024)} KiB`
  return `${trimZero(bytes / 1024 / 1024)} MiB`
}

function trimZero(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '')
}
