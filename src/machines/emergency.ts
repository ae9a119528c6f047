/** What an emergency leaves of a conversation that was too long for the model. Pure. */
import { nextInput } from './budget.ts'
import type { Conversation } from './conversation.ts'
import { textOfResult } from './cut.ts'
import { tokensOfBlocks } from './estimate.ts'
import { POLICY } from './layers/policy.ts'
import { resultsIn, type Wanted } from './layers/results.ts'
import { resultsOf } from './round.ts'

/** Share of what was too long that the latest rounds may take. */
const TAIL_SHARE = 0.25

export interface EmergencyPlan {
  /** Messages at the end that stay word for word; the first of them is the assistant's. */
  kept: number
  /** Results among them that are too long even so. */
  shorten: Wanted[]
}

/** @returns the latest rounds that fit into a quarter of what was too long, the last one in any case. */
export function planEmergency(c: Conversation): EmergencyPlan {
  const room = TAIL_SHARE * Math.min(nextInput(c), c.turn.limits.input_tokens)
  const { kept, size } = tailWithin(c, room)
  return { kept, shorten: longestOf(c, kept, size - room) }
}

function tailWithin(c: Conversation, room: number): { kept: number; size: number } {
  let size = tokensOfBlocks(resultsOf(c.round))
  let tail = { kept: 0, size }
  // The first message is never kept: it is the request, or an earlier summary.
  for (let at = c.messages.length - 1; at > 0; at--) {
    const message = c.messages[at]
    if (message === undefined) break
    size += tokensOfBlocks(message.content)
    if (tail.kept > 0 && size > room) break
    if (message.role === 'assistant') tail = { kept: c.messages.length - at, size }
  }
  return tail
}

/** The longest results first, until so many tokens are freed. */
function longestOf(c: Conversation, kept: number, tokens: number): Wanted[] {
  const shown = new Set(c.saved.map((one) => one.id))
  const settled = kept === 0 ? [] : c.messages.slice(-kept).flatMap(resultsIn)
  const results = [...settled, ...resultsOf(c.round)]
    .filter((block) => !shown.has(block.tool_use_id))
    .map((block) => ({ block, length: textOfResult(block.content).length }))
    .filter(({ length }) => length > 2 * POLICY.preview)
    .sort((a, b) => b.length - a.length)
  const wanted: Wanted[] = []
  let left = tokens
  for (const { block, length } of results) {
    if (left <= 0) break
    wanted.push({ id: block.tool_use_id, content: block.content, paths: null })
    left -= (length - POLICY.preview) / 4
  }
  return wanted
}
