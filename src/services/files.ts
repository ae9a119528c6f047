/**
 * Files of a project read with care: only regular ones, only as far as needed, never waiting (a FIFO or a device would),
 * and known again while they are the same.
 */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** The head of a file; `more`: it goes on after `bytes`. */
export type Head = { kind: 'read'; bytes: Buffer; more: boolean } | { kind: 'unreadable'; reason: string }

/** Reads at most `limit` bytes from the start of a regular file. */
export function readHead(path: string, limit: number): Head {
  const bytes = Buffer.allocUnsafe(limit + 1)
  let length = 0
  const failure = readChunks(path, (read) => {
    const count = read(bytes, length)
    length += count
    return count > 0 && length <= limit
  })
  if (failure !== null) return { kind: 'unreadable', reason: failure }
  return { kind: 'read', bytes: bytes.subarray(0, Math.min(length, limit)), more: length > limit }
}

/**
 * Opens a regular file and calls `step` until it gives false. `read` fills the buffer from `at` on and gives the
 * number of bytes, 0 at the end.
 * @returns null, or the reason why the file cannot be read
 */
export function readChunks(path: string, step: (read: (into: Buffer, at: number) => number) => boolean): string | null {
  let fd: number | null = null
  try {
    // O_NONBLOCK: what was a file a moment ago may be a FIFO now, and opening that would wait for its writer.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    if (!fstatSync(fd).isFile()) return 'it is not a regular file'
    const open = fd
    while (step((into, at) => readSync(open, into, at, into.length - at, null)));
    return null
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return code === 'EACCES' || code === 'EPERM' ? 'permission denied' : message
  } finally {
    if (fd !== null) closeSync(fd)
  }
}

/** What tells whether a file is the same: `key` changes with its content; when it was changed last, in ms since 1970. */
export interface FileState {
  key: string
  changedAt: number
}

/** @returns the state of a file that was looked at */
export function stateOf({ dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs }: BigIntStats): FileState {
  const key = [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  return { key, changedAt: Math.max(Number(mtimeMs), Number(ctimeMs)) }
}

/**
 * A file whose time stamp is younger than this may change again without another time stamp (the coarsest file
 * systems count in two seconds), so what was read of it is not kept.
 */
const SETTLED_MS = 2_500

/**
 * @returns a function that gives `make(path)` and, while the file at the path is the same as far as the system
 *   can tell, what it gave before
 */
export function cachedByState<T>(make: (path: string) => T): (path: string, state: FileState) => T {
  const kept = new Map<string, { key: string; value: T }>()
  return (path, { key, changedAt }) => {
    const before = kept.get(path)
    if (before?.key === key) return before.value
    const value = make(path)
    if (Date.now() - changedAt > SETTLED_MS) kept.set(path, { key, value })
    else kept.delete(path)
    return value
  }
}
