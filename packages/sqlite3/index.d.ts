/** sqlite3's error: SQLite's name of the primary result code and its number. */
export interface Sqlite3Error extends Error {
  code: string
  errno: number
}

export class Database {
  constructor(file: string, callback?: (error: Sqlite3Error | null) => void)
  configure(option: 'busyTimeout', milliseconds: number): void
  all(sql: string, ...valuesAndCallback: unknown[]): this
  close(callback?: (error: Sqlite3Error | null) => void): void
}

declare const sqlite3: { Database: typeof Database; OPEN_READONLY: number; OPEN_READWRITE: number; OPEN_CREATE: number }
export default sqlite3
