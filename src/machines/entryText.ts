/**
 * An entry as text, the way stores keep it: `[v, seq, at, record]`, and `in` behind them where it is not the usual
 * state of such a record. `at` is in milliseconds since 1970, a usage an array, what nearly always holds is left
 * out: names that are the same in each of thousands of entries would be half of the file.
 */
import { JOURNAL_VERSION, type JournalEntry, type JournalRecord, type StateName } from './journal.ts'
import type { Usage } from './messages.ts'
import { brokenField } from './recordShape.ts'

/** Every record there is, with the state in which its event usually arrives. */
const USUAL_STATE: Record<JournalRecord['type'], StateName> = {
  opened: 'loadingContext',
  prompt: 'loadingContext',
  resumed: 'loadingContext',
  context: 'calling',
  reply: 'calling',
  toolStarted: 'runningTool',
  toolFinished: 'runningTool',
  callFailed: 'calling',
  trimmed: 'trimming',
  compacted: 'compacting',
  compactionFailed: 'compacting',
  recalled: 'recalling',
  remembered: 'remembering',
  interrupted: 'calling',
  fault: 'calling',
  turnEnded: 'persisting',
}

export type ParsedEntry =
  | { kind: 'entry'; entry: JournalEntry }
  | { kind: 'newer'; version: number }
  | { kind: 'damaged'; reason: string }

/** @returns the text that `parseEntry` reads; one line of JSON */
export function entryText({ v, seq, at, in: state, record }: JournalEntry): string {
  const usual = USUAL_STATE[record.type] === state
  return JSON.stringify([v, seq, Date.parse(at), packed(record), ...(usual ? [] : [state])])
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
  const [v, number, time, kept, named] = value as unknown[]
  if (typeof v === 'number' && v > JOURNAL_VERSION) return { kind: 'newer', version: v }
  if (v !== JOURNAL_VERSION) return damaged('it has no version')
  if (number !== seq) return damaged(`it says it is number ${String(number)}`)
  const at = typeof time === 'number' ? new Date(time) : null
  if (at === null || Number.isNaN(at.getTime())) return damaged('it has no time')
  const record = unpacked(kept)
  if (record === null) return damaged('its record is of no known type')
  const broken = brokenField(record)
  if (broken !== null) return damaged(`its record has no proper ${broken}`)
  const state = typeof named === 'string' ? (named as StateName) : USUAL_STATE[record.type]
  return { kind: 'entry', entry: { v, seq, at: at.toISOString(), in: state, record } }
}

function damaged(reason: string): ParsedEntry {
  return { kind: 'damaged', reason }
}

function packed(record: JournalRecord): object {
  switch (record.type) {
    case 'reply': {
      const { measured, ...rest } = record
      return { ...rest, usage: numbersOf(record.usage), ...(!measured && { measured }) }
    }
    case 'toolFinished': {
      const { is_error, ...rest } = record
      return { ...rest, ...(is_error && { is_error }) }
    }
    default:
      return record
  }
}

/** @returns the record as it was before `packed`; null where it is none */
function unpacked(kept: unknown): JournalRecord | null {
  const type = (kept as { type?: unknown } | null)?.type
  if (typeof type !== 'string' || !Object.hasOwn(USUAL_STATE, type)) return null
  const record = kept as JournalRecord
  switch (record.type) {
    case 'reply': {
      const usage = usageOf(record.usage)
      // In place here and below: nobody else has what was just parsed, and of thousands a copy of each is felt.
      return usage === null ? null : Object.assign(record, { measured: record.measured ?? true, usage })
    }
    case 'toolFinished':
      return Object.assign(record, { is_error: record.is_error ?? false })
    default:
      return record
  }
}

function numbersOf(usage: Usage): number[] {
  return [usage.input_tokens, usage.output_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens]
}

function usageOf(value: unknown): Usage | null {
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'number')) return null
  const [input_tokens = 0, output_tokens = 0, cache_creation_input_tokens = 0, cache_read_input_tokens = 0] = value
  return { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens }
}
