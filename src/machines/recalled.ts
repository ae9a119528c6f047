/**
 * The memories that go along with a turn: in each request of that turn, in the same place, and in no message of the
 * conversation. Pure.
 */
import type { Conversation } from './conversation.ts'
import type { RecalledMemory } from './memoryRecords.ts'
import { type Message, type TextBlock, type UserBlock, wellFormed } from './messages.ts'

/** @returns the messages with the turn's memories behind the words they were chosen for; the same where there are none */
export function withRecalled(c: Conversation, messages: Message[]): Message[] {
  const block = recalledBlock(c.turn.memory.recalled ?? [])
  if (block === null || c.request.length === 0) return messages
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]
    const end = message?.role === 'user' ? endOf(c.request, message.content) : null
    if (message?.role !== 'user' || end === null) continue
    const content = [...message.content.slice(0, end), block, ...message.content.slice(end)]
    return messages.with(i, { role: 'user', content })
  }
  return messages
}

/** @returns the place behind the last run of blocks that is the request, null where it is not in the message */
function endOf(request: readonly UserBlock[], content: readonly UserBlock[]): number | null {
  for (let end = content.length; end >= request.length; end--) {
    const from = end - request.length
    if (request.every((block, i) => isSame(block, content[from + i]))) return end
  }
  return null
}

/** Blocks of one request are usually the very same objects; those of a journal read back are equal. */
function isSame(a: UserBlock, b: UserBlock | undefined): boolean {
  if (a === b) return true
  if (a.type === 'text') return b?.type === 'text' && a.text === b.text
  return a.type === 'image' && b?.type === 'image' && a.source.data === b.source.data
}

const INTRO =
  'Notes from earlier sessions that may bear on this request, for reference. The user did not write them now: where they disagree with what the user says or with what you see, they are out of date.'

/** @returns the block of a turn's memories, null where there are none */
export function recalledBlock(memories: readonly RecalledMemory[]): TextBlock | null {
  if (memories.length === 0) return null
  const notes = memories.map(({ file, name, type, text }) => `${name} (${type}, .memory/${file}):\n${text}`)
  const text = [INTRO, ...notes].map(unwrapped).join('\n\n')
  return { type: 'text', text: wellFormed(`<relevant_memories>\n${text}\n</relevant_memories>`) }
}

/** A note must not be able to end its frame and go on as if the user spoke. */
function unwrapped(text: string): string {
  return text.replace(/<(\/?\s*relevant_memories)/gi, (_, tag: string) => `&lt;${tag}`)
}
