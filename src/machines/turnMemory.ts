/** What long-term memory has to do with a turn: what goes along with it, and what is kept of it. Pure. */
import { added, type Conversation, charge, type Said, type TurnMemory, withTurn } from './conversation.ts'
import { tokensOfBlocks } from './estimate.ts'
import type { RecalledRecord, RememberedRecord, SideCallNote } from './memoryRecords.ts'
import { isBlank } from './messages.ts'
import { recalledBlock } from './recalled.ts'

/**
 * @param before the conversation before the turn's prompt
 * @returns the memory of a new turn: it looks at the words of the last one too, where that was answered and the run
 *   ended before anyone had looked at them
 */
export function memoryOf(before: Conversation, isOn: boolean): TurnMemory {
  const said = isOn && isRememberDue(before) ? before.turn.memory.said : []
  return { isOn, recalled: null, said, isKept: false }
}

/** @returns whether the turn's words are still to be answered and no memories were chosen for them */
export function isRecallDue({ pending, turn: { status, memory } }: Conversation): boolean {
  return status === 'open' && memory.isOn && memory.recalled === null && pending.length > 0
}

/** @returns whether the turn was answered, and nobody has looked at what is worth keeping of it. */
export function isRememberDue({ turn: { status, memory } }: Conversation): boolean {
  return status === 'answered' && memory.isOn && !memory.isKept
}

/** @returns the conversation with more of the turn's words, where memory is on and will look at them. */
export function withSaid(c: Conversation, who: Said['who'], text: string): Conversation {
  const { memory } = c.turn
  if (!memory.isOn || isBlank(text)) return c
  return withTurn(c, { memory: { ...memory, said: [...memory.said, { who, text }] } })
}

/** @returns the conversation with the memories of its turn, and what choosing them has cost */
export function takeRecalled(c: Conversation, { memories, calls }: RecalledRecord): Conversation {
  const next = withTurn(chargeAll(c, calls), { memory: { ...c.turn.memory, recalled: memories } })
  return added(next, tokensOfMemory(next))
}

/** @returns the conversation whose turn has been looked at, and what that has cost */
export function takeRemembered(c: Conversation, { calls }: RememberedRecord): Conversation {
  return withTurn(chargeAll(c, calls), { memory: { ...c.turn.memory, isKept: true } })
}

/** @returns the estimated tokens that the turn's memories add to each of its requests. */
export function tokensOfMemory({ turn }: Conversation): number {
  const block = recalledBlock(turn.memory.recalled ?? [])
  return block === null ? 0 : tokensOfBlocks([block])
}

function chargeAll(c: Conversation, calls: readonly SideCallNote[]): Conversation {
  return calls.reduce((charged, { usage, ms }) => charge(charged, usage, ms), c)
}
