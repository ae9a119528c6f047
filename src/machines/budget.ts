/** When the conversation must be made shorter before the next call. Pure. */
import type { Conversation } from './conversation.ts'
import type { CompactedRecord } from './journal.ts'

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
