'use strict'
/**
 * The part of sqlite3's callback API that `@keyv/sqlite` uses, over a driver that needs no compiler:
 * `node:sqlite` where Node has it without a flag, else the prebuilt `@photostructure/sqlite`, which has the
 * same interface. docs/decisions/0002-sqlite-driver.md says why.
 *
 * Two things differ from a plain wrapper. The drivers are synchronous, so a busy timeout of theirs would stop
 * the whole process for as long as another one writes; here a busy statement is tried again from a timer, and
 * what was asked after it waits its turn. And errors carry sqlite3's `code` and `errno`, which callers go by.
 */

/** Primary result codes, https://www.sqlite.org/rescode.html, with the text SQLite has for each where it is fixed. */
const CODES = [
  [1, 'SQLITE_ERROR'],
  [2, 'SQLITE_INTERNAL'],
  [3, 'SQLITE_PERM', 'access permission denied'],
  [4, 'SQLITE_ABORT', 'query aborted'],
  [5, 'SQLITE_BUSY', 'database is locked'],
  [6, 'SQLITE_LOCKED', 'database table is locked'],
  [7, 'SQLITE_NOMEM', 'out of memory'],
  [8, 'SQLITE_READONLY', 'attempt to write a readonly database'],
  [9, 'SQLITE_INTERRUPT', 'interrupted'],
  [10, 'SQLITE_IOERR', 'disk I/O error'],
  [11, 'SQLITE_CORRUPT', 'database disk image is malformed'],
  [12, 'SQLITE_NOTFOUND', 'unknown operation'],
  [13, 'SQLITE_FULL', 'database or disk is full'],
  [14, 'SQLITE_CANTOPEN', 'unable to open database file'],
  [15, 'SQLITE_PROTOCOL', 'locking protocol'],
  [17, 'SQLITE_SCHEMA', 'database schema has changed'],
  [18, 'SQLITE_TOOBIG', 'string or blob too big'],
  [19, 'SQLITE_CONSTRAINT', 'constraint failed'],
  [20, 'SQLITE_MISMATCH', 'datatype mismatch'],
  [21, 'SQLITE_MISUSE', 'bad parameter or other API misuse'],
  [22, 'SQLITE_NOLFS', 'large file support is disabled'],
  [23, 'SQLITE_AUTH', 'authorization denied'],
  [25, 'SQLITE_RANGE', 'column index out of range'],
  [26, 'SQLITE_NOTADB', 'file is not a database'],
]

const BUSY = 5
const MISUSE = 21
/** Pauses between tries of a busy statement in milliseconds, SQLite's own; the last one goes on. */
const PAUSES = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50]
const MAX_STATEMENTS = 64

/**
 * The primary result code of a driver's error. `node:sqlite` gives the extended code as `errcode`;
 * `@photostructure/sqlite` leaves it out where a step fails, and only SQLite's text tells.
 */
function resultCode(error) {
  if (typeof error.errcode === 'number') return error.errcode & 0xff
  const message = String(error.message)
  for (const [code, , text] of CODES) {
    if (text !== undefined && message.includes(text)) return code
  }
  return error.code === 'ERR_SQLITE_ERROR' ? 1 : MISUSE
}

/** A driver's error as sqlite3 would have made it. */
function asSqlite3Error(error) {
  const errno = resultCode(error)
  const name = CODES.find(([code]) => code === errno)?.[1] ?? 'SQLITE_ERROR'
  const made = new Error(`${name}: ${error.message}`, { cause: error })
  made.errno = errno
  made.code = name
  return made
}

let driver

/** The class `DatabaseSync` of the driver for this Node, loaded at the first use. */
function loadDriver() {
  driver ??= builtinDriver() ?? prebuiltDriver()
  return driver
}

/** `node:sqlite`, without the warning that it is experimental: a user can do nothing about it. */
function builtinDriver() {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes('SQLite')) emitWarning.call(process, warning, ...rest)
  }
  try {
    return process.getBuiltinModule('node:sqlite')?.DatabaseSync
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The addon itself where it lies as packed (its package's entry first searches the disk for it), else that entry. */
function prebuiltDriver() {
  const { dirname, join } = require('node:path')
  const libc = process.platform === 'linux' && require('node:fs').existsSync('/etc/alpine-release') ? 'musl' : 'glibc'
  const file = `@photostructure+sqlite.${libc}.node`
  try {
    const folder = dirname(require.resolve('@photostructure/sqlite/package.json'))
    return require(join(folder, 'prebuilds', `${process.platform}-${process.arch}`, file)).DatabaseSync
  } catch {
    return require('@photostructure/sqlite').DatabaseSync
  }
}

/** A value as sqlite3 binds it. */
function bindable(value) {
  switch (typeof value) {
    case 'boolean':
      return value ? 1 : 0
    case 'undefined':
      return null
    case 'object':
      if (value === null || ArrayBuffer.isView(value)) return value
      return value instanceof Date ? value.getTime() : String(value)
    default:
      return value
  }
}

/** Parameters as sqlite3 takes them: spread, in one array, or in one object of names. */
function parameters(given) {
  const [first] = given
  if (Array.isArray(first)) return first.map(bindable)
  const isNamed = typeof first === 'object' && first !== null && !ArrayBuffer.isView(first) && !(first instanceof Date)
  if (!isNamed) return given.map(bindable)
  return [Object.fromEntries(Object.entries(first).map(([name, value]) => [name, bindable(value)]))]
}

class Database {
  #db
  #openError = null
  #statements = new Map()
  #busyTimeout = 1000
  /** Jobs in the order they were asked for; the first one is being tried. */
  #queue = []

  /** Opens `file`; the callback gets the error or null, later, as sqlite3 calls it. */
  constructor(file, ...rest) {
    const callback = rest.at(-1)
    try {
      this.#db = new (loadDriver())(file)
    } catch (error) {
      this.#openError = asSqlite3Error(error)
    }
    if (typeof callback === 'function') queueMicrotask(() => callback.call(this, this.#openError))
  }

  /** `busyTimeout` in milliseconds is all there is to set. */
  configure(option, value) {
    if (option !== 'busyTimeout') throw new Error(`This sqlite3 has no option ${JSON.stringify(option)}.`)
    this.#busyTimeout = value
  }

  /** Runs one statement, `all(sql, ...params, callback)`; the callback gets every row. */
  all(sql, ...rest) {
    const callback = typeof rest.at(-1) === 'function' ? rest.pop() : () => {}
    this.#ask(() => this.#statement(sql).all(...parameters(rest)), callback)
    return this
  }

  /** Closes after what was asked before. */
  close(callback = () => {}) {
    this.#ask(() => {
      this.#statements.clear()
      this.#db.close()
    }, callback)
  }

  #ask(run, callback) {
    this.#queue.push({ run, callback, since: Date.now(), tries: 0 })
    if (this.#queue.length === 1) this.#work()
  }

  #work() {
    for (let job = this.#queue[0]; job !== undefined; job = this.#queue[0]) {
      const pause = this.#try(job)
      if (pause !== null) {
        setTimeout(() => this.#work(), pause)
        return
      }
      this.#queue.shift()
    }
  }

  /** One try of a job: null when it is done, else the milliseconds to wait before the next. */
  #try(job) {
    let rows
    try {
      if (this.#openError !== null) throw this.#openError
      rows = job.run()
    } catch (thrown) {
      const error = thrown === this.#openError ? thrown : asSqlite3Error(thrown)
      const left = job.since + this.#busyTimeout - Date.now()
      if (error.errno === BUSY && left > 0) {
        const pause = PAUSES[Math.min(job.tries++, PAUSES.length - 1)]
        return Math.min(left, pause * (0.5 + Math.random()))
      }
      queueMicrotask(() => job.callback.call(this, error))
      return null
    }
    queueMicrotask(() => job.callback.call(this, null, rows))
    return null
  }

  /** The prepared statement; the same few come again and again. */
  #statement(sql) {
    if (!this.#db.isOpen && this.#db.isOpen !== undefined) {
      throw Object.assign(new Error('Database is closed'), { errcode: MISUSE })
    }
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const made = this.#db.prepare(sql)
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.delete(this.#statements.keys().next().value)
    this.#statements.set(sql, made)
    return made
  }
}

module.exports = { Database, OPEN_READONLY: 1, OPEN_READWRITE: 2, OPEN_CREATE: 4 }
