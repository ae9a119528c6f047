/** When the conversation must be made shorter before the next call. Pure. */
import type { Conversation } from './conversation.ts'
import type { CompactedRecord } from './journal.ts'
import { POLICY } from './layers/policy.ts'
import { trim } from './layers/trim.ts'

/**
 * The last reply's whole input exceeds the budget. Not repeated in a turn whose last compaction did not bring
 * the conversation under it: another would not either (contract.md, 9).
 */
export function isOverBudget(c: Conversation): boolean {
  const budget = c.turn.limits.input_tokens
  const { reached } = c.turn.compaction
  return c.messages.length > 0 && c.gauge > budget && (reached === null || reached <= budget)
}

/** @returns what a compaction that begins now is for. */
export function dueCompaction(c: Conversation): CompactedRecord['trigger'] {
  return c.turn.compaction.due?.trigger ?? 'budget'
}

/** @returns the estimated input of the next call, in tokens: the last one's, and what was added or taken out since. */
export function nextInput(c: Conversation): number {
  return Math.max(0, c.gauge + c.weight.added)
}

/**
 * Whether the cheap layers should run now. They break the prompt cache, so they wait until the next call is over half
 * the budget, a pass frees a share that is worth it, and the last pass is some replies ago, unless one is needed to
 * stay under the budget; `limits.always` runs them before every call that they would change. At most one pass a call,
 * whatever came of it.
 */
export function isUnderPressure(c: Conversation): boolean {
  const { limits } = c.turn
  if (c.repliesSinceTrim === 0) return false
  if (limits.always === true) return trim(c, POLICY).done.length > 0
  const budget = limits.input_tokens
  const load = nextInput(c)
  const isUrgent = load > budget * POLICY.urgent
  const isPausing = c.repliesSinceTrim !== null && c.repliesSinceTrim < POLICY.pause
  if (load <= budget * POLICY.pressure || (isPausing && !isUrgent)) return false
  const after = nextInput(trim(c, POLICY).conversation)
  return load - after >= budget * POLICY.worth && (!isPausing || after <= budget * POLICY.urgent)
}
