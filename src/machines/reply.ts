/** What a reply makes of the conversation. Pure; `fold.ts` calls it. */
import { nextInput } from './budget.ts'
import { append, type Conversation, changed, type Failure, type Turn, unanswered, withTurn } from './conversation.ts'
import { tokensOfBlocks } from './estimate.ts'
import type { ReplyRecord } from './journal.ts'
import { type AssistantBlock, addUsage, isBlank, textOf, wellFormed, wholeInput } from './messages.ts'
import { type Round, roundOf } from './round.ts'
import { withSaid } from './turnMemory.ts'

/**
 * One step for all that a reply changes: replies and results are most of a journal, and a resumed session folds
 * thousands of them.
 */
export function takeReply(before: Conversation, record: ReplyRecord): Conversation {
  const counted = { calls: before.turn.calls + 1, text: textOf(record.content), stop_reason: record.stop_reason }
  const c = measure(before, record, counted)
  // A refused reply leaves no trace in the conversation: sent back, it would be refused again and again.
  if (record.stop_reason === 'refusal') return withTurn(c, { failure: failure(REFUSED) })
  const filled = wellFormed(record.content.filter((block) => block.type !== 'text' || !isBlank(block.text)))
  const content = record.stop_reason === 'pause_turn' ? withSoundEnd(filled) : filled
  const round = roundOf(content, record.incomplete)
  const over = round.length === 0 && record.stop_reason !== 'pause_turn'
  const cutReplies = record.incomplete !== undefined && round.length > 0 ? c.turn.cutReplies + 1 : 0
  const answered = withTurn(content.length === 0 ? c : settle(c, content, round), {
    status: over ? 'answered' : 'open',
    cutReplies,
    failure: cutReplies > MAX_CUT_REPLIES ? failure(CUT_TOO_OFTEN) : null,
  })
  return withSaid(answered, 'agent', counted.text)
}

const MAX_CUT_REPLIES = 3
const REFUSED =
  'The model refused to answer this request. Rephrase it and resume the session; the refused reply is not kept.'
const CUT_TOO_OFTEN = `The model's tool calls came cut or broken ${MAX_CUT_REPLIES + 1} times in a row, so nothing of them was run. Ask for smaller steps, or raise the model's output limit, and resume the session.`

/** @param message for the user: a sentence that says what to do next */
export function failure(message: string): Failure {
  return { subtype: 'error_during_execution', message }
}

/**
 * A paused reply is sent back as the end of the conversation, where the API takes neither white space at the end of a
 * text nor thinking with nothing after it.
 */
function withSoundEnd(content: AssistantBlock[]): AssistantBlock[] {
  const last = content.at(-1)
  const before = content.slice(0, -1)
  switch (last?.type) {
    case 'text':
      return [...before, { ...last, text: last.text.trimEnd() }]
    case 'thinking':
    case 'redacted_thinking':
      return withSoundEnd(before)
    default:
      return content
  }
}

/** Puts what the model has now answered, and its answer, among the settled messages. */
function settle(c: Conversation, content: AssistantBlock[], round: Round): Conversation {
  return changed(c, {
    messages: append(append(c.messages, 'user', unanswered(c)), 'assistant', content),
    pending: [],
    round,
    weight: { ...c.weight, added: c.weight.added + tokensOfBlocks(content) },
  })
}

/**
 * The gauge after a reply. A server that reports no input (or 0, as some do) is estimated: what the last call had and
 * what was added since, so that its conversation is compacted some day too.
 */
function measure(c: Conversation, record: ReplyRecord, counted: Partial<Turn>): Conversation {
  const reported = record.measured ? wholeInput(record.usage) : 0
  const gauge = reported > 0 ? reported : nextInput(c)
  const { compaction, usage, api_ms } = c.turn
  const reached = compaction.count > 0 && compaction.reached === null ? gauge : compaction.reached
  const measured = changed(c, {
    gauge,
    weight: { ...c.weight, gauge: reported > 0 ? 'reported' : 'estimated', added: 0 },
    repliesSinceTrim: c.repliesSinceTrim === null ? null : c.repliesSinceTrim + 1,
  })
  return withTurn(measured, {
    ...counted,
    usage: addUsage(usage, record.usage),
    api_ms: api_ms + record.ms,
    compaction: { ...compaction, reached, emergency: 'none' },
  })
}
