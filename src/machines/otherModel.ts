/**
 * Thinking is signed for the model that thought: another one refuses it for ever ("Invalid `signature` in `thinking`
 * block"), so it goes where the model changes. Pure.
 */
import type { Conversation } from './conversation.ts'
import type { AssistantBlock, Message } from './messages.ts'

/** Stands for a reply that was nothing but thinking: no message may be empty. */
const ONLY_THINKING = '(nothing but thinking)'

/**
 * @param model the one that is asked next
 * @returns the conversation as that one may see it: as it is where the last call asked the same or there was none
 */
export function forModel(c: Conversation, model: string): Conversation {
  if (c.asked === null || c.asked === model || !c.messages.some(hasThinking)) return c
  return { ...c, messages: c.messages.map((message) => (hasThinking(message) ? withoutThinking(message) : message)) }
}

function hasThinking({ role, content }: Message): boolean {
  return role === 'assistant' && content.some(isThinking)
}

function isThinking({ type }: { type: string }): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** The message stays where it is: others are counted by their place. */
function withoutThinking(message: Message): Message {
  if (message.role === 'user') return message
  const content: AssistantBlock[] = message.content.filter((block) => !isThinking(block))
  return { ...message, content: content.length > 0 ? content : [{ type: 'text', text: ONLY_THINKING }] }
}
