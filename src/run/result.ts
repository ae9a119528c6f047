/** The result of a run, from the conversation it ended with. */
import type { Conversation } from '../machines/conversation.ts'
import { step } from '../machines/fold.ts'
import { addUsage, NO_USAGE } from '../machines/messages.ts'
import { turnEnded } from '../machines/turnEnd.ts'
import type { Delegated, RunResult } from '../services/ports.ts'

export interface Ended {
  conversation: Conversation
  session_id: string
  duration_ms: number
  /** USD; null where a model's price is not known. */
  cost: number | null
  /** Of subagents that an interruption kept from the conversation. */
  lost: Delegated
  /** Why the session could not be saved; the answer is delivered all the same, as an error (contract.md, 6). */
  storeFault: string | null
}

/** @returns the result object of contract.md, section 3, of a turn that has ended */
export function resultOf(ended: Ended): RunResult {
  const { turn } = ended.conversation
  const failure = turn.failure
  const errors = [
    ...(failure === null ? [] : [failure.message]),
    ...(ended.storeFault === null ? [] : [`The session could not be saved: ${ended.storeFault}`]),
  ]
  return {
    type: 'result',
    subtype: failure?.subtype ?? (errors.length > 0 ? 'error_during_execution' : 'success'),
    is_error: errors.length > 0,
    result: turn.text,
    ...(errors.length > 0 && { errors }),
    session_id: ended.session_id,
    num_turns: turn.calls,
    duration_ms: Math.round(ended.duration_ms),
    duration_api_ms: Math.round(turn.api_ms + ended.lost.api_ms),
    stop_reason: turn.stop_reason,
    usage: addUsage(turn.usage, ended.lost.usage),
    ...(turn.compaction.count > 0 && { compactions: turn.compaction.count }),
    total_cost_usd: ended.cost,
    permission_denials: [...turn.denials, ...ended.lost.denials],
  }
}

/** @returns the conversation as it would be recorded if the run ended here; what has ended already stays so. */
export function stoppedHere(c: Conversation, reason: string): Conversation {
  if (c.turn.status !== 'open' && c.turn.status !== 'answered') return c
  const told = step(c, { type: 'interrupted', reason })
  return step(told, turnEnded('cancelled', told))
}

/** @returns the result of a run that was asked to stop before anything of it was recorded */
export function notYetStarted(reason: string, session_id: string): RunResult {
  const message = `Interrupted (${reason}) before anything was started.`
  return { ...nothingStarted(message, session_id), subtype: 'error_interrupted' }
}

/** @returns the result of a run that could not begin (exit 2): nothing was called, nothing was changed. */
export function nothingStarted(message: string, session_id: string): RunResult {
  return {
    type: 'result',
    subtype: 'error_during_execution',
    is_error: true,
    result: '',
    errors: [message],
    session_id,
    num_turns: 0,
    duration_ms: 0,
    duration_api_ms: 0,
    stop_reason: null,
    usage: NO_USAGE,
    total_cost_usd: null,
    permission_denials: [],
  }
}
