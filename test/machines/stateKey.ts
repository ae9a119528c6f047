/** Which states of a session count as one. */
import { isUnderPressure } from '../../src/machines/budget.ts'
import { isUnfinished } from '../../src/machines/conversation.ts'
import { planEmergency } from '../../src/machines/emergency.ts'
import type { View } from './alphabet.ts'

/** What guards, services and the alphabet can tell apart, and nothing else: two views with one key go on alike. */
export function stateKey({ state, context, handed }: View): string {
  const { conversation: c, unsaved } = context
  const { turn } = c
  const budget = turn.limits.input_tokens
  return JSON.stringify([
    state,
    turn.status,
    c.round.map((one) => [one.state, one.call.name === 'compact']),
    Math.min(turn.calls, turn.limits.max_turns),
    c.gauge > budget,
    turn.compaction.reached === null ? 'new' : turn.compaction.reached > budget,
    turn.compaction.due?.trigger ?? null,
    turn.compaction.emergency,
    turn.cutReplies,
    turn.interrupted === null ? null : unsaved.at(-1)?.in,
    turn.failure !== null,
    turn.stop_reason === 'pause_turn',
    c.messages.at(-1)?.role ?? null,
    Math.min(c.messages.length, 2),
    planEmergency(c).kept > 0,
    isUnderPressure(c),
    c.repliesSinceTrim,
    turn.memory.isOn && [turn.memory.recalled?.length ?? null, turn.memory.isKept],
    c.context !== null,
    c.pending.length > 0,
    isUnfinished(c),
    unsaved.length - handed,
    unsaved.length > 0,
  ])
}
