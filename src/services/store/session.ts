/** Reads sessions back: heads, the intact prefix of the records, and heads anew from records. */
import { parseEntry } from '../../machines/entryText.ts'
import { JOURNAL_VERSION, type JournalEntry } from '../../machines/journal.ts'
import { wholeInput } from '../../machines/messages.ts'
import type { LoadedSession, SessionHead } from '../ports.ts'
import { headKey, recordKey, recordPrefix } from './keys.ts'
import { type KeyValue, untilMissing } from './keyValue.ts'

export type ParsedHead = { kind: 'head'; head: SessionHead } | { kind: 'newer'; version: number } | { kind: 'damaged' }

/** The fields of a head that must be there, by type. `parent` may be. */
const FIELDS: Record<Exclude<keyof SessionHead, 'parent'>, 'string' | 'number'> = {
  v: 'number',
  session_id: 'string',
  cwd: 'string',
  created: 'string',
  used: 'string',
  model: 'string',
  count: 'number',
  turns: 'number',
  first_prompt: 'string',
  gauge: 'number',
}

/** Reads a stored head. One that names another session is damaged. */
export function parseHead(text: string, id: string): ParsedHead {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'damaged' }
  }
  const head = value as Record<string, unknown> | null
  if (typeof head?.v === 'number' && head.v > JOURNAL_VERSION) return { kind: 'newer', version: head.v }
  const isWhole = Object.entries(FIELDS).every(([name, type]) => typeof head?.[name] === type)
  if (!isWhole || head?.v !== JOURNAL_VERSION || head.session_id !== id) return { kind: 'damaged' }
  const isCount = Number.isSafeInteger(head.count) && (head.count as number) >= 0
  const isPlaced = isTime(head.used) && isTime(head.created) && ['string', 'undefined'].includes(typeof head.parent)
  return isCount && isPlaced ? { kind: 'head', head: value as SessionHead } : { kind: 'damaged' }
}

function isTime(value: unknown): boolean {
  return Number.isFinite(Date.parse(String(value)))
}

/** Reads a session; null where there is none of this id. `head.count` is what was committed, damaged or not. */
export async function readSession(kv: KeyValue, id: string): Promise<LoadedSession | null> {
  const [text] = await kv.get([headKey(id)])
  if (text === undefined) return null
  const parsed = parseHead(text, id)
  if (parsed.kind !== 'head') return withoutHead(kv, id, parsed)
  const { head } = parsed
  const { entries, warning } = intactPrefix(id, await kv.series(recordPrefix(id), head.count))
  return { head, entries, warnings: warning === null ? [] : [warning] }
}

/** The entries up to the first that cannot be read, and a sentence about that one. */
function intactPrefix(
  id: string,
  texts: Array<string | undefined>,
): { entries: JournalEntry[]; warning: string | null } {
  const entries: JournalEntry[] = []
  for (const [seq, text] of texts.entries()) {
    const problem = text === undefined ? 'is missing or cannot be read' : addEntry(entries, text, seq)
    if (problem !== null) return { entries, warning: `Record ${seq} of session ${id} ${problem}. ${usable(seq)}` }
  }
  return { entries, warning: null }
}

/** Adds one stored entry to the list; what is wrong with it where it cannot be added. */
function addEntry(entries: JournalEntry[], text: string, seq: number): string | null {
  const parsed = parseEntry(text, seq)
  switch (parsed.kind) {
    case 'entry':
      entries.push(parsed.entry)
      return null
    case 'newer':
      return `was written by a newer version (format ${parsed.version}); update this program to read it`
    case 'damaged':
      return `is damaged: ${parsed.reason}`
  }
}

function usable(count: number): string {
  if (count === 0) return 'Nothing of the session can be used.'
  return count === 1 ? 'Only the one record before it is used.' : `Only the ${count} records before it are used.`
}

/** A session whose head is of no use: the records say what it said. */
async function withoutHead(
  kv: KeyValue,
  id: string,
  problem: Exclude<ParsedHead, { kind: 'head' }>,
): Promise<LoadedSession | null> {
  const found = new Map(await kv.scan(recordPrefix(id)))
  const texts = untilMissing((seq) => found.get(recordKey(id, seq)), found.size)
  const { entries, warning } = intactPrefix(id, texts)
  const why = problem.kind === 'newer' ? `was written by a newer version (format ${problem.version})` : 'is damaged'
  const warnings = [`The head of session ${id} ${why}; it is made anew from the records.`]
  if (warning !== null) warnings.push(warning)
  return { head: headFromRecords(id, entries), entries, warnings }
}

/** What the records say of a session, in the form of its head. */
function headFromRecords(id: string, entries: JournalEntry[]): SessionHead {
  const head: SessionHead = {
    v: JOURNAL_VERSION,
    session_id: id,
    cwd: '',
    created: entries[0]?.at ?? new Date(0).toISOString(),
    used: entries.at(-1)?.at ?? new Date(0).toISOString(),
    model: '',
    count: entries.length,
    turns: 0,
    first_prompt: '',
    gauge: 0,
  }
  for (const { record } of entries) addRecord(head, record)
  return head
}

function addRecord(head: SessionHead, record: JournalEntry['record']): void {
  switch (record.type) {
    case 'opened':
      head.cwd = record.cwd
      head.model = record.model
      if (record.parent !== undefined) head.parent = record.parent.session_id
      return
    case 'prompt':
      head.turns += 1
      if (head.turns === 1) head.first_prompt = record.text
      return
    case 'reply':
      if (!record.measured) return
      head.gauge = wholeInput(record.usage)
      return
    default:
      return
  }
}

/**
 * The head of a session from its stored text; one of no use is made anew from the records.
 * @param warn told of a head that had to be made anew
 */
export async function headOf(
  kv: KeyValue,
  id: string,
  text: string,
  warn: (message: string) => void,
): Promise<SessionHead> {
  const parsed = parseHead(text, id)
  if (parsed.kind === 'head') return parsed.head
  const read = await withoutHead(kv, id, parsed)
  for (const message of read?.warnings ?? []) warn(message)
  return read?.head ?? headFromRecords(id, [])
}
