/** Checks that a replay of what a run left on disk is what the run did. */
import { isDeepStrictEqual } from 'node:util'
import { fold } from '../../src/machines/fold.ts'
import { JOURNAL_VERSION, type JournalEntry, type NewEntry } from '../../src/machines/journal.ts'
import { conversationAt, replay } from '../../src/machines/replay.ts'
import type { Microstep, Stepper } from '../../src/machines/stepper.ts'
import type { World } from './world.ts'

/** @returns the entries as a store gives them back; each 10 ms after the one before */
export function stored(entries: readonly NewEntry[]): JournalEntry[] {
  const began = Date.UTC(2026, 10, 30, 12)
  return entries.map((entry, seq) => ({
    v: JOURNAL_VERSION,
    seq,
    at: new Date(began + 10 * seq).toISOString(),
    in: entry.in,
    record: entry.record,
  }))
}

/** @returns a sentence where the replay of the journal does not end as its fold does */
export function replayProblem(stepper: Stepper, recorded: readonly NewEntry[]): string | null {
  const entries = stored(recorded)
  const played = replay(entries, stepper)
  if (played.disagreement !== null) return played.disagreement.message
  const folded = fold(recorded.map((entry) => entry.record))
  if (recorded.length > 0 && !isDeepStrictEqual(played.conversation, folded))
    return 'the replay ends with another conversation than the fold'
  let at = 'loadingContext'
  for (const { n, from, to } of played.transitions) {
    if (from !== at) return `transition ${n} begins in ${from}, the one before it ended in ${at}`
    at = to
  }
  const last = played.transitions.length
  return last === 0 || isDeepStrictEqual(conversationAt(played, entries, last), folded)
    ? null
    : 'the conversation after the last transition is not the fold'
}

/** @returns a sentence where the replay of a run that began with `before` records did not take the run's transitions */
export function traceProblem(stepper: Stepper, world: World, before: number, taken: Microstep[]): string | null {
  // What the store could not keep cannot be replayed, and a late report is written before the interrupt it came after.
  const late = taken.some(
    ({ event, from }) => from === 'persisting' && !event.startsWith('xstate.') && event !== 'interrupt',
  )
  const lost = world.storeBroken || taken.at(-1)?.event === 'xstate.error.actor.persist'
  if (lost || late || world.recorded.length === before) return null
  const played = replay(stored(world.recorded), stepper).transitions.map(
    ({ from, event, to }) => `${from} ${event} ${to}`,
  )
  // Memory that fails leaves the record of memory that found nothing.
  const lived = taken.map(({ from, event, to }) => `${from} ${event.replace(/error(?=\.actor\.re)/, 'done')} ${to}`)
  const tail = played.slice(-lived.length)
  return isDeepStrictEqual(tail, lived)
    ? null
    : `the run took\n  ${lived.join('\n  ')}\nthe replay\n  ${tail.join('\n  ')}`
}
