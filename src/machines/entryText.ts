/**
 * An entry as text, the way stores keep it: `[v, seq, at, in, record]`, `at` in milliseconds since 1970. An array,
 * since names that are the same in each of thousands of entries would be a third of the file.
 */
import { JOURNAL_VERSION, type JournalEntry, type JournalRecord, type StateName } from './journal.ts'

const RECORD_TYPES: ReadonlySet<string> = new Set<JournalRecord['type']>([
  'opened',
  'prompt',
  'resumed',
  'context',
  'reply',
  'toolStarted',
  'toolFinished',
  'callFailed',
  'trimmed',
  'compacted',
  'compactionFailed',
  'interrupted',
  'fault',
  'turnEnded',
])

export type ParsedEntry =
  | { kind: 'entry'; entry: JournalEntry }
  | { kind: 'newer'; version: number }
  | { kind: 'damaged'; reason: string }

/** @returns the text that `parseEntry` reads; one line of JSON */
export function entryText({ v, seq, at, in: state, record }: JournalEntry): string {
  return JSON.stringify([v, seq, Date.parse(at), state, record])
}

/**
 * Reads one stored entry.
 * @param text what the store holds
 * @param seq the place it was found at; an entry that says another is damaged
 */
export function parseEntry(text: string, seq: number): ParsedEntry {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return damaged('it is not JSON')
  }
  if (!Array.isArray(value)) return damaged('it is not an array')
  const [v, number, time, state, record] = value as unknown[]
  if (typeof v === 'number' && v > JOURNAL_VERSION) return { kind: 'newer', version: v }
  if (v !== JOURNAL_VERSION) return damaged('it has no version')
  if (number !== seq) return damaged(`it says it is number ${String(number)}`)
  const at = typeof time === 'number' ? new Date(time) : null
  if (at === null || Number.isNaN(at.getTime())) return damaged('it has no time')
  if (typeof state !== 'string') return damaged('it has no state')
  if (!isRecord(record)) return damaged(`its record is of no known type`)
  return { kind: 'entry', entry: { v, seq, at: at.toISOString(), in: state as StateName, record } }
}

function isRecord(value: unknown): value is JournalRecord {
  const type = (value as { type?: unknown } | null)?.type
  return typeof type === 'string' && RECORD_TYPES.has(type)
}

function damaged(reason: string): ParsedEntry {
  return { kind: 'damaged', reason }
}
