/** The request that belongs to a step, made again from the journal by the functions that made it in the run. */
import { dueCompaction } from '../../machines/budget.ts'
import type { Conversation } from '../../machines/conversation.ts'
import { planEmergency } from '../../machines/emergency.ts'
import type { ContextRecord } from '../../machines/journal.ts'
import type { Message, ToolSpec } from '../../machines/messages.ts'
import { forModel } from '../../machines/otherModel.ts'
import { requestMessages, summaryMessages, withCacheMarks } from '../../machines/request.ts'
import { summaryRequest } from '../../machines/summary.ts'
import type { SessionView } from './view.ts'
import type { RequestParts } from './wire.ts'

/** A request as the server of the model got it. */
export interface StepRequest {
  kind: RequestParts['kind']
  model: string
  max_tokens: number | null
  system: string
  tools: ToolSpec[]
  messages: Message[]
}

/**
 * @param n a transition. Where it brought a reply, the request that was answered; where the model is being called, the
 *   one under way; else the one that would be sent now
 * @returns null before system prompt and tools were known, and where a question beside the conversation was asked,
 *   whose words are not in the journal
 */
export function requestAt(view: SessionView, n: number): StepRequest | null {
  const transition = view.transition(n)
  switch (transition?.record?.type) {
    case 'reply':
    case 'callFailed':
      return made('sent', view.contextAt(n), sent(view.conversationAt(n - 1)))
    case 'compacted':
    case 'compactionFailed':
      return made('summary', view.contextAt(n), summary(view.conversationAt(n - 1)))
    case 'recalled':
    case 'remembered':
      return null
  }
  const state = view.stateAt(n)
  // What the call carries is recorded as soon as the state is entered.
  const next = view.transition(n + 1)?.record
  const context = next?.type === 'context' ? next : view.contextAt(n)
  const before = view.conversationAt(n)
  const conversation = context === null ? before : forModel(before, context.model)
  if (state === 'compacting') return made('summary', context, summary(conversation))
  return made(state === 'calling' ? 'next' : 'wouldBe', context, sent(conversation))
}

/** @returns the body as it went over the wire; without what the journal does not know */
export function bodyOf({ model, max_tokens, system, tools, messages }: StepRequest): object {
  return {
    model,
    ...(max_tokens !== null && { max_tokens }),
    ...(system !== '' && { system }),
    ...(tools.length > 0 && { tools }),
    messages,
    stream: true,
  }
}

function made(kind: StepRequest['kind'], context: ContextRecord | null, messages: Message[]): StepRequest | null {
  if (context === null || messages.length === 0) return null
  const { model, system, tools, max_tokens = null } = context
  return { kind, model, max_tokens, system, tools, messages }
}

function sent(conversation: Conversation): Message[] {
  return withCacheMarks(requestMessages(conversation))
}

/** The first request of a compaction; a second try asks in other words, which the journal does not keep. */
function summary(conversation: Conversation): Message[] {
  const { kept } = dueCompaction(conversation) === 'emergency' ? planEmergency(conversation) : { kept: 0 }
  const { due } = conversation.turn.compaction
  const focus = due?.trigger === 'tool' ? due.focus : null
  return withCacheMarks(summaryMessages(conversation, summaryRequest(focus, { keepsTail: kept > 0 }), kept))
}
