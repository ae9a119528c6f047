/**
 * One writer at a time, by lock files that carry their owner's process.
 *
 * `<name>.lock` is created so that only one process can succeed. A lock whose owner is dead is not replaced
 * (of two processes that both saw it dead, the slower one would delete the quicker one's new lock) but topped by
 * the next in a row, `<name>.lock.1`, which again only one can create. Whoever has created a file looks once more:
 * where another live lock is there by now, it takes its own away and tries again. Of two, the later one always
 * sees the earlier. Dead files are deleted only by a process that holds a live one.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from './errors.ts'
import { isAlive, type Owner, parseOwner, thisProcess } from './owner.ts'
import { createPrivateFile, ensurePrivateDir } from './privateFiles.ts'

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

/** Takes the lock `name` in `dir`, which is made if need be. Does not wait for a live owner. */
export async function acquireLock(dir: string, name: string): Promise<LockOutcome> {
  try {
    ensurePrivateDir(dir)
    return await acquire(dir, name)
  } catch (error) {
    return { kind: 'impossible', error }
  }
}

/** Takes the lock `name` in `dir`, waiting for a live owner at most `limit_ms`. */
export async function waitForLock(dir: string, name: string, limit_ms: number): Promise<LockOutcome> {
  for (const end = Date.now() + limit_ms; ; ) {
    const outcome = await acquireLock(dir, name)
    if (outcome.kind !== 'refused' || Date.now() > end) return outcome
    await sleep(10 + Math.random() * 20)
  }
}

/** @returns the living owner of the lock `name`, null where there is none or nobody can tell; changes nothing */
export async function lockOwner(dir: string, name: string): Promise<Owner | null> {
  try {
    return (await survey(dir, name)).find(({ live }) => live !== null)?.live ?? null
  } catch {
    return null
  }
}

async function acquire(dir: string, name: string): Promise<LockOutcome> {
  const owner = thisProcess(randomUUID())
  for (let tries = 1; ; tries++) {
    const found = await survey(dir, name)
    const refusal = refusedBy(found)
    if (refusal !== null) return refusal
    const generation = Math.max(-1, ...found.map((one) => one.generation)) + 1
    const file = join(dir, generation === 0 ? `${name}.lock` : `${name}.lock.${generation}`)
    if (!createPrivateFile(file, JSON.stringify(owner))) continue

    const others = (await survey(dir, name)).filter((one) => one.file !== file)
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

async function survey(dir: string, name: string): Promise<Found[]> {
  const first = `${name}.lock`
  const found: Found[] = []
  for (const entry of readdirSync(dir)) {
    if (!entry.startsWith(first)) continue
    const rest = entry.slice(first.length)
    if (rest !== '' && !/^\.\d{1,9}$/.test(rest)) continue
    const file = join(dir, entry)
    const owner = await readOwner(file)
    if (owner === 'gone') continue
    found.push({
      file,
      generation: Number(rest.slice(1)),
      live: owner !== null && (await isAlive(owner)) ? owner : null,
    })
  }
  return found
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
