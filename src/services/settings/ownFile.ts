/** The user's own files: read with care, changed by one process at a time, whole or not at all, for nobody else to read. */
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode, messageOf } from '../../machines/errorText.ts'
import { waitForLock } from '../lock.ts'
import { realTarget } from '../paths.ts'
import type { Result } from '../ports.ts'
import { ensurePrivateDir } from '../privateFiles.ts'

/** Changing a file takes milliseconds. */
const WAIT_MS = 10_000
/** Of another machine that shares the home, or a container that is gone: a lock this old belongs to nobody. */
const FORGOTTEN_MS = 30_000

/** What a file is to hold, null where it stays as it is; and what is to be told about that. */
export interface Change<T> {
  text: string | null
  value: T
}

/** @returns the file's text, null where there is none; a sentence where it cannot be read */
export function readOwnFile(file: string): Result<string | null> {
  try {
    // Opening a pipe would wait for a writer.
    if (!statSync(file).isFile()) return { ok: false, message: `${file} is not a file. Move it away.` }
    return { ok: true, value: readFileSync(file, 'utf8') }
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return { ok: true, value: null }
    const advice = 'Check its access rights, or set AGENT_HOME to another directory.'
    return { ok: false, message: `${file} cannot be read (${code ?? messageOf(error)}). ${advice}` }
  }
}

/**
 * Changes a file while no other process does, so that of two changes at once neither is lost.
 * @param file absolute; a link is followed, so that a file kept elsewhere stays there
 * @param change from the text that is there, null where there is none; a failure leaves the file as it is
 * @returns the change's value; a sentence where the file cannot be read, changed or written, and is as it was
 */
export async function changeOwnFile<T>(
  file: string,
  change: (text: string | null) => Result<Change<T>>,
): Promise<Result<T>> {
  const now = attempt(file, change)
  // Nothing to write needs no right to write.
  if (!now.ok || now.value.text === null) return resultOf(now)
  const target = realTarget(file)
  // Beside the file itself: two homes may link to one.
  const outcome = await waitForLock(beside(target, 'lock'), WAIT_MS, {
    prepare: makeDirectory,
    forgottenAfter_ms: FORGOTTEN_MS,
  })
  switch (outcome.kind) {
    case 'impossible':
      return unwritable(file, outcome.error)
    case 'refused': {
      const { pid } = outcome.owner
      return { ok: false, message: `${file} is being changed by another agent (process ${pid}). Try again.` }
    }
    case 'held':
      try {
        const changed = attempt(file, change)
        if (changed.ok && changed.value.text !== null) replace(target, changed.value.text)
        return resultOf(changed)
      } catch (error) {
        return unwritable(file, error)
      } finally {
        outcome.lock.release()
      }
  }
}

function attempt<T>(file: string, change: (text: string | null) => Result<Change<T>>): Result<Change<T>> {
  const text = readOwnFile(file)
  return text.ok ? change(text.value) : text
}

function resultOf<T>(changed: Result<Change<T>>): Result<T> {
  return changed.ok ? { ok: true, value: changed.value.value } : changed
}

function beside(target: string, what: string): string {
  return join(dirname(target), `.${basename(target)}.${what}`)
}

/** One that is there stays as open as it is: it may be that of a link's target, with other things in it. */
function makeDirectory(directory: string): void {
  if (!existsSync(directory)) ensurePrivateDir(directory)
}

/** @param target a real path: a rename would take a link's place; its lock is held */
function replace(target: string, text: string): void {
  const old = statSync(target, { throwIfNoEntry: false })
  // Whoever has made it read-only means it, though a rename would get past that.
  if (old !== undefined) accessSync(target, constants.W_OK)
  const aside = beside(target, 'new')
  // Of a process that was killed: only who holds the lock writes here.
  rmSync(aside, { force: true })
  try {
    writeSynced(aside, text)
    // As root in a user's home: the file stays theirs.
    if (old !== undefined && old.uid !== process.getuid?.()) chownSync(aside, old.uid, old.gid)
    renameSync(aside, target)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
}

/** Synced before it gets its name, so that also after a power cut that name leads to the old text or the new one. */
function writeSynced(path: string, text: string): void {
  const fd = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function unwritable(file: string, error: unknown): Result<never> {
  const why = errorCode(error) || messageOf(error)
  return { ok: false, message: `${file} cannot be written (${why}). Check its access rights.` }
}
