/** The kinds of reply that anything can tell apart. */
import type { Conversation } from '../../src/machines/conversation.ts'
import type { ReplyRecord } from '../../src/machines/journal.ts'
import { type AssistantBlock, NO_USAGE } from '../../src/machines/messages.ts'
import { withUniqueIds } from '../../src/machines/uniqueIds.ts'

const text: AssistantBlock = { type: 'text', text: 'here it is' }
const thinking: AssistantBlock = { type: 'thinking', thinking: 'hm', signature: 'sig' }
export type Call = (letter: string, name?: string) => AssistantBlock
type Reply = Partial<ReplyRecord> & { content: AssistantBlock[]; input_tokens?: number }

export const REPLIES = {
  answer: () => ({ content: [text] }),
  longAnswer: () => ({ content: [thinking, text], input_tokens: 2000 }),
  unmeasured: () => ({ content: [text], measured: false, input_tokens: 0 }),
  empty: () => ({ content: [] }),
  cutText: () => ({ content: [text], stop_reason: 'max_tokens' }),
  oneCall: (call) => ({ content: [thinking, text, call('a')], stop_reason: 'tool_use' }),
  twoCalls: (call) => ({ content: [call('a'), call('b')], stop_reason: 'tool_use', input_tokens: 2000 }),
  threeCalls: (call) => ({ content: [text, call('a'), call('b'), call('c')], stop_reason: 'tool_use' }),
  compact: (call) => ({ content: [call('k', 'compact')], stop_reason: 'tool_use' }),
  compactAndCall: (call) => ({ content: [call('k', 'compact'), call('a')], stop_reason: 'tool_use' }),
  cutCall: (call) => ({ content: [call('a')], stop_reason: 'max_tokens', incomplete: { reason: 'cut off' } }),
  brokenCall: (call, id) => ({
    content: [call('a'), call('b')],
    stop_reason: 'tool_use',
    incomplete: { reason: 'not whole', broken: [{ id: id('b'), problem: 'not JSON' }] },
  }),
  refusal: () => ({ content: [text], stop_reason: 'refusal' }),
  pause: () => ({ content: [text], stop_reason: 'pause_turn' }),
} satisfies Record<string, (call: Call, id: (letter: string) => string) => Reply>

/** @returns the record of a reply in this conversation, its ids made unique as the service does */
export function replyRecord({ input_tokens = 100, ...rest }: Reply, c: Conversation): ReplyRecord {
  const record: ReplyRecord = {
    type: 'reply',
    id: 'msg',
    model: 'm',
    stop_reason: 'end_turn',
    usage: { ...NO_USAGE, input_tokens, output_tokens: 10 },
    measured: true,
    ms: 7,
    ...rest,
  }
  return withUniqueIds(record, c.messages)
}
