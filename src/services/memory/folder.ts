/**
 * The folder `.memory` of a working directory: looked at with care, since a project may bring it along. Nothing in
 * it is followed out of it, and nothing is read that is no small text.
 */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isInside } from '../paths.ts'

const MEMORY_FOLDER = '.memory'
export const INDEX_FILE = 'MEMORY.md'

/** `path` is real. `unusable`: there is something, but not a folder of this project; `reason` is a sentence. */
export type Folder = { kind: 'usable'; path: string } | { kind: 'missing' } | { kind: 'unusable'; reason: string }

/** Bytes read of one file. A memory is a note; the index may list hundreds. */
const FILE_BYTES = 64 * 1024
export const INDEX_BYTES = 512 * 1024
/** Files looked at in one folder. */
const MOST_FILES = 1_000

/** @param cwd the working directory, absolute */
export function lookAtFolder(cwd: string): Folder {
  const path = join(cwd, MEMORY_FOLDER)
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return { kind: 'missing' }
    const real = realpathSync.native(path)
    const project = realpathSync.native(cwd)
    if (real === project || !isInside(project, real)) {
      return { kind: 'unusable', reason: `${path} is a link out of the project, so memory is off. Remove the link.` }
    }
    if (lstatSync(real).isDirectory()) return { kind: 'usable', path: real }
    return { kind: 'unusable', reason: `${path} is not a directory, so memory is off. Move the file away.` }
  } catch (error) {
    return { kind: 'unusable', reason: `${path} cannot be read (${codeOf(error)}), so memory is off.` }
  }
}

/** @returns the real path of the folder, made for this user only where it is missing; throws what `Folder` says */
export function makeFolder(cwd: string): string {
  if (lookAtFolder(cwd).kind === 'missing') {
    try {
      mkdirSync(join(cwd, MEMORY_FOLDER), { mode: 0o700 })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
  const folder = lookAtFolder(cwd)
  if (folder.kind === 'usable') return folder.path
  throw new Error(folder.kind === 'unusable' ? folder.reason : `${MEMORY_FOLDER} was removed again.`)
}

/** @returns every name in the folder, in the order of their code units. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder).sort()
}

/** @returns the names that memories may have: Markdown, not hidden, not the index */
export function memoryFiles(names: readonly string[]): string[] {
  return names
    .filter((name) => /^[^.].*\.md$/i.test(name) && name.toLowerCase() !== INDEX_FILE.toLowerCase())
    .slice(0, MOST_FILES)
}

export type ReadFile =
  | { kind: 'text'; text: string; cut: boolean }
  | { kind: 'missing' }
  | { kind: 'unreadable'; reason: string }

/** Reads one small regular file; a link, a FIFO, a directory or a binary is unreadable, `reason` a clause. */
export function readSmall(folder: string, file: string, limit = FILE_BYTES): ReadFile {
  let fd: number | null = null
  try {
    const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants
    if (lstatSync(join(folder, file)).isSymbolicLink()) return { kind: 'unreadable', reason: 'it is a link' }
    fd = openSync(join(folder, file), O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    if (!fstatSync(fd).isFile()) return { kind: 'unreadable', reason: 'it is not a regular file' }
    const bytes = readBytes(fd, limit + 1)
    if (bytes.includes(0)) return { kind: 'unreadable', reason: 'it is not text' }
    const cut = bytes.length > limit
    return {
      kind: 'text',
      text: bytes
        .subarray(0, limit)
        .toString('utf8')
        .replace(/^\ufeff/, ''),
      cut,
    }
  } catch (error) {
    const code = codeOf(error)
    return code === 'ENOENT' ? { kind: 'missing' } : { kind: 'unreadable', reason: `it cannot be read (${code})` }
  } finally {
    if (fd !== null) closeSync(fd)
  }
}

function readBytes(fd: number, most: number): Buffer {
  const bytes = Buffer.alloc(Math.min(most, fstatSync(fd).size + 1))
  let length = 0
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(fd, bytes, length, bytes.length - length, null)
  }
  return bytes.subarray(0, length)
}

/**
 * Writes a file whole or not at all, for this user only; one that is there is replaced and keeps its mode. A link in
 * its place is replaced, not followed.
 */
export function writeWhole(folder: string, file: string, text: string): void {
  const target = join(folder, file)
  const temporary = join(folder, `.${randomBytes(6).toString('hex')}.tmp`)
  const before = lstatSync(target, { throwIfNoEntry: false })
  writeNew(temporary, text, before?.isFile() ? before.mode & 0o777 : 0o600)
  try {
    renameSync(temporary, target)
  } catch (error) {
    unlinkSync(temporary)
    throw error
  }
}

/** Writes a new file and waits for the disk; rejects where there is one. */
export function writeNew(path: string, text: string, mode = 0o600): void {
  const fd = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(fd, text)
    fchmodSync(fd, mode)
    fsyncSync(fd)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(fd)
  }
}

/** @returns the system's code for an error, or its message */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message ?? String(error)
}
