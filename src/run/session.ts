/** Which session a run works in: a new one, one that goes on, or a fork of one. */
import { randomUUID } from 'node:crypto'
import { type Conversation, EMPTY } from '../machines/conversation.ts'
import { fold } from '../machines/fold.ts'
import type { JournalEntry, NewEntry } from '../machines/journal.ts'
import type { Journal, LoadedSession, Result, SessionHead, StorePort } from '../services/ports.ts'
import { isSessionId } from '../services/store/keys.ts'
import type { SessionChoice } from './request.ts'

export interface RunSession {
  session_id: string
  journal: Journal
  conversation: Conversation
  /** What is in the journal, or in that of a fork's source. */
  entries: JournalEntry[]
  warnings: string[]
  /** A fork's inherited entries, still to be written into its own journal. */
  inherited: NewEntry[]
  /** Where `agent fork` cut its source. */
  forked?: Forked
}

/** `at` is a transition of the source, as replay numbers them. */
export interface Forked {
  forked_from: string
  at: number
}

/** What of a session goes on: itself, a copy of all of it, or of its beginning (the number of a transition as typed). */
type Part = { kind: 'itself' } | { kind: 'copy' } | { kind: 'beginning'; at: string | null }

/** A session that is to go on, named but not yet held. */
export type Found = { kind: 'new' } | { kind: 'old'; session_id: string; part: Part }

/**
 * Finds the session by what the user said.
 * @param cwd the working directory as a real path
 * @param asked whether something new is asked, or an unfinished turn is to be carried on
 */
export async function findSession(
  store: StorePort,
  choice: SessionChoice,
  cwd: string,
  asked: 'something' | 'nothing',
): Promise<Result<Found>> {
  switch (choice.kind) {
    case 'new':
      return { ok: true, value: { kind: 'new' } }
    case 'continue': {
      const head = asked === 'something' ? await lastToGoOn(store, cwd) : await store.latest(cwd)
      if (head === null) {
        return { ok: false, message: `There is no session to continue in ${cwd}; run without --continue.` }
      }
      return { ok: true, value: { kind: 'old', session_id: head.session_id, part: partOf(choice) } }
    }
    case 'resume':
    case 'fork': {
      const id = await oneSession(store, choice.id)
      return id.ok ? { ok: true, value: { kind: 'old', session_id: id.value, part: partOf(choice) } } : id
    }
  }
}

/**
 * The session used last, unless all it has is a prompt whose call failed: one mistyped model or key must not hide the
 * conversation before it. Where there is no other, that prompt is gone on with; one that was interrupted always is.
 */
async function lastToGoOn(store: StorePort, cwd: string): Promise<SessionHead | null> {
  const last = await store.latest(cwd)
  if (last === null || !(await failedUnanswered(store, last))) return last
  for (const head of await store.list(cwd)) {
    if (head.parent === undefined && !(await failedUnanswered(store, head))) return head
  }
  return last
}

async function failedUnanswered(store: StorePort, head: SessionHead): Promise<boolean> {
  // A reply leaves its input there, except with servers that count nothing.
  if (head.gauge > 0) return false
  const records = (await store.load(head.session_id))?.entries.map((entry) => entry.record) ?? []
  const hasFailed = records.some((record) => record.type === 'turnEnded' && record.status === 'failed')
  return hasFailed && !records.some((record) => record.type === 'reply')
}

function partOf(choice: Exclude<SessionChoice, { kind: 'new' }>): Part {
  if (choice.kind === 'fork') return { kind: 'beginning', at: choice.at }
  return choice.fork ? { kind: 'copy' } : { kind: 'itself' }
}

/** Ids that are named where several begin as typed. */
const MOST_NAMED = 5

/** @returns the one session whose id is `typed` or begins with it; whether one has a whole id is seen when it is read */
export async function oneSession(store: StorePort, typed: string): Promise<Result<string>> {
  if (isSessionId(typed)) return { ok: true, value: typed }
  const ids = typed === '' ? [] : await store.find(typed)
  const [only] = ids
  if (only === undefined) return { ok: false, message: unknownSession(typed) }
  if (ids.length === 1) return { ok: true, value: only }
  const named = [...ids.sort().slice(0, MOST_NAMED), ...(ids.length > MOST_NAMED ? ['…'] : [])].join(', ')
  const begin = `${ids.length} sessions have an id that begins with ${quoted(typed)}`
  return { ok: false, message: `${begin}; name one of them: ${named}` }
}

/** @returns the sentence for an id that no session has */
export function unknownSession(id: string): string {
  return `Unknown session ${quoted(id)}: agent sessions --all lists the ones there are.`
}

function quoted(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id)
}

/** Takes the session's hold and reads it, or begins a new one. */
export async function openSession(store: StorePort, found: Found): Promise<Result<RunSession>> {
  if (found.kind === 'new') return openNew(store, EMPTY, [], [])
  if (found.part.kind !== 'itself') {
    const source = await store.load(found.session_id)
    if (source === null) return { ok: false, message: unknownSession(found.session_id) }
    return found.part.kind === 'copy' ? openFork(store, source) : openForkAt(store, source, found.part.at)
  }
  const held = await store.hold(found.session_id)
  if (!held.ok) return held
  // Read only now that nobody else writes.
  const loaded = await store.load(found.session_id)
  if (loaded === null) {
    await held.value.release()
    return { ok: false, message: unknownSession(found.session_id) }
  }
  const { entries, warnings } = loaded
  return {
    ok: true,
    value: {
      session_id: found.session_id,
      journal: held.value,
      conversation: fold(entries.map((entry) => entry.record)),
      entries,
      warnings,
      inherited: [],
    },
  }
}

/** A fork begins with its own `opened` record and the other records of its source. */
function openFork(store: StorePort, { head, entries, warnings }: LoadedSession): Promise<Result<RunSession>> {
  const session_id = randomUUID()
  const inherited = entries.map(({ in: state, record }): NewEntry => {
    if (record.type !== 'opened') return { in: state, record }
    const { parent: _, ...opened } = record
    const forked_from = { session_id: head.session_id, at: entries.length }
    return { in: state, record: { ...opened, session_id, forked_from } }
  })
  const conversation = fold(inherited.map((entry) => entry.record))
  return openNew(store, conversation, inherited, warnings, session_id, entries)
}

/** The same with the records that the machine had taken after one of its transitions. */
async function openForkAt(store: StorePort, source: LoadedSession, typed: string | null): Promise<Result<RunSession>> {
  const { replay } = await import('../machines/replay.ts')
  const { transitions } = replay(source.entries)
  const of = transitions.length
  const at = typed === null ? of : Number(/^\d{1,9}$/.test(typed) ? typed : Number.NaN)
  const last = transitions[at - 1]
  if (last === undefined) return { ok: false, message: noTransition(typed ?? '0', of, source.head.session_id) }
  const forked = await openFork(store, { ...source, entries: source.entries.slice(0, last.records) })
  if (!forked.ok) return forked
  return { ok: true, value: { ...forked.value, forked: { forked_from: source.head.session_id, at } } }
}

function noTransition(typed: string, of: number, id: string): string {
  if (of === 0) return `Session ${id} has no transition that could be gone on from.`
  return `--at is the number of a transition, from 1 to ${of}, not ${JSON.stringify(typed)}: agent trace ${id} lists them.`
}

async function openNew(
  store: StorePort,
  conversation: Conversation,
  inherited: NewEntry[],
  warnings: string[],
  session_id: string = randomUUID(),
  entries: JournalEntry[] = [],
): Promise<Result<RunSession>> {
  const held = await store.hold(session_id)
  if (!held.ok) return held
  return {
    ok: true,
    value: { session_id, journal: held.value, conversation, entries, warnings, inherited },
  }
}
