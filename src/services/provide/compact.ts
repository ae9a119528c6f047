/**
 * The `compact` service: asks the model for a summary over the very request it knows (same system, tools and
 * messages, so it is served from the prompt cache) and never lets a useless one replace the history.
 */
import type { Conversation } from '../../machines/conversation.ts'
import type { CompactedRecord } from '../../machines/journal.ts'
import { addUsage, isBlank, NO_USAGE, textOf, type Usage } from '../../machines/messages.ts'
import type { CompactInput, CompactOutcome } from '../../machines/outcomes.ts'
import { summaryMessages, withCacheMarks } from '../../machines/request.ts'
import { summaryRequest } from '../../machines/summary.ts'
import type { ModelOutcome, RequestContext } from '../ports.ts'
import { currentContext } from './callModel.ts'
import type { RunDeps } from './deps.ts'

type Attempt = { kind: 'summary'; text: string } | { kind: 'useless'; why: string }

export async function compact(deps: RunDeps, input: CompactInput, signal: AbortSignal): Promise<CompactOutcome> {
  const { conversation, trigger, report } = input
  const context = await currentContext(deps, conversation, report)
  const began = deps.now()
  let usage: Usage = NO_USAGE
  let why = ''
  // A changed tool_choice throws the cached messages away, so only the second try forbids tools outright.
  for (const choice of ['free', 'none'] as const) {
    const outcome = await ask(deps, conversation, context, choice, signal)
    if (outcome.kind === 'replied') usage = addUsage(usage, outcome.record.usage)
    const attempt = judge(outcome)
    if (attempt.kind === 'summary') {
      const record: CompactedRecord = {
        type: 'compacted',
        trigger,
        summary: attempt.text,
        kept: 0,
        transcript: null,
        before_tokens: conversation.gauge,
        usage,
        ms: deps.now() - began,
      }
      return { kind: 'compacted', record }
    }
    why = attempt.why
    if (outcome.kind === 'callFailed') break
  }
  const message = `The conversation could not be compacted: ${why} It is unchanged; resume the session to try again.`
  return {
    kind: 'compactionFailed',
    record: { type: 'compactionFailed', trigger, message, usage, ms: deps.now() - began },
  }
}

function ask(
  deps: RunDeps,
  conversation: Conversation,
  context: RequestContext,
  choice: 'free' | 'none',
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const due = conversation.turn.compaction.due
  const focus = due?.trigger === 'tool' ? due.focus : null
  return deps.model.call(
    {
      model: deps.session.model,
      max_tokens: deps.maxOutputTokens,
      system: context.system,
      tools: context.tools,
      messages: withCacheMarks(summaryMessages(conversation, summaryRequest(focus))),
      ...(choice === 'none' && { tool_choice: { type: 'none' as const } }),
    },
    // The summary is no answer: nobody sees it stream, but its retries are visible.
    { signal, observe: (event) => (event.type === 'retry' ? deps.observe(event) : undefined) },
  )
}

function judge(outcome: ModelOutcome): Attempt {
  if (outcome.kind === 'callFailed') return { kind: 'useless', why: outcome.record.message }
  const { content, stop_reason } = outcome.record
  const text = textOf(content)
  if (stop_reason === 'refusal') return { kind: 'useless', why: 'the model refused to summarise it.' }
  if (stop_reason === 'max_tokens') return { kind: 'useless', why: 'the summary was cut off by the output limit.' }
  if (isBlank(text)) {
    const called = content.some((block) => block.type === 'tool_use')
    return { kind: 'useless', why: called ? 'the model called a tool instead.' : 'the summary was empty.' }
  }
  return { kind: 'summary', text }
}
