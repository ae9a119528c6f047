/** Keeps a database file that cannot be used: whole, byte for byte, under another name beside it. */
import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../machines/errorText.ts'
import { waitForLock } from '../lock.ts'
import { ensurePrivateDir } from '../privateFiles.ts'
import { StoreError } from './errors.ts'

/** The files of one database. The log goes first: left behind, it would be played into the next database. */
const PARTS = ['-wal', '-shm', '']

/** How long another process may take to move the same file, in milliseconds. */
const PATIENCE_MS = 5000

/** What tells one file from another that takes its place; null where there is none. */
export function fileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}:${found.birthtimeMs}`
}

/**
 * Moves a damaged database to `<path>.damaged-<n>` with its `-wal` and `-shm`.
 * @param identity of the file that was found damaged: another process may have moved it since, and what lies
 *   there now is then a good one
 * @param why what is wrong with it, to stand behind "because"
 * @param warn told where it lies now, by the process that moved it
 */
export async function setDatabaseAside(
  path: string,
  identity: string | null,
  why: string,
  warn: (message: string) => void,
): Promise<void> {
  const outcome = await waitForLock(join(dirname(path), 'locks', `${basename(path)}.lock`), PATIENCE_MS, {
    prepare: ensurePrivateDir,
  })
  if (outcome.kind === 'impossible') throw outcome.error
  if (outcome.kind === 'refused') {
    throw new StoreError(
      `The session store ${path} is damaged, and process ${outcome.owner.pid} has been moving it away for too long. Delete ${outcome.file} if that process is gone.`,
    )
  }
  try {
    if (identity === null || fileIdentity(path) !== identity) return
    const target = freeName(path)
    for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, target + part)
    warn(
      `The session store ${path} cannot be used because ${why}. It is kept as ${target}, and sessions go into a new one.`,
    )
  } finally {
    outcome.lock.release()
  }
}

/** Every log that SQLite wrote begins with one of these, https://www.sqlite.org/fileformat2.html#walformat. */
const WAL_MAGIC = [0x377f0682, 0x377f0683]

/** How often a log is looked at before it counts as foreign, and the pause between, in milliseconds. */
const LOOKS = { times: 5, pause_ms: 20 }

/**
 * Moves a `-wal` file aside that is no log: SQLite would take it for empty and write over it. Looked at more than
 * once: another process may just be cutting or beginning it, and a log taken from under it would damage the database.
 */
export async function setForeignLogAside(path: string, warn: (message: string) => void): Promise<void> {
  const log = `${path}-wal`
  for (let looks = 1; beginsForeign(log); looks++) {
    if (looks === LOOKS.times) {
      const target = `${freeName(path)}-wal`
      renameSync(log, target)
      warn(
        `The write-ahead log of the session store ${path} is no log. It is kept as ${target}; the store is used without.`,
      )
      return
    }
    await new Promise((resolve) => setTimeout(resolve, LOOKS.pause_ms))
  }
}

/**
 * @returns whether the database has no byte while its log has: SQLite would delete that log, with all that a small
 *   store holds. While a database is made it has its first page before it has a log, so the log is looked at first.
 */
export function isEmptyBesideItsLog(path: string): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return log !== undefined && log.size > 0 && statSync(path, { throwIfNoEntry: false })?.size === 0
}

/** @returns whether a file is there whose first bytes are no log's; one that is empty or gone is nothing to move */
function beginsForeign(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile() || found.size === 0) return false
  const start = Buffer.alloc(4)
  let length: number
  try {
    const fd = openSync(path, 'r')
    try {
      length = readSync(fd, start)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
  return length > 0 && !(length === 4 && WAL_MAGIC.includes(start.readUInt32BE()))
}

function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = `${path}.damaged-${n}`
    if (PARTS.every((part) => !existsSync(name + part))) return name
  }
}
