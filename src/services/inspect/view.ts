/** One session as the inspector sees it: its journal folded through the machine, step by step, as it grows. */
import { type Conversation, EMPTY } from '../../machines/conversation.ts'
import { step } from '../../machines/fold.ts'
import type { ContextRecord, JournalEntry } from '../../machines/journal.ts'
import { type Replay, replay, stateAt, type Transition } from '../../machines/replay.ts'
import type { LoadedSession, SessionHead } from '../ports.ts'

/** A session that is looked at. What it gives out belongs to one state of the journal; `take` brings the next. */
export interface SessionView {
  head: SessionHead
  entries: readonly JournalEntry[]
  warnings: readonly string[]
  replay: Replay
  /** @returns the conversation after transition n; the empty one for 0 */
  conversationAt(n: number): Conversation
  stateAt(n: number): string
  transition(n: number): Transition | undefined
  /** @returns the system string and the tools in effect after transition n, and their place in the journal */
  contextAt(n: number): ContextRecord | null
}

/** @param before the view of an earlier state of the same journal: what it has folded is not folded again */
export function viewOf({ head, entries, warnings }: LoadedSession, before: SessionView | null): SessionView {
  const whole = replay(entries)
  const known = before === null ? [] : foldedOf(before)
  // By the number of records: conversations share their structure, so all of them cost little more than the last.
  const conversations = known.length > 0 ? known.slice(0, entries.length + 1) : [EMPTY]
  for (let count = conversations.length; count <= entries.length; count++) {
    const record = entries[count - 1]?.record
    const last = conversations[count - 1] ?? EMPTY
    conversations.push(record === undefined ? last : step(last, record))
  }
  const recordsAt = (n: number): number => (n === 0 ? 0 : (whole.transitions[n - 1]?.records ?? entries.length))
  const view: SessionView = {
    head,
    entries,
    warnings,
    replay: whole,
    conversationAt: (n) => conversations[recordsAt(n)] ?? EMPTY,
    stateAt: (n) => stateAt(whole, n),
    transition: (n) => whole.transitions[n - 1],
    contextAt: (n) => {
      for (let at = recordsAt(n) - 1; at >= 0; at--) {
        const record = entries[at]?.record
        if (record?.type === 'context') return record
      }
      return null
    },
  }
  folded.set(view, conversations)
  return view
}

const folded = new WeakMap<SessionView, Conversation[]>()

function foldedOf(view: SessionView): Conversation[] {
  return folded.get(view) ?? []
}
