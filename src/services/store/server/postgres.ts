/** A PostgreSQL server through `@keyv/postgres`: a bundle of its own, loaded where a `postgres://` store is opened. */
import { KeyvPostgres } from '@keyv/postgres'
import pg from 'pg'
import type { ServerAdapter } from './adapter.ts'

/** Longest wait for a connection and for an answer, in milliseconds. */
const CONNECT_MS = 5000
const QUERY_MS = 15_000
/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const CANNOT_CONNECT_NOW = '57P03'

type Query = (text: string, values?: unknown[]) => Promise<Array<Record<string, unknown>>>

/** A server that has just been started takes connections before it answers them. */
async function whenReady(query: Query): Promise<void> {
  for (const end = Date.now() + CONNECT_MS; ; ) {
    try {
      await query('SELECT 1')
      return
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (code !== CANNOT_CONNECT_NOW || Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/**
 * @param uri `postgres://` or `postgresql://`, with the password in it
 * @param table made if need be, in the schema `public`
 */
export function openPostgres(uri: string, table: string): ServerAdapter {
  const pool = new pg.Pool({
    connectionString: uri,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    max: 2,
    allowExitOnIdle: true,
  })
  // Without a listener a server that is restarted while nothing is asked of it would end the process.
  pool.on('error', () => {})
  const query: Query = async (text, values) => (await pool.query(text, values)).rows

  /** With a pool of its own: the adapter's is shared by all stores of a process, and nobody listens to its errors. */
  class Adapter extends KeyvPostgres {
    override async connect(): Promise<Query> {
      return query
    }
    override async disconnect(): Promise<void> {
      await pool.end()
    }
  }
  const store = new Adapter({ uri, table })
  // What is emitted also rejects the call that needed it.
  store.on('error', () => {})
  return {
    store,
    connect: () => whenReady(query),
    scan: async (prefix) => {
      // The order and the bounds of the bytes, whatever the language of the database.
      const rows = await query(
        `SELECT key, value FROM public.${table} WHERE key COLLATE "C" >= $1 AND key COLLATE "C" < $2 ORDER BY key COLLATE "C"`,
        [prefix, `${prefix}\uffff`],
      )
      return rows.map(({ key, value }) => [String(key), String(value)])
    },
  }
}
