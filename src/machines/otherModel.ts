/**
 * Thinking is signed for the model that thought: another one refuses it for ever ("Invalid `signature` in `thinking`
 * block"), so it goes where the model changes, or where the server refuses it all the same. Pure.
 */
import type { Conversation } from './conversation.ts'
import type { CallFailedRecord } from './journal.ts'
import type { AssistantBlock, Message } from './messages.ts'

/** Stands for a reply that was nothing but thinking: no message may be empty. */
const ONLY_THINKING = '(nothing but thinking)'

/**
 * @param model the one that is asked next
 * @returns the conversation as that one may see it: as it is where the last call asked the same or there was none
 */
export function forModel(c: Conversation, model: string): Conversation {
  return c.asked === null || c.asked === model ? c : withoutThinking(c)
}

/** @returns the conversation without any thinking; the same where there is none */
export function withoutThinking(c: Conversation): Conversation {
  if (!c.messages.some(hasThinking)) return c
  return { ...c, messages: c.messages.map((message) => (hasThinking(message) ? bare(message) : message)) }
}

/** @returns whether the server refused the thinking of earlier replies, as after a change of account or gateway */
export function refusesThinking({ status, message }: CallFailedRecord): boolean {
  return status === 400 && /thinking/i.test(message) && /signature|cannot be modified/i.test(message)
}

function hasThinking({ role, content }: Message): boolean {
  return role === 'assistant' && content.some(isThinking)
}

function isThinking({ type }: { type: string }): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** The message stays where it is: others are counted by their place. */
function bare(message: Message): Message {
  if (message.role === 'user') return message
  const content: AssistantBlock[] = message.content.filter((block) => !isThinking(block))
  return { ...message, content: content.length > 0 ? content : [{ type: 'text', text: ONLY_THINKING }] }
}
