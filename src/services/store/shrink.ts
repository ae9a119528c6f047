/** Giving back the space of what was removed. */

/** One statement; its rows. */
type Query = (sql: string) => Promise<unknown>

/** Bytes of what is left that are rewritten for it: about half a second, in which no other run can save anything. */
const MOST_KEPT = 128 * 1024 * 1024
/** How long to wait for others that are using the database, in milliseconds. */
const PATIENCE_MS = 1_000

/**
 * A DELETE only marks pages as free: the texts stand in the file, and in its log, until something is written over
 * them, and the file keeps its size (https://www.sqlite.org/lang_vacuum.html). Whoever removes a session means that
 * it is gone. Where others are at work, or too much else is kept, the space is used again instead. Never rejects.
 * @param busyMs what the connection waits at other times, in milliseconds
 */
export async function shrink(query: Query, busyMs: number): Promise<void> {
  try {
    await query(`PRAGMA busy_timeout = ${PATIENCE_MS}`)
    const pages = (await pragma(query, 'page_count')) - (await pragma(query, 'freelist_count'))
    if (pages * (await pragma(query, 'page_size')) <= MOST_KEPT) await query('VACUUM')
    await query('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // In use by another, or no room for a copy: nothing is lost by it.
  } finally {
    await query(`PRAGMA busy_timeout = ${busyMs}`).catch(() => {})
  }
}

async function pragma(query: Query, name: string): Promise<number> {
  const [row] = (await query(`PRAGMA ${name}`)) as Array<Record<string, number>>
  return row?.[name] ?? 0
}
