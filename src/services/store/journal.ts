/** The one writer of a session. */
import { firstUnits } from '../../machines/cut.ts'
import { entryText } from '../../machines/entryText.ts'
import { JOURNAL_VERSION, type JournalEntry, type NewEntry } from '../../machines/journal.ts'
import type { Lock } from '../lock.ts'
import type { HeadUpdate, Journal, SessionHead } from '../ports.ts'
import { StoreError } from './errors.ts'
import { directoryKey, headKey, keptKey, keptPrefix, recordKey, recordPrefix, seqOfRecord } from './keys.ts'
import type { KeyValue, Pair } from './keyValue.ts'
import { parseHead, readSession } from './session.ts'

/** The head is written with every append: it keeps only so much of the prompt, in UTF-16 units. */
const FIRST_PROMPT_LIMIT = 2000

export interface JournalOptions {
  session_id: string
  open: () => Promise<KeyValue>
  lock: Lock
  now: () => number
  warn: (message: string) => void
  /** How many of how many committed entries were intact when this process read the session; null if it did not. */
  known: () => { intact: number; count: number } | null
}

/** Where the journal stands; `used` in ms since 1970 never goes back, whatever the clock does. */
interface Position {
  count: number
  created: string
  used: number
}

/** @returns the writer of a session that this process holds; each append reads where to go on at the first one */
export function createJournal(options: JournalOptions): Journal {
  let position: Position | null = null
  let last: Promise<unknown> = Promise.resolve()
  let isReleased = false

  const write = async (entries: NewEntry[], update: HeadUpdate): Promise<JournalEntry[]> => {
    if (isReleased) throw new Error(`session ${options.session_id} was released and written again`)
    const kv = await options.open()
    if (position !== null && kv.shared) await refuseRival(kv, options.session_id, position.count)
    position ??= await findPosition(kv, options, update.cwd)
    const now = options.now()
    const { count, created } = position
    const at = new Date(now).toISOString()
    const placed = entries.map((entry, index) => ({ v: JOURNAL_VERSION, seq: count + index, at, ...entry }))
    const next = { count: count + placed.length, created: created || at, used: Math.max(now, position.used) }
    await kv.put(
      placed.map((entry) => [recordKey(options.session_id, entry.seq), entryText(entry)]),
      commit(options.session_id, next, update),
    )
    position = next
    return placed
  }

  return {
    append(entries, update) {
      const written = last.then(() => write(entries, update))
      last = written.catch(() => {})
      return written
    },
    async release() {
      await last
      isReleased = true
      options.lock.release()
    },
  }
}

/** Locks are files of this machine: on a server another one may have written the session meanwhile. */
async function refuseRival(kv: KeyValue, id: string, count: number): Promise<void> {
  const [text] = await kv.get([headKey(id)])
  const parsed = text === undefined ? null : parseHead(text, id)
  if (parsed?.kind === 'head' && parsed.head.count === count) return
  throw new StoreError(
    `Session ${id} was written by another machine meanwhile. What this run adds is not saved; use one machine at a time for a session, or --fork-session.`,
  )
}

/** A journal that cannot be written: every append says why, so that the run goes on unsaved. */
export function unwritableJournal(error: StoreError): Journal {
  return {
    append: async () => {
      throw error
    },
    release: async () => {},
  }
}

/** The head, and for a session of the user the pointer of its directory. */
function commit(id: string, position: Position, update: HeadUpdate): Pair[] {
  const { count, created } = position
  const used = new Date(position.used).toISOString()
  const { cwd, model, turns, gauge, parent } = update
  const first_prompt = shortened(update.first_prompt)
  const head: SessionHead = {
    v: JOURNAL_VERSION,
    session_id: id,
    cwd,
    created,
    used,
    model,
    count,
    turns,
    first_prompt,
    gauge,
  }
  if (parent !== undefined) return [[headKey(id), JSON.stringify({ ...head, parent })]]
  return [
    [headKey(id), JSON.stringify(head)],
    [directoryKey(cwd), JSON.stringify({ v: JOURNAL_VERSION, session_id: id, used })],
  ]
}

function shortened(prompt: string): string {
  if (prompt.length <= FIRST_PROMPT_LIMIT) return prompt
  return `${firstUnits(prompt, FIRST_PROMPT_LIMIT)}…`
}

/** Reads where to go on: behind the intact prefix, later than what was used last in this directory. */
async function findPosition(kv: KeyValue, options: JournalOptions, cwd: string): Promise<Position> {
  const id = options.session_id
  const [headText, pointerText] = await kv.get([headKey(id), directoryKey(cwd)])
  const pointer = parsePointer(pointerText)
  const floor = pointer === null ? 0 : pointer.session_id === id ? pointer.used : pointer.used + 1
  if (headText === undefined) return { count: 0, created: '', used: floor }

  const parsed = parseHead(headText, id)
  const known = options.known()
  if (parsed.kind === 'head' && known?.count === parsed.head.count && known.intact === known.count) {
    return positionOf(parsed.head, known.count, floor)
  }
  const session = await readSession(kv, id)
  if (session === null) return { count: 0, created: '', used: floor }
  const intact = session.entries.length
  if (parsed.kind !== 'head' || intact < session.head.count) await keepRest(kv, id, intact, parsed.kind, headText)
  return positionOf(session.head, intact, floor)
}

function positionOf(head: SessionHead, count: number, floor: number): Position {
  return { count, created: head.created, used: Math.max(Date.parse(head.used), floor) }
}

/** A directory's pointer; null where there is none or it cannot be read. */
export function parsePointer(text: string | undefined): { session_id: string; used: number } | null {
  if (text === undefined) return null
  try {
    const { session_id, used } = JSON.parse(text) as { session_id?: unknown; used?: unknown }
    const time = Date.parse(String(used))
    return typeof session_id === 'string' && Number.isFinite(time) ? { session_id, used: time } : null
  } catch {
    return null
  }
}

/**
 * Moves what stands behind the intact prefix, and a head of no use, to keys of their own before they are written
 * over: nothing that was committed is lost, and no old record turns up behind a new one.
 */
async function keepRest(
  kv: KeyValue,
  id: string,
  intact: number,
  headKind: 'head' | 'newer' | 'damaged',
  headText: string,
): Promise<void> {
  const kept = await kv.scan(keptPrefix(id))
  const n = Math.max(0, ...kept.map(([key]) => seqOfRecord(key) || 0)) + 1
  const rest = (await kv.scan(recordPrefix(id))).filter(([key]) => !(seqOfRecord(key) < intact))
  const copies: Pair[] = rest.map(([key, text]) => [keptKey(id, key.slice(recordPrefix(id).length), n), text])
  if (headKind !== 'head') copies.push([keptKey(id, 'head', n), headText])
  if (copies.length > 0) await kv.put(copies, [])
  if (rest.length > 0)
    await kv.drop(
      rest.map(([key]) => key),
      [],
    )
}
