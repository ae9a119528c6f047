/** The layer that leaves out the middle of a long conversation. Pure. */
import { carriedBlocks } from '../carried.ts'
import { type Conversation, unanswered } from '../conversation.ts'
import { tokensOfBlocks, tokensOfMessages } from '../estimate.ts'
import type { Message, UserBlock } from '../messages.ts'
import type { Policy } from './policy.ts'
import { REQUEST_MARK, snipMark } from './words.ts'

/** The settled messages from `from` up to but not including `to`. */
export interface Cut {
  from: number
  to: number
}

/**
 * @returns what to leave out so that the next request has no more messages than the policy says, or null. It begins
 * and ends between rounds: after a user message, before an assistant's.
 */
export function findMiddle(c: Conversation, { messages: { most, head, tail } }: Policy): Cut | null {
  const { messages } = c
  const isOpen = messages.at(-1)?.role === 'assistant' && unanswered(c).length > 0
  const count = messages.length + (isOpen ? 1 : 0)
  if (count <= most) return null
  const from = messages[head - 1]?.role === 'user' ? head : head - 1
  let to = count - tail
  while (to < messages.length && messages[to]?.role !== 'assistant') to++
  return to > from && to < messages.length ? { from, to } : null
}

/**
 * @param path where the messages left out were written
 * @returns the conversation without them. The last message before the gap says so, once, and carries what must not
 * be lost with them: the current request, loaded skills, the todo list
 */
export function leaveOut(c: Conversation, { from, to }: Cut, path: string): Conversation {
  const before = c.messages[from - 1]
  if (before?.role !== 'user') throw new Error(`messages are left out after a user message, not at ${from}`)
  const gone = c.messages.slice(from, to)
  const old = c.snip?.blocks ?? []
  const words = before.content.filter((block) => !old.some((one) => isSame(one, block)))
  const stay = [...c.messages.slice(0, from - 1), { role: 'user' as const, content: words }, ...c.messages.slice(to)]
  const count = (c.snip?.count ?? 0) + gone.length
  const paths = [...new Set([...(c.snip?.paths ?? []), path])]
  const blocks: UserBlock[] = [snipMark(count, paths), ...carriedBlocks(c.carried, stay), ...lostRequest(c, stay)]
  const messages: Message[] = [...stay]
  messages[from - 1] = { role: 'user', content: [...words, ...blocks] }
  const ids = callsIn(gone)
  const freed = tokensOfMessages(gone) + tokensOfBlocks(old) - tokensOfBlocks(blocks)
  return {
    ...c,
    messages,
    snip: { count, paths, blocks },
    saved: c.saved.filter((one) => !ids.has(one.id)),
    weight: { ...c.weight, added: c.weight.added - freed },
  }
}

function callsIn(messages: readonly Message[]): Set<string> {
  return new Set(messages.flatMap(({ content }) => content.flatMap((b) => (b.type === 'tool_use' ? [b.id] : []))))
}

/** The current request where no message that stays has it, and it is not among the words still to be answered. */
function lostRequest(c: Conversation, stay: readonly Message[]): UserBlock[] {
  if (c.request.length === 0 || c.pending.length > 0) return []
  return stay.some((message) => holdsAll(message, c.request)) ? [] : [REQUEST_MARK, ...c.request]
}

/** @returns whether a message has all of these blocks. */
export function holdsAll(message: Message, blocks: readonly UserBlock[]): boolean {
  if (message.role !== 'user') return false
  return blocks.every((block) => message.content.some((one) => isSame(one, block)))
}

function isSame(a: UserBlock, b: UserBlock): boolean {
  if (a === b) return true
  if (a.type === 'text') return b.type === 'text' && a.text === b.text
  return a.type === 'image' && b.type === 'image' && a.source.data === b.source.data
}
