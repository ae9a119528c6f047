/**
 * One writer at a time, by lock files that carry their owner's process.
 *
 * The file is created so that only one process can succeed. A lock whose owner is dead is not replaced
 * (of two processes that both saw it dead, the slower one would delete the quicker one's new lock) but topped by
 * the next in a row, `<file>.1`, which again only one can create. Whoever has created a file looks once more:
 * where another live lock is there by now, it takes its own away and tries again. Of two, the later one always
 * sees the earlier. Dead files are deleted only by a process that holds a live one.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../machines/errorText.ts'
import { isAlive, isElsewhere, type Owner, parseOwner, thisProcess } from './lockOwner.ts'
import { createPrivateFile } from './privateFiles.ts'

export interface Lock {
  /** Deletes the lock if it is still ours. */
  release(): void
}

export type LockOutcome =
  | { kind: 'held'; lock: Lock }
  | { kind: 'refused'; owner: Owner; file: string }
  /** The directory cannot be written; the error is the file system's. */
  | { kind: 'impossible'; error: unknown }

const TRIES = 40
/** How long a file without an owner may still be on its way from being created to being written. */
const HALF_WRITTEN = { reads: 9, pause_ms: 25 }

interface Found {
  file: string
  generation: number
  /** null for a dead or never finished lock. */
  live: Owner | null
}

export interface LockOptions {
  /** Makes the lock's directory and says how open it is; by default it must be there, and stays as it is. */
  prepare?: (dir: string) => void
  /**
   * For locks that are held for moments: the age from which one of another machine counts as dead. By default it is
   * respected for ever, since nobody here can tell.
   */
  forgottenAfter_ms?: number
}

/** Takes the lock `file`. Does not wait for a live owner. */
export async function acquireLock(file: string, options: LockOptions = {}): Promise<LockOutcome> {
  try {
    options.prepare?.(dirname(file))
    return await acquire(file, options)
  } catch (error) {
    return { kind: 'impossible', error }
  }
}

/** Takes the lock `file`, waiting for a live owner at most `limit_ms`. */
export async function waitForLock(file: string, limit_ms: number, options: LockOptions = {}): Promise<LockOutcome> {
  for (const end = Date.now() + limit_ms; ; ) {
    const outcome = await acquireLock(file, options)
    if (outcome.kind !== 'refused' || Date.now() > end) return outcome
    await sleep(10 + Math.random() * 20)
  }
}

/** @returns the living owner of the lock `file`, null where there is none or nobody can tell; changes nothing */
export async function lockOwner(file: string): Promise<Owner | null> {
  try {
    return (await survey(file, {})).find(({ live }) => live !== null)?.live ?? null
  } catch {
    return null
  }
}

async function acquire(lock: string, options: LockOptions): Promise<LockOutcome> {
  const owner = thisProcess(randomUUID())
  for (let tries = 1; ; tries++) {
    const found = await survey(lock, options)
    const refusal = refusedBy(found)
    if (refusal !== null) return refusal
    const generation = Math.max(-1, ...found.map((one) => one.generation)) + 1
    const file = generation === 0 ? lock : `${lock}.${generation}`
    if (!createPrivateFile(file, JSON.stringify(owner))) continue

    const others = (await survey(lock, options)).filter((one) => one.file !== file)
    const rival = refusedBy(others)
    if (rival === null) {
      for (const dead of others) unlinkIfThere(dead.file)
      return { kind: 'held', lock: keptUntilExit(() => release(file, owner)) }
    }
    release(file, owner)
    if (tries === TRIES) return rival
    await sleep(5 + Math.random() * 25)
  }
}

/** Not `node:timers/promises`: loading that takes longer than taking a lock. */
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const held = new Set<() => void>()

/** A lock that a process which ends by itself never leaves behind, even where nobody released it. */
function keptUntilExit(release: () => void): Lock {
  if (held.size === 0) process.once('exit', releaseAll)
  held.add(release)
  return {
    release() {
      if (!held.delete(release)) return
      if (held.size === 0) process.off('exit', releaseAll)
      release()
    },
  }
}

function releaseAll(): void {
  for (const release of held) {
    try {
      release()
    } catch {
      // The next one sees that this process is gone.
    }
  }
}

function refusedBy(found: Found[]): LockOutcome | null {
  for (const { file, live } of found) if (live !== null) return { kind: 'refused', owner: live, file }
  return null
}

async function survey(lock: string, options: LockOptions): Promise<Found[]> {
  const [dir, first] = [dirname(lock), basename(lock)]
  const found: Found[] = []
  for (const entry of readdirSync(dir)) {
    if (!entry.startsWith(first)) continue
    const rest = entry.slice(first.length)
    if (rest !== '' && !/^\.\d{1,9}$/.test(rest)) continue
    const file = join(dir, entry)
    const owner = await readOwner(file)
    if (owner === 'gone') continue
    const isLive = owner !== null && (isElsewhere(owner) ? !isForgotten(file, options) : await isAlive(owner))
    found.push({ file, generation: Number(rest.slice(1)), live: isLive ? owner : null })
  }
  return found
}

/** By the file's own time: the clock of another machine may be wrong. */
function isForgotten(file: string, { forgottenAfter_ms = Number.POSITIVE_INFINITY }: LockOptions): boolean {
  const found = statSync(file, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > forgottenAfter_ms
}

/** A lock's owner; null where the process that created the file did not live to write it. */
async function readOwner(file: string): Promise<Owner | null | 'gone'> {
  for (let reads = 1; ; reads++) {
    const text = readIfThere(file)
    if (text === null) return 'gone'
    const owner = parseOwner(text)
    if (owner !== null || reads === HALF_WRITTEN.reads) return owner
    await sleep(HALF_WRITTEN.pause_ms)
  }
}

function release(file: string, owner: Owner): void {
  const text = readIfThere(file)
  if (text !== null && parseOwner(text)?.token === owner.token) unlinkIfThere(file)
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
}

function unlinkIfThere(file: string): void {
  try {
    unlinkSync(file)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}
