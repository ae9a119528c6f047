/**
 * The summary of a conversation: asked for over the very request the model knows, so that it is served from the
 * prompt cache; over less where that is too long. A useless summary is never taken.
 */
import type { Conversation } from '../../machines/conversation.ts'
import { tokensOfMessages, tokensOfText } from '../../machines/estimate.ts'
import { historyText, textSummaryMessages } from '../../machines/historyText.ts'
import { addUsage, isBlank, type Message, NO_USAGE, textOf, type Usage } from '../../machines/messages.ts'
import { refusesThinking } from '../../machines/otherModel.ts'
import { summarised, summaryMessages, withCacheMarks } from '../../machines/request.ts'
import { summaryRequest } from '../../machines/summary.ts'
import type { ModelOutcome, ModelRequest } from '../ports.ts'
import type { RunDeps } from './deps.ts'

export type Summarised = { usage: Usage } & ({ kind: 'summary'; text: string } | { kind: 'useless'; why: string })

/** Tries of a summary that the model gives, but that is of no use. */
const TRIES = 2
/** Times that a history which is too long is told shorter, each half as long as before. */
const SHORTENINGS = 5
/** A summary up to this many tokens is never too long, however short the conversation is. */
const SHORT_ENOUGH = 2_500

export interface Subject {
  conversation: Conversation
  /** Messages at its end that stay as they are. */
  kept: number
  focus: string | null
}

type Form = { kind: 'asSent' } | { kind: 'text'; units: number }

/**
 * Asks for a summary, again where it is useless, over less where the request is too long.
 * @param base what all requests of the run have in common
 * @returns the summary, or why none was good, with the usage of all tries; rejects when `signal` aborts
 */
export async function summarise(
  deps: RunDeps,
  base: Pick<ModelRequest, 'model' | 'max_tokens' | 'system' | 'tools'>,
  subject: Subject,
  signal: AbortSignal,
): Promise<Summarised> {
  const about = summarised(subject.conversation, subject.kept)
  let form: Form = { kind: 'asSent' }
  let usage: Usage = NO_USAGE
  let again: string | null = null
  for (let useless = 0, shortenings = 0; ; ) {
    const request: ModelRequest = {
      ...base,
      messages: messagesFor(subject, form, again, about),
      // A changed tool_choice throws the cached messages away, so only the second try forbids tools outright.
      ...(useless > 0 && { tool_choice: { type: 'none' as const } }),
    }
    // The summary is no answer: nobody sees it stream, but its retries are visible.
    const outcome = await deps.model.call(request, {
      signal,
      observe: (event) => (event.type === 'retry' ? deps.observe(event) : undefined),
    })
    usage = addUsage(usage, outcome.record.usage ?? NO_USAGE)
    if (outcome.kind === 'callFailed') {
      const { reason, message } = outcome.record
      // Told as text, a history has no thinking that a server could refuse.
      const isThinkingRefused: boolean = form.kind === 'asSent' && refusesThinking(outcome.record)
      if (!isThinkingRefused && (reason !== 'too_long' || shortenings === SHORTENINGS))
        return { kind: 'useless', why: message, usage }
      form = isThinkingRefused ? { kind: 'text', units: Number.MAX_SAFE_INTEGER } : shorter(form, about)
      shortenings++
      continue
    }
    const judged = judge(outcome, about)
    if (judged.kind === 'summary' || ++useless === TRIES) return { ...judged, usage }
    again = judged.why
  }
}

/** @returns the messages of the first request for a summary */
export function firstMessages(subject: Subject): Message[] {
  return messagesFor(subject, { kind: 'asSent' }, null, [])
}

function messagesFor(subject: Subject, form: Form, again: string | null, about: Message[]): Message[] {
  const { conversation, kept, focus } = subject
  const ask = summaryRequest(focus, { keepsTail: kept > 0, again })
  const isAsSent = form.kind === 'asSent'
  return withCacheMarks(
    isAsSent ? summaryMessages(conversation, ask, kept) : textSummaryMessages(historyText(about, form.units), ask),
  )
}

function shorter(form: Form, about: Message[]): Form {
  const told = form.kind === 'text' ? form.units : historyText(about, Number.MAX_SAFE_INTEGER).length
  return { kind: 'text', units: Math.max(2_000, Math.floor(told / 2)) }
}

function judge(
  { record: { content, stop_reason } }: Extract<ModelOutcome, { kind: 'replied' }>,
  about: Message[],
): { kind: 'summary'; text: string } | { kind: 'useless'; why: string } {
  const text = textOf(content)
  if (stop_reason === 'refusal') return { kind: 'useless', why: 'the model refused to summarise it.' }
  if (stop_reason === 'max_tokens') return { kind: 'useless', why: 'the summary was cut off by the output limit.' }
  if (isBlank(text)) {
    const called = content.some((block) => block.type === 'tool_use')
    return { kind: 'useless', why: called ? 'the model called a tool instead.' : 'the summary was empty.' }
  }
  const length = tokensOfText(text)
  if (length > SHORT_ENOUGH && length > tokensOfMessages(about))
    return { kind: 'useless', why: 'the summary was longer than what it stands for.' }
  return { kind: 'summary', text }
}
