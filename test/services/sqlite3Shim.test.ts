/** The contract of packages/sqlite3: what `@keyv/sqlite` relies on. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryHomes } from './storeSupport.ts'

interface Sqlite3Error extends Error {
  code: string
  errno: number
}
type Callback = (error: Sqlite3Error | null, rows?: unknown[]) => void
interface Database {
  configure(option: string, value: unknown): void
  all(sql: string, ...rest: unknown[]): unknown
  close(callback?: Callback): void
}

const require = createRequire(import.meta.url)
const entry = require.resolve('sqlite3')
const sqlite3 = require('sqlite3') as { Database: new (file: string, callback?: Callback) => Database }

const open = (file: string): Promise<Database> =>
  new Promise((resolve, reject) => {
    const database = new sqlite3.Database(file, (error) => (error ? reject(error) : resolve(database)))
  })
const all = (database: Database, sql: string, ...values: unknown[]): Promise<unknown[] | undefined> =>
  new Promise((resolve, reject) => {
    database.all(sql, ...values, (error: Sqlite3Error | null, rows?: unknown[]) =>
      error ? reject(error) : resolve(rows),
    )
  })
const close = (database: Database): Promise<void> =>
  new Promise((resolve, reject) => {
    database.close((error) => (error ? reject(error) : resolve()))
  })
const failure = async (work: Promise<unknown>): Promise<Pick<Sqlite3Error, 'code' | 'errno' | 'message'>> => {
  const error = (await work.then(
    () => new Error('it did not fail'),
    (reason) => reason,
  )) as Sqlite3Error
  return { code: error.code, errno: error.errno, message: error.message }
}

describe('the stand-in for sqlite3', () => {
  const homes = temporaryHomes()
  let dir: string
  beforeEach(async () => {
    dir = await homes.make()
  })
  afterEach(() => homes.clean())

  it('is what the package manager put where @keyv/sqlite looks for sqlite3', () => {
    const fromAdapter = createRequire(require.resolve('@keyv/sqlite'))
    expect(fromAdapter.resolve('sqlite3')).toBe(entry)
    expect(entry).toMatch(/packages\/sqlite3\/index\.cjs$/)
  })

  it('calls back later, never while it is being called', async () => {
    const order: string[] = []
    const database = new sqlite3.Database(join(dir, 'a.db'), () => order.push('opened'))
    order.push('constructed')
    const selected = new Promise<void>((resolve) => {
      database.all('SELECT 1', () => {
        order.push('selected')
        resolve()
      })
    })
    order.push('asked')
    await selected
    expect(order).toEqual(['constructed', 'asked', 'opened', 'selected'])
    await close(database)
  })

  it('takes parameters spread, in an array and by name, as sqlite3 does', async () => {
    const database = await open(':memory:')
    const sql = 'SELECT ? AS a, ? AS b'
    expect(await all(database, sql, 'x', 2)).toEqual([{ a: 'x', b: 2 }])
    expect(await all(database, sql, ['x', 2])).toEqual([{ a: 'x', b: 2 }])
    expect(await all(database, 'SELECT $a AS a', { $a: 'x' })).toEqual([{ a: 'x' }])
    expect(await all(database, sql, undefined, null)).toEqual([{ a: null, b: null }])
    expect(await all(database, sql, true, false)).toEqual([{ a: 1, b: 0 }])
    expect(await all(database, sql, new Date(5), 1.5)).toEqual([{ a: 5, b: 1.5 }])
    const [row] = (await all(database, 'SELECT ? AS a', Buffer.from('hi'))) as Array<{ a: Uint8Array }>
    expect(Buffer.from(row?.a ?? []).toString()).toBe('hi')
    await close(database)
  })

  it('gives no rows for statements that have none, and runs pragmas', async () => {
    const database = await open(join(dir, 'a.db'))
    expect(await all(database, 'CREATE TABLE t (a PRIMARY KEY, b)')).toEqual([])
    expect(await all(database, 'PRAGMA journal_mode = WAL')).toEqual([{ journal_mode: 'wal' }])
    expect(await all(database, 'INSERT INTO t VALUES (?, ?), (?, ?)', 1, 2, 3, 4)).toEqual([])
    expect(await all(database, 'SELECT * FROM t ORDER BY a')).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ])
    await close(database)
  })

  it('keeps text whole: emoji, separators, a megabyte', async () => {
    const database = await open(':memory:')
    for (const text of ['😀\u2028日本', '', 'x'.repeat(1 << 20)]) {
      expect(await all(database, 'SELECT ? AS a', text)).toEqual([{ a: text }])
    }
    await close(database)
  })

  it('uses a statement again after it has failed, and after the table was made anew', async () => {
    const database = await open(':memory:')
    await all(database, 'CREATE TABLE t (a PRIMARY KEY)')
    const insert = 'INSERT INTO t VALUES (?)'
    await all(database, insert, 1)
    expect((await failure(all(database, insert, 1))).code).toBe('SQLITE_CONSTRAINT')
    await all(database, insert, 2)
    await all(database, 'DROP TABLE t')
    await all(database, 'CREATE TABLE t (a PRIMARY KEY)')
    await all(database, insert, 1)
    expect(await all(database, 'SELECT count(*) AS n FROM t')).toEqual([{ n: 1 }])
    await close(database)
  })

  it('forgets old statements instead of keeping every one', async () => {
    const database = await open(':memory:')
    for (let n = 0; n < 500; n++) expect(await all(database, `SELECT ${n} AS n`)).toEqual([{ n }])
    expect(await all(database, 'SELECT 0 AS n')).toEqual([{ n: 0 }])
    await close(database)
  })

  it('names errors as sqlite3 does', async () => {
    const database = await open(join(dir, 'a.db'))
    await all(database, 'CREATE TABLE t (a PRIMARY KEY)')
    await all(database, 'INSERT INTO t VALUES (1)')
    expect(await failure(all(database, 'SELECT * FROM nope'))).toEqual({
      code: 'SQLITE_ERROR',
      errno: 1,
      message: 'SQLITE_ERROR: no such table: nope',
    })
    expect(await failure(all(database, 'INSERT INTO t VALUES (1)'))).toEqual({
      code: 'SQLITE_CONSTRAINT',
      errno: 19,
      message: 'SQLITE_CONSTRAINT: UNIQUE constraint failed: t.a',
    })
    await all(database, 'PRAGMA query_only = 1')
    expect(await failure(all(database, 'INSERT INTO t VALUES (2)'))).toMatchObject({
      code: 'SQLITE_READONLY',
      errno: 8,
    })
    await close(database)
    expect(await failure(all(database, 'SELECT 1'))).toMatchObject({ code: 'SQLITE_MISUSE', errno: 21 })
  })

  it('names a file that is no database, a cut one, one that cannot be opened, and a full one', async () => {
    const noise = join(dir, 'noise.db')
    writeFileSync(noise, Buffer.alloc(5000, 'noise'))
    const database = await open(noise)
    expect(await failure(all(database, 'SELECT * FROM t'))).toMatchObject({ code: 'SQLITE_NOTADB', errno: 26 })
    await close(database)
    expect(await failure(open(dir))).toMatchObject({ code: 'SQLITE_CANTOPEN', errno: 14 })
    expect(await failure(open(join(dir, 'missing', 'a.db')))).toMatchObject({ code: 'SQLITE_CANTOPEN', errno: 14 })

    const small = await open(join(dir, 'small.db'))
    await all(small, 'CREATE TABLE t (a)')
    await all(small, 'PRAGMA max_page_count = 4')
    expect(await failure(all(small, 'INSERT INTO t VALUES (?)', 'x'.repeat(100_000)))).toMatchObject({
      code: 'SQLITE_FULL',
      errno: 13,
    })
    await close(small)

    const file = readFileSync(join(dir, 'small.db'))
    writeFileSync(join(dir, 'cut.db'), file.subarray(0, 4096))
    const cut = await open(join(dir, 'cut.db'))
    expect(await failure(all(cut, 'SELECT * FROM t'))).toMatchObject({ code: 'SQLITE_CORRUPT', errno: 11 })
    await close(cut)
  })

  it.skipIf(process.getuid?.() === 0)('names a file that may only be read', async () => {
    const file = join(dir, 'a.db')
    const database = await open(file)
    await all(database, 'CREATE TABLE t (a)')
    await close(database)
    chmodSync(file, 0o400)
    const readOnly = await open(file)
    expect(await failure(all(readOnly, 'INSERT INTO t VALUES (1)'))).toMatchObject({ code: 'SQLITE_READONLY' })
    await close(readOnly)
  })

  it('waits for another writer without holding up the process, in the order it was asked', async () => {
    const file = join(dir, 'a.db')
    const [one, two] = [await open(file), await open(file)]
    two.configure('busyTimeout', 30_000)
    await all(one, 'CREATE TABLE t (a)')
    await all(one, 'BEGIN IMMEDIATE')
    const asked = [1, 2, 3].map((n) => all(two, 'INSERT INTO t VALUES (?)', n))
    let ticks = 0
    const ticking = setInterval(() => ticks++, 5)
    await sleep(150)
    await all(one, 'COMMIT')
    await Promise.all(asked)
    clearInterval(ticking)
    expect(ticks).toBeGreaterThan(3)
    expect(await all(one, 'SELECT a FROM t ORDER BY rowid')).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }])
    await Promise.all([close(one), close(two)])
  })

  it('gives up with SQLITE_BUSY when the busy timeout is over, and works again afterwards', async () => {
    const file = join(dir, 'a.db')
    const [one, two] = [await open(file), await open(file)]
    two.configure('busyTimeout', 60)
    await all(one, 'CREATE TABLE t (a)')
    await all(one, 'BEGIN IMMEDIATE')
    expect(await failure(all(two, 'INSERT INTO t VALUES (1)'))).toEqual({
      code: 'SQLITE_BUSY',
      errno: 5,
      message: 'SQLITE_BUSY: database is locked',
    })
    await all(one, 'COMMIT')
    await all(two, 'INSERT INTO t VALUES (2)')
    expect(await all(one, 'SELECT a FROM t')).toEqual([{ a: 2 }])
    await Promise.all([close(one), close(two)])
  })

  it('finishes what was asked before it closes', async () => {
    const file = join(dir, 'a.db')
    const [one, two] = [await open(file), await open(file)]
    two.configure('busyTimeout', 30_000)
    await all(one, 'CREATE TABLE t (a)')
    await all(one, 'BEGIN IMMEDIATE')
    const inserted = all(two, 'INSERT INTO t VALUES (1)')
    const closed = close(two)
    await all(one, 'COMMIT')
    await Promise.all([inserted, closed])
    expect(await all(one, 'SELECT a FROM t')).toEqual([{ a: 1 }])
    await close(one)
  })

  it('says so for an option it does not have', async () => {
    const database = await open(':memory:')
    expect(() => database.configure('trace', () => {})).toThrow('This sqlite3 has no option "trace".')
    await close(database)
  })

  it('prints nothing, and leaves other warnings as they are', () => {
    const program = `const { Database } = require(${JSON.stringify(entry)});
      new Database(':memory:', function () { this.all('SELECT 1', () => process.emitWarning('mine')) })`
    const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 })
    expect(stderr).toContain('Warning: mine')
    expect(stderr).not.toContain('SQLite')
  })

  it('loads no driver before a database is opened', () => {
    const program = `require(${JSON.stringify(entry)});
      console.log(Object.keys(require.cache).length, process.moduleLoadList?.some((name) => name.includes('node:sqlite')) ?? false)`
    expect(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })).toBe('1 false\n')
  })

  it('leaves what was committed to a process that comes after kill -9', () => {
    const file = join(dir, 'a.db')
    const program = `const { Database } = require(${JSON.stringify(entry)});
      const db = new Database(${JSON.stringify(file)}, () => {
        db.all('PRAGMA journal_mode = WAL', () => db.all('CREATE TABLE t (a)', () =>
          db.all('INSERT INTO t VALUES (7)', () => process.kill(process.pid, 'SIGKILL'))))
      })`
    expect(spawnSync(process.execPath, ['-e', program]).signal).toBe('SIGKILL')
    expect(existsSync(`${file}-wal`)).toBe(true)
    const reader = `const { Database } = require(${JSON.stringify(entry)});
      const db = new Database(${JSON.stringify(file)}, () => db.all('SELECT a FROM t', (error, rows) => console.log(JSON.stringify(rows))))`
    expect(execFileSync(process.execPath, ['-e', reader], { encoding: 'utf8' })).toBe('[{"a":7}]\n')
  })
})
