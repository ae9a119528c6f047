/** How a turn ends, in the words of the journal. Pure. */
import type { Conversation } from './conversation.ts'
import type { TurnEndedRecord } from './journal.ts'
import { count } from './words.ts'

export type TurnEnd = 'done' | 'cancelled' | 'failed' | 'outOfTurns'

/** @returns the record that closes the turn; its message says what the user can do next. */
export function turnEnded(as: TurnEnd, { turn, session }: Conversation): TurnEndedRecord {
  switch (as) {
    case 'done':
      return { type: 'turnEnded', status: 'done', subtype: 'success' }
    case 'cancelled':
      return {
        type: 'turnEnded',
        status: 'cancelled',
        subtype: 'error_interrupted',
        message: `Interrupted (${turn.interrupted ?? 'on request'}). ${goOn(session)}`,
      }
    case 'failed':
      return {
        type: 'turnEnded',
        status: 'failed',
        subtype: turn.failure?.subtype ?? 'error_during_execution',
        message: turn.failure?.message ?? 'The run failed.',
      }
    case 'outOfTurns':
      return {
        type: 'turnEnded',
        status: 'failed',
        subtype: 'error_max_turns',
        message: `Stopped after ${count(turn.calls, 'model call')} (--max-turns ${turn.limits.max_turns}). ${goOn(session)}`,
      }
  }
}

/** A subagent's session is its parent's to go on with. */
function goOn(session: Conversation['session']): string {
  const isOwn = session !== null && session.parent === undefined
  return isOwn ? `To go on: agent resume ${session.session_id}` : 'Resume the session to go on.'
}
