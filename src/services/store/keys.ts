/**
 * The keys of the store. Every value is the JSON text of one thing, none ever grows:
 * `s:<id>:<seq>` a record, `h:<id>` a session's head (its commit point), `d:<hash of a directory>` the session
 * used last there, `x:<id>:<seq>:<n>` what was found damaged and is kept.
 */
import { createHash } from 'node:crypto'

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text has the form of a session id (a lower-case UUID): only such a text becomes a key or a file name. */
export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text)
}

export const HEADS = 'h:'

export const headKey = (id: string): string => `${HEADS}${id}`
export const recordPrefix = (id: string): string => `s:${id}:`
export const recordKey = (id: string, seq: number): string => `${recordPrefix(id)}${paddedSeq(seq)}`
export const keptPrefix = (id: string): string => `x:${id}:`
export const keptKey = (id: string, what: string, n: number): string => `${keptPrefix(id)}${what}:${n}`

/**
 * A record's number as its key ends: six digits and more, so that keys sort as numbers do. Records are then
 * appended at the end of the database's tree, where its pages get full.
 */
export function paddedSeq(seq: number): string {
  return String(seq).padStart(6, '0')
}

/** The pointer of a directory: a hash of its name as it is, so that no two names share one and any length fits. */
export function directoryKey(cwd: string): string {
  return `d:${createHash('sha256').update(cwd).digest('hex')}`
}

/** The id in a head's key. */
export function idOfHead(key: string): string {
  return key.slice(HEADS.length)
}

/** The number in a record's key; NaN where there is none. */
export function seqOfRecord(key: string): number {
  const text = key.slice(key.lastIndexOf(':') + 1)
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}
