/** What a compaction makes of the conversation, and what one is made for. Pure; `fold.ts` calls it. */
import { carriedBlocks } from './carried.ts'
import { type Conversation, charge, withTurn } from './conversation.ts'
import { firstUnits, messageWithoutImages, withoutImages } from './cut.ts'
import { tokensOfBlocks, tokensOfMessages } from './estimate.ts'
import type { CallFailedRecord, CompactedRecord, CompactionFailedRecord } from './journal.ts'
import { replaceResults } from './layers/results.ts'
import { holdsAll } from './layers/snip.ts'
import { previewOf } from './layers/words.ts'
import { type Message, type UserBlock, wellFormed } from './messages.ts'
import { resultsOf } from './round.ts'
import { summaryMessage } from './summary.ts'

/**
 * The conversation starts anew: the summary, what is carried on (skills, the todo list), the kept tail (an emergency
 * keeps the latest rounds), and the current request word for word, unless it is still to be answered anyway.
 */
export function takeSummary(before: Conversation, record: CompactedRecord): Conversation {
  const charged = charge(before, record.usage, record.ms)
  const c = replaceResults(charged, record.shortened ?? [], 'preview')
  const next = record.kept === 0 ? withoutHistory(c, record) : withTail(c, record)
  const { compaction } = c.turn
  const isEmergency = record.trigger === 'emergency'
  return withTurn(
    {
      ...next,
      gauge: 0,
      weight: { gauge: 'none', context: c.weight.context, added: c.weight.context + sizeOf(next) },
      snip: null,
      compactions: c.compactions + 1,
      repliesSinceTrim: null,
    },
    {
      compaction: {
        due: null,
        reached: null,
        count: compaction.count + 1,
        emergencies: compaction.emergencies + (isEmergency ? 1 : 0),
        emergency: isEmergency ? 'tried' : compaction.emergency,
      },
    },
  )
}

/** A compaction that brought no summary changes nothing of what was said. */
export function keepHistory(c: Conversation, { trigger, message, usage, ms }: CompactionFailedRecord): Conversation {
  return withTurn(charge(c, usage, ms), {
    compaction: { ...c.turn.compaction, due: null },
    // What the model only wished for can fail without harm; a compaction that was needed cannot.
    failure: trigger === 'tool' ? null : { subtype: 'error_during_execution', message },
  })
}

function sizeOf({ messages, round, pending }: Conversation): number {
  return tokensOfMessages(messages) + tokensOfBlocks(resultsOf(round)) + tokensOfBlocks(pending)
}

/** Only the summary is left. A request that is under way follows it; its images have been seen, words stand for them. */
function withoutHistory(c: Conversation, record: CompactedRecord): Conversation {
  const isUnderWay = c.pending.length === 0 && c.request.length > 0
  const pending = isUnderWay ? withoutImages(c.request) : c.pending
  return {
    ...c,
    messages: [{ role: 'user', content: opening(c, record, [], isUnderWay) }],
    round: [],
    pending,
    request: pending,
    saved: [],
  }
}

function withTail(c: Conversation, record: CompactedRecord): Conversation {
  const kept = c.messages.slice(-record.kept).map(messageWithoutImages)
  const request = c.pending.length > 0 ? c.request : withoutImages(c.request)
  const isUnderWay = c.pending.length === 0
  const repeated = isUnderWay && !kept.some((message) => holdsAll(message, request)) ? request : []
  const round = c.round.map((one) =>
    one.state === 'finished' ? { ...one, result: withoutImages([one.result])[0] as typeof one.result } : one,
  )
  const ids = new Set(kept.flatMap(({ content }) => content.flatMap((b) => (b.type === 'tool_use' ? [b.id] : []))))
  return {
    ...c,
    messages: [{ role: 'user', content: [...opening(c, record, kept, isUnderWay), ...repeated] }, ...kept],
    round,
    request,
    saved: c.saved.filter((one) => ids.has(one.id)),
  }
}

function opening(c: Conversation, record: CompactedRecord, kept: Message[], isUnderWay: boolean): UserBlock[] {
  const summary = summaryMessage(wellFormed(record.summary), record.transcript, isUnderWay ? 'underWay' : 'new')
  return [summary, ...carriedBlocks(c.carried, kept)]
}

/** @returns whether a summary could make this conversation shorter: there is more than a summary and the open words. */
export function canCompact({ messages }: Conversation): boolean {
  return messages.length > 1
}

/** @returns the sentences for an input that nothing of ours can make shorter. */
export function tooLong(c: Conversation, { message }: CallFailedRecord): string {
  const next = canCompact(c)
    ? 'It is still too long after a compaction. Resume the session with a new prompt: what was not answered is then sent in a shorter form.'
    : 'There is no history to compact, so it is the prompt itself: make it shorter, or name large files by their path instead of attaching them.'
  return `${message} ${next}`
}

/** UTF-16 units of a text that was too long to be answered and is sent again only in part. */
const SHORTENED = 2_000

/**
 * @returns the conversation with what no reply has answered made short: the session goes on although its last input
 * was too long. Long results and words show their beginning, images become marks
 */
export function shortenUnanswered(c: Conversation): Conversation {
  const round = c.round.map((one) => {
    if (one.state !== 'finished') return one
    const content = withoutImages([one.result]).map((block) => shortResult(block as typeof one.result))[0]
    return content === undefined ? one : { ...one, result: content }
  })
  return { ...c, round, pending: withoutImages(c.pending).map(shortWords) }
}

function shortResult(result: Extract<UserBlock, { type: 'tool_result' }>): typeof result {
  const isLong = tokensOfBlocks([result]) * 4 > SHORTENED * 2
  return isLong ? { ...result, content: previewOf(result.content, []) } : result
}

function shortWords(block: UserBlock): UserBlock {
  if (block.type !== 'text' || block.text.length <= SHORTENED) return block
  const shown = firstUnits(block.text, SHORTENED)
  const rest = block.text.length - shown.length
  return { type: 'text', text: `${shown}\n[${rest} more characters were too long for the model and are left out.]` }
}
