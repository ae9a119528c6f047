/** Reading a session's records out of SQLite: in one go, and where that does not come out even, row by row. */
import { errorCode } from '../../machines/errorText.ts'
import { paddedSeq } from './keys.ts'
import { type KeyValue, untilMissing } from './keyValue.ts'

/** One statement with its values; its rows. */
type Query = (sql: string, ...values: string[]) => Promise<unknown>

/** From here on keys have seven digits and sort elsewhere. */
const MOST_IN_ORDER = 1_000_000

/**
 * A whole series as the lines of one value: a thousand rows cost the start of a long session more than all else that
 * is read. No value has a line end in it, being one line of JSON.
 * @returns null where that does not come out even, or cannot be done; row by row it is seen why
 */
export async function seriesInOneRow(query: Query, prefix: string, count: number): Promise<string[] | null> {
  if (count === 0 || count >= MOST_IN_ORDER) return null
  try {
    const [row] = (await query(
      'SELECT count(*) AS count, group_concat(value, char(10) ORDER BY key) AS texts FROM keyv WHERE key >= ? AND key < ?',
      `${prefix}${paddedSeq(0)}`,
      `${prefix}${paddedSeq(count)}`,
    )) as Array<{ count: number; texts: unknown }>
    const lines = row?.count === count ? asText(row.texts).split('\n') : []
    return lines.length === count ? lines : null
  } catch {
    return null
  }
}

/** A whole series row by row, up to the first that is missing or cannot be read. */
export async function seriesByRow(
  scan: KeyValue['scan'],
  get: KeyValue['get'],
  prefix: string,
  count: number,
): Promise<Array<string | undefined>> {
  try {
    const found = new Map(await scan(prefix))
    return untilMissing((seq) => found.get(`${prefix}${paddedSeq(seq)}`), count)
  } catch (error) {
    if (errorCode(error) !== 'SQLITE_CORRUPT') throw error
    return oneByOne(get, prefix, count)
  }
}

/** A damaged page fails the whole statement: what lies before it is read one by one. */
async function oneByOne(get: KeyValue['get'], prefix: string, count: number): Promise<Array<string | undefined>> {
  const values: Array<string | undefined> = []
  while (values.length < count) {
    try {
      values.push((await get([`${prefix}${paddedSeq(values.length)}`]))[0])
    } catch (error) {
      if (errorCode(error) !== 'SQLITE_CORRUPT') throw error
      values.push(undefined)
    }
    if (values.at(-1) === undefined) break
  }
  return values
}

/** The store writes nothing but text; what else is found is damaged, and readable as far as it goes. */
export function asText(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)
}
