/** The store in one SQLite file, through `@keyv/sqlite`. */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { KeyvSqlite } from '@keyv/sqlite'
import type { Keyv } from 'keyv'
import { errorCode } from '../../machines/errorText.ts'
import { realTarget } from '../paths.ts'
import { createPrivateFile, ensurePrivateDir, tightenFile } from '../privateFiles.ts'
import { StoreError, storeError } from './errors.ts'
import { type KeyValue, type Pair, PLAIN_TEXT } from './keyValue.ts'
import { fileIdentity, isEmptyBesideItsLog, setDatabaseAside, setForeignLogAside } from './setAside.ts'
import { shrink } from './shrink.ts'
import { asText, seriesByRow, seriesInOneRow } from './sqliteSeries.ts'

/** How long a statement waits for another process that writes, in milliseconds. */
const BUSY_TIMEOUT_MS = 10_000
/** Rows in one INSERT; SQLite binds at most 32,766 values. */
const ROWS = 500

/** Bytes of a write-ahead log that is worth folding at the end; opening with a smaller one takes no longer. */
const LARGE_LOG = 256 * 1024

/** The adapter's own words, but for the last two: keys are stored once, not in an index again. */
const TABLE = 'CREATE TABLE IF NOT EXISTS keyv(key VARCHAR(255) PRIMARY KEY, value TEXT ) WITHOUT ROWID'

const insert = (rows: number): string =>
  `INSERT INTO keyv (key, value) VALUES ${Array(rows).fill('(?, ?)').join(', ')} ON CONFLICT(key) DO UPDATE SET value = excluded.value`

/**
 * Statements that fail where the table is not ours (no table, other columns, no unique key) and where the roots of
 * its trees are gone, as in a file that was cut. The adapter makes a table with two trees, we one with one.
 */
const PROBES = [
  `EXPLAIN ${insert(1)}`,
  `SELECT 1 FROM keyv WHERE key = '' UNION ALL SELECT length(value) > 0 FROM (SELECT value FROM keyv NOT INDEXED LIMIT 1)`,
]

type Opening = { kind: 'open'; keyv: Keyv<string>; store: KeyvSqlite } | { kind: 'unusable'; why: string }

/**
 * Opens the database, made if need be. A file that is no database of ours is moved aside (`warn` says where) and a
 * new one begun; throws StoreError where that cannot be done.
 * @param named its path; a link there is followed
 */
export async function openSqlite(named: string, warn: (message: string) => void): Promise<KeyValue> {
  try {
    const path = behindLink(named)
    await prepareFiles(path, warn)
    const identity = fileIdentity(path)
    let opening = await open(path)
    if (opening.kind === 'unusable') {
      await setDatabaseAside(path, identity, opening.why, warn)
      await prepareFiles(path, warn)
      opening = await open(path)
    }
    if (opening.kind === 'unusable') throw new Error(opening.why)
    return overSqlite(opening.keyv, opening.store, path)
  } catch (error) {
    throw storeError(error, named)
  }
}

/** The file that a link in its place leads to: SQLite keeps the log beside that one, and so must all that is done here. */
function behindLink(named: string): string {
  if (lstatSync(named, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return named
  const path = realTarget(named)
  if (existsSync(dirname(path))) return path
  // Not made: a disk that is not mounted would seem to hold no sessions.
  throw new StoreError(
    `The session store ${named} is a link into ${dirname(path)}, and there is no such directory. Make it, or remove the link.`,
  )
}

/**
 * The directory and the file, open to nobody else; SQLite gives `-wal` and `-shm` the mode of the database.
 * The database itself is never opened here: closing it again would drop the locks another store of this process
 * has on it (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
 */
async function prepareFiles(path: string, warn: (message: string) => void): Promise<void> {
  ensurePrivateDir(dirname(path))
  const found = statSync(path, { throwIfNoEntry: false })
  if (found !== undefined && !found.isFile()) {
    throw new StoreError(
      `The session store ${path} is ${found.isDirectory() ? 'a directory' : 'no file'}. Move it away.`,
    )
  }
  await setForeignLogAside(path, warn)
  const emptied = isEmptyBesideItsLog(path)
  if (emptied) await setDatabaseAside(path, fileIdentity(path), 'it is empty, and its log alone is no database', warn)
  if ((emptied || found === undefined) && createPrivateFile(path, '')) await createDatabase(path)
  for (const part of ['', '-wal', '-shm']) tightenFile(path + part)
}

/**
 * Makes the empty database before the adapter would: with its settings SQLite waits for the disk a dozen times,
 * which an empty database is not worth and a first run feels.
 */
async function createDatabase(path: string): Promise<void> {
  const { default: sqlite3 } = await import('sqlite3')
  await new Promise<void>((resolve, reject) => {
    const database = new sqlite3.Database(path, (error) => {
      if (error !== null) return reject(error)
      database.configure('busyTimeout', BUSY_TIMEOUT_MS)
      database.all('PRAGMA synchronous = OFF')
      database.all('PRAGMA journal_mode = WAL')
      database.all(TABLE)
      // Reports nothing of the statements: the adapter makes the table where it is still missing.
      database.close(() => resolve())
    })
  })
}

async function open(path: string): Promise<Opening> {
  const [{ Keyv }, { KeyvSqlite }] = await Promise.all([import('keyv'), import('@keyv/sqlite')])
  const store = new KeyvSqlite({ uri: `sqlite://${path}`, busyTimeout: BUSY_TIMEOUT_MS, iterationLimit: 1000 })
  // What is emitted also rejects the call that caused it; without a listener it would end the process.
  store.on('error', () => {})
  try {
    // Before anything is written: a file that is not ours stays as it is, byte for byte.
    await refuseNewer(store, path)
    for (const probe of PROBES) await store.query(probe)
    await store.query('PRAGMA journal_mode = WAL')
    await store.query('PRAGMA synchronous = NORMAL')
  } catch (error) {
    store.close().catch(() => {})
    const why = whyUnusable(error)
    if (why === null) throw error
    return { kind: 'unusable', why }
  }
  Object.assign(store, { setMany: (pairs: Array<{ key: string; value: string }>) => setMany(store, pairs) })
  const keyv = new Keyv<string>({ store, ...PLAIN_TEXT })
  keyv.on('error', () => {})
  return { kind: 'open', keyv, store }
}

async function refuseNewer(store: KeyvSqlite, path: string): Promise<void> {
  const [row] = (await store.query('PRAGMA user_version')) as Array<{ user_version: number }>
  if ((row?.user_version ?? 0) === 0) return
  throw new StoreError(
    `The session store ${path} was written by a newer version. Update with "npm install -g stepwright@latest", or set AGENT_HOME to another directory.`,
  )
}

/** What is wrong with the file itself; null for every other failure. */
function whyUnusable(error: unknown): string | null {
  switch (errorCode(error)) {
    case 'SQLITE_NOTADB':
      return 'it is not a database'
    case 'SQLITE_CORRUPT':
      return 'it is damaged'
    case 'SQLITE_ERROR':
      return 'its tables are not those of this program'
    default:
      return null
  }
}

/** Writes all pairs at once: one statement is one transaction, so either all of them are there or none. */
async function setMany(store: KeyvSqlite, pairs: Array<{ key: string; value: string }>): Promise<void> {
  for (let at = 0; at < pairs.length; at += ROWS) {
    const rows = pairs.slice(at, at + ROWS)
    await store.query(insert(rows.length), ...rows.flatMap(({ key, value }) => [key, value]))
  }
}

function overSqlite(keyv: Keyv<string>, store: KeyvSqlite, place: string): KeyValue {
  const identity = fileIdentity(place)
  const get = (keys: string[]) => keyv.getMany<string>(keys)
  const scan = async (prefix: string): Promise<Pair[]> => {
    const rows = (await store.query(
      'SELECT key, value FROM keyv WHERE key >= ? AND key < ? ORDER BY key',
      prefix,
      `${prefix}\uffff`,
    )) as Array<{ key: string; value: unknown }>
    return rows.map(({ key, value }) => [key, asText(value)])
  }
  return {
    place,
    get,
    scan,
    series: async (prefix, count) =>
      (await seriesInOneRow((sql, ...values) => store.query(sql, ...values), prefix, count)) ??
      seriesByRow(scan, get, prefix, count),
    put: async (records, commit) => {
      // SQLite would go on writing into a file that nobody will ever find.
      if (fileIdentity(place) !== identity) {
        throw new StoreError(
          `The session store ${place} was deleted or moved while it was in use. What was in it is lost to this run; the next one begins a new one.`,
        )
      }
      await keyv.setMany([...records, ...commit].map(([key, value]) => ({ key, value })))
    },
    drop: (keys, prefixes) => drop(store, keys, prefixes),
    shrink: () => shrink((sql) => store.query(sql), BUSY_TIMEOUT_MS),
    close: async () => {
      // The prebuilt driver keeps its statements until they are collected, and SQLite then leaves its log. A large
      // one is folded into the database; for a small one that is not worth the wait for the disk.
      const log = statSync(`${place}-wal`, { throwIfNoEntry: false })
      if (log !== undefined && log.size > LARGE_LOG)
        await store.query('PRAGMA wal_checkpoint(TRUNCATE)').catch(() => {})
      await store.close()
    },
  }
}

/** One statement for all, so that a session is there as a whole or not at all. */
async function drop(store: KeyvSqlite, keys: string[], prefixes: string[]): Promise<void> {
  const terms = [...keys.map(() => 'key = ?'), ...prefixes.map(() => '(key >= ? AND key < ?)')]
  const values = [...keys, ...prefixes.flatMap((prefix) => [prefix, `${prefix}\uffff`])]
  // What others keep from being rewritten (shrink.ts) is at least overwritten.
  await store.query('PRAGMA secure_delete = ON')
  await store.query(`DELETE FROM keyv WHERE ${terms.join(' OR ')}`, ...values)
}
