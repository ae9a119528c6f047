/** Keeps a database file that cannot be used: whole, byte for byte, under another name beside it. */
import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { StoreError } from './errors.ts'
import { waitForLock } from './lock.ts'

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
  const outcome = await waitForLock(join(dirname(path), 'locks'), basename(path), PATIENCE_MS)
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

/** Moves a `-wal` file aside that is no log: SQLite would take it for empty and write over it. */
export function setForeignLogAside(path: string, warn: (message: string) => void): void {
  const log = `${path}-wal`
  const found = statSync(log, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile() || found.size === 0 || isLog(log)) return
  const target = `${freeName(path)}-wal`
  renameSync(log, target)
  warn(
    `The write-ahead log of the session store ${path} is no log. It is kept as ${target}; the store is used without.`,
  )
}

function isLog(path: string): boolean {
  const magic = Buffer.alloc(4)
  const fd = openSync(path, 'r')
  try {
    return readSync(fd, magic) === 4 && WAL_MAGIC.includes(magic.readUInt32BE())
  } finally {
    closeSync(fd)
  }
}

function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = `${path}.damaged-${n}`
    if (PARTS.every((part) => !existsSync(name + part))) return name
  }
}
