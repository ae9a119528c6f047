/** What the operating system says against something, in words. */
import type { Stats } from 'node:fs'

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'it does not exist'],
  ['EACCES', 'permission is denied'],
  ['EPERM', 'the system does not permit it'],
  ['ENOTDIR', 'a part of its path is a file, not a directory'],
  ['EISDIR', 'it is a directory'],
  ['EEXIST', 'a part of its path exists and is not a directory'],
  ['ENAMETOOLONG', 'the name is too long (255 bytes a part on most file systems)'],
  ['ELOOP', 'its symbolic links go round in circles'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EROFS', 'the file system is read-only'],
  ['EBUSY', 'it is in use (perhaps a mount point)'],
  ['ETXTBSY', 'it is a program that is running'],
  ['EMFILE', 'too many files are open'],
  ['EIO', 'the disk reports an error'],
  ['SWAPPED', 'its directory was moved or replaced while it was written'],
])

/** @returns the error's code (`ENOENT`), "" where it has none */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** @returns a clause that completes "because …"; errors that do not come from the system are bugs and thrown again */
export function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (code === '') throw error
  return REASONS.get(code) ?? `the system answers ${code}`
}

/** @returns what is there instead of a regular file ("a directory"), null where it is one */
export function specialKind(stats: Pick<Stats, 'isFile' | 'isDirectory' | 'isFIFO' | 'isSocket'>): string | null {
  if (stats.isFile()) return null
  if (stats.isDirectory()) return 'a directory'
  if (stats.isFIFO()) return 'a named pipe'
  if (stats.isSocket()) return 'a socket'
  return 'a device'
}

/** A failure as the tools report it. */
export function failure(content: string): { kind: 'error'; content: string } {
  return { kind: 'error', content }
}
