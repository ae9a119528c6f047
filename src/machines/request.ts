/** From the conversation to the messages of a request. Requests are derived, never stored. Pure. */
import { append, type Conversation, unanswered } from './conversation.ts'
import type { Message, TextBlock, UserBlock } from './messages.ts'
import { withRecalled } from './recalled.ts'
import { resultsOf } from './round.ts'

/** @returns the messages of the next turn's request. Valid by construction where no call is open (contract.md, 4). */
export function requestMessages(c: Conversation): Message[] {
  return withRecalled(c, append(c.messages, 'user', unanswered(c)))
}

/**
 * @param kept how many messages at the end are kept word for word, and so need no summary
 * @returns what a summary is about: the conversation so far, results included, the words still to be answered left
 * out, since they are carried on as they are
 */
export function summarised(c: Conversation, kept = 0): Message[] {
  return kept === 0 ? append(c.messages, 'user', resultsOf(c.round)) : c.messages.slice(0, -kept)
}

/** @returns the messages of a request for a summary: what it is about, and what asks for it at the end */
export function summaryMessages(c: Conversation, ask: TextBlock, kept = 0): Message[] {
  // Of a turn under way the request is the one that the server has in its cache.
  const about = c.pending.length === 0 ? withRecalled(c, summarised(c, kept)) : summarised(c, kept)
  return append(about, 'user', [ask])
}

/**
 * Marks the last block of the last two user messages for the prompt cache (contract.md, 4): the newest prefix is
 * written, the one before it read. Only copies are marked.
 */
export function withCacheMarks(messages: Message[]): Message[] {
  const marked = [...messages]
  let left = 2
  for (let i = marked.length - 1; i >= 0 && left > 0; i--) {
    const message = marked[i]
    if (message?.role !== 'user') continue
    marked[i] = { role: 'user', content: markLast(message.content) }
    left--
  }
  return marked
}

function markLast(content: UserBlock[]): UserBlock[] {
  return content.map((block, i) =>
    i === content.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block,
  )
}
