/** The `callModel` service: the request derived from the conversation and the real state, and the reply to it. */
import type { Conversation } from '../../machines/conversation.ts'
import type { ContextRecord } from '../../machines/journal.ts'
import { forModel, refusesThinking, withoutThinking } from '../../machines/otherModel.ts'
import type { CallInput, CallOutcome, Report } from '../../machines/outcomes.ts'
import { requestMessages, withCacheMarks } from '../../machines/request.ts'
import { withUniqueIds } from '../../machines/uniqueIds.ts'
import type { ModelRequest, RequestContext } from '../ports.ts'
import type { RunDeps } from './deps.ts'

/** @returns the reply, its ids unique in the conversation, or why there is none; rejects when `signal` aborts */
export async function callModel(deps: RunDeps, input: CallInput, signal: AbortSignal): Promise<CallOutcome> {
  const { conversation, report } = input
  const context = await currentContext(deps, conversation, report, signal)
  const call = (c: Conversation) => deps.model.call(requestOf(deps, context, c), { signal, observe: deps.observe })
  let outcome = await call(conversation)
  const readable = withoutThinking(conversation)
  if (outcome.kind === 'callFailed' && refusesThinking(outcome.record) && readable !== conversation) {
    const error = `${outcome.record.message} It is tried again without the thinking of earlier replies.`
    deps.observe({ type: 'retry', attempt: 1, delay_ms: 0, status: outcome.record.status ?? null, error })
    await noteContext(deps, { ...recordOf(deps, context), without_thinking: true }, report)
    outcome = await call(readable)
  }
  if (outcome.kind === 'callFailed') return outcome
  const record = withUniqueIds(outcome.record, conversation.messages)
  deps.observe({ type: 'reply', record, parent_tool_use_id: deps.session.parent?.tool_use_id ?? null })
  return { kind: 'replied', record }
}

/** @returns the request that asks for the next reply */
export function requestOf(deps: RunDeps, context: RequestContext, conversation: Conversation): ModelRequest {
  return {
    ...baseOf(deps, context),
    messages: withCacheMarks(requestMessages(forModel(conversation, deps.session.model))),
  }
}

/** @returns what all requests of the run have in common */
export function baseOf(
  deps: RunDeps,
  { system, tools }: RequestContext,
): Pick<ModelRequest, 'model' | 'max_tokens' | 'system' | 'tools'> {
  return { model: deps.session.model, max_tokens: deps.maxOutputTokens, system, tools }
}

/** Reads system and tools from the real state and records them where they are not what the last call used. */
export async function currentContext(
  deps: RunDeps,
  conversation: Conversation,
  report: Report,
  signal: AbortSignal,
): Promise<RequestContext> {
  const context = await deps.context.read()
  // The turn may be over by now, and nothing follows its end in a journal.
  signal.throwIfAborted()
  const record = recordOf(deps, context)
  if (record.hash !== conversation.context) await noteContext(deps, record, report)
  return context
}

function recordOf(deps: RunDeps, { hash, system, tools }: RequestContext): ContextRecord {
  return {
    type: 'context',
    hash: `${deps.session.model} ${deps.maxOutputTokens} ${hash}`,
    model: deps.session.model,
    max_tokens: deps.maxOutputTokens,
    system,
    tools,
  }
}

async function noteContext(deps: RunDeps, record: ContextRecord, report: Report): Promise<void> {
  await deps.recorder.note(deps.state(), record)
  report({ type: 'contextRead', record })
}
