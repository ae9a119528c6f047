/**
 * The conversation as a fold over the journal.
 *
 * `step` is the only place where a record changes anything: the running machine and a session read back from
 * the store use the same function, so the two cannot drift. Every step is a new value.
 */

import { noteCarried } from './carried.ts'
import { canCompact, keepHistory, shortenUnanswered, takeSummary, tooLong } from './compaction.ts'
import {
  added,
  type Conversation,
  changed,
  charge,
  EMPTY,
  growing,
  newTurn,
  settled,
  type Turn,
  withTurn,
} from './conversation.ts'
import { tokensOfBlocks, tokensOfContext } from './estimate.ts'
import type {
  ContextRecord,
  Denial,
  JournalRecord,
  PromptRecord,
  ResumedRecord,
  TrimmedRecord,
  TurnLimits,
} from './journal.ts'
import { applyStep } from './layers/trim.ts'
import { addUsage, isBlank, NO_USAGE, type ToolResultBlock, type ToolUseBlock, wellFormed } from './messages.ts'
import { forModel, withoutThinking } from './otherModel.ts'
import { failure, takeReply } from './reply.ts'
import { closeRound, finishCall, refusedOf, startCall } from './round.ts'
import { memoryOf, takeRecalled, takeRemembered, tokensOfMemory, withSaid } from './turnMemory.ts'

/** @returns the conversation that a whole journal amounts to. */
export function fold(records: Iterable<JournalRecord>, from: Conversation = EMPTY): Conversation {
  let conversation = from
  for (const record of records) conversation = step(growing(conversation), record)
  return settled(conversation)
}

/** @returns the conversation after one more record; never changes its argument. */
export function step(c: Conversation, record: JournalRecord): Conversation {
  switch (record.type) {
    case 'opened': {
      const { session_id, cwd, model, parent } = record
      return { ...c, session: { session_id, cwd, model, ...(parent && { parent }) } }
    }
    case 'prompt':
      return takePrompt(c, record)
    case 'resumed':
      return record.compact === undefined ? carryOn(c, record) : beginCompaction(c, record.limits, record.compact.focus)
    case 'context':
      return takeContext(c, record)
    case 'reply':
      return takeReply(c, record)
    case 'toolStarted':
      return changed(c, { round: startCall(c.round, record.id) })
    case 'toolFinished':
      return takeResult(c, record)
    case 'callFailed':
      return takeFailedCall(c, record)
    case 'trimmed':
      return takeTrim(c, record)
    case 'compacted': {
      const next = takeSummary(c, record)
      return c.turn.isCompaction ? withTurn(next, { status: 'answered' }) : next
    }
    case 'compactionFailed': {
      const next = keepHistory(c, record)
      return c.turn.isCompaction ? withTurn(next, { failure: failure(record.message) }) : next
    }
    case 'recalled':
      return takeRecalled(c, record)
    case 'remembered':
      return takeRemembered(c, record)
    case 'interrupted':
      return withTurn(c, { interrupted: record.reason })
    case 'fault':
      return withTurn(c, {
        failure: {
          subtype: 'error_during_execution',
          message: `Internal error in ${record.service}: ${record.message}`,
        },
      })
    case 'turnEnded':
      return withTurn(c, {
        status: record.status,
        failure:
          record.subtype === 'success' ? null : { subtype: record.subtype, message: record.message ?? record.subtype },
      })
  }
}

function takeContext(before: Conversation, record: ContextRecord): Conversation {
  const context = tokensOfContext(record)
  const readable = record.without_thinking ? withoutThinking(before) : forModel(before, record.model)
  const c = { ...readable, asked: record.model }
  return added({ ...c, context: record.hash, weight: { ...c.weight, context } }, context - c.weight.context)
}

function takeTrim(c: Conversation, record: TrimmedRecord): Conversation {
  return { ...record.done.reduce(applyStep, c), repliesSinceTrim: 0 }
}

/** Prompts that are kept to know what a short one ("go on") is about. */
const LAST_PROMPTS = 3

function takePrompt(before: Conversation, { text, blocks, limits, memory }: PromptRecord): Conversation {
  const words = blocks
    .filter((block) => block.type !== 'text' || !isBlank(block.text))
    .map((block) => wellFormed(block))
  const closed = { ...before, round: closeRound(before.round) }
  const c = before.turn.compaction.emergency === 'failed' ? shortenUnanswered(closed) : closed
  const pending = [...c.pending, ...words]
  const next: Conversation = {
    ...c,
    pending,
    request: pending,
    prompts: c.prompts + 1,
    firstPrompt: c.prompts === 0 ? text : c.firstPrompt,
    lastPrompts: [...c.lastPrompts, text].slice(-LAST_PROMPTS),
    turn: { ...newTurn('open', limits), memory: memoryOf(before, memory === true) },
  }
  // The last turn's memories are in no request any more.
  const tokens = tokensOfBlocks(words) - tokensOfMemory(before)
  return added(withSaid(next, 'user', text), tokens)
}

/**
 * A turn whose answer was written but not its end needs no further call: it keeps the answer. A paused reply is
 * still to be gone on with, however often the run is started anew.
 */
function carryOn(c: Conversation, { limits, memory: wanted }: ResumedRecord): Conversation {
  const { status, text, stop_reason } = c.turn
  const memory = { ...c.turn.memory, isOn: wanted === true }
  const turn = { ...newTurn(status === 'answered' ? 'answered' : 'open', limits), memory }
  const kept = status === 'answered' ? { text, stop_reason } : stop_reason === 'pause_turn' ? { stop_reason } : {}
  return { ...c, round: closeRound(c.round), turn: { ...turn, ...kept } }
}

/** A turn whose one purpose is the summary. An answered request does not follow it; one that waits still waits. */
function beginCompaction(c: Conversation, limits: TurnLimits, focus: string | null): Conversation {
  const turn = newTurn('open', limits)
  const compaction = { ...turn.compaction, due: { trigger: 'tool' as const, focus } }
  return { ...c, round: closeRound(c.round), request: c.pending, turn: { ...turn, compaction, isCompaction: true } }
}

type ToolFinished = Extract<JournalRecord, { type: 'toolFinished' }>

function takeResult(c: Conversation, record: ToolFinished): Conversation {
  const content = typeof record.content === 'string' && isBlank(record.content) ? '(no output)' : record.content
  const result: ToolResultBlock = {
    type: 'tool_result',
    tool_use_id: record.id,
    content: wellFormed(content),
    ...(record.is_error && { is_error: true }),
  }
  const call = c.round.find((one) => one.call.id === record.id)?.call
  const refused =
    call === undefined ? [] : [...(record.denied === true ? [denialOf(call)] : []), ...(record.denials ?? [])]
  const round = finishCall(c.round, result, refused)
  if (call === undefined) return charge({ ...c, round }, record.usage ?? NO_USAGE, record.api_ms ?? 0)
  // Before `changed`, which may write into `c`.
  const earlier = c.turn.denials.slice(0, c.turn.denials.length - refusedOf(c.round).length)
  const shown = { id: record.id, paths: record.saved ?? [], shown: 'preview' as const }
  const next = changed(c, {
    round,
    saved: record.saved === undefined ? c.saved : [...c.saved, shown],
    carried: noteCarried(c.carried, call, result),
    weight: { ...c.weight, added: c.weight.added + tokensOfBlocks([result]) },
  })
  return withTurn(next, { ...turnChange(next.turn, record, call), denials: [...earlier, ...refusedOf(round)] })
}

function turnChange(turn: Turn, record: ToolFinished, call: ToolUseBlock): Partial<Turn> {
  const isCompact = call.name === 'compact' && !record.is_error
  return {
    usage: record.usage === undefined ? turn.usage : addUsage(turn.usage, record.usage),
    api_ms: turn.api_ms + (record.api_ms ?? 0),
    compaction: isCompact ? { ...turn.compaction, due: { trigger: 'tool', focus: focusOf(call) } } : turn.compaction,
  }
}

function denialOf(call: ToolUseBlock): Denial {
  return { tool_name: call.name, tool_use_id: call.id, tool_input: call.input }
}

function focusOf(call: ToolUseBlock): string | null {
  return typeof call.input.focus === 'string' ? call.input.focus : null
}

type CallFailed = Extract<JournalRecord, { type: 'callFailed' }>

/** An input that is too long is compacted once and tried again; what is still too long then ends the turn. */
function takeFailedCall(before: Conversation, record: CallFailed): Conversation {
  const c = charge(before, record.usage ?? NO_USAGE, record.ms)
  const { compaction } = c.turn
  const counted = { calls: c.turn.calls + 1 }
  if (record.reason !== 'too_long') return withTurn(c, { ...counted, failure: failure(record.message) })
  if (compaction.emergency === 'none' && canCompact(c)) {
    return withTurn(c, { ...counted, compaction: { ...compaction, due: { trigger: 'emergency' } } })
  }
  const failed = { ...compaction, emergency: 'failed' as const }
  return withTurn(c, { ...counted, compaction: failed, failure: failure(tooLong(c, record)) })
}
