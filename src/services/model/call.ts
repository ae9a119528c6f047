/** One model call: tries, the waits between them, and the record it ends in. */
import { performance } from 'node:perf_hooks'
import type { CallFailedRecord } from '../../machines/journal.ts'
import { count } from '../../machines/words.ts'
import type { ModelOutcome, ModelPort, ModelRequest, Observe } from '../ports.ts'
import { attempt } from './attempt.ts'
import type { Draft } from './draft.ts'
import { type Failure, failureOf, type Subject } from './failure.ts'
import { createPatience, type Verdict } from './patience.ts'
import { redactor } from './redact.ts'
import { replyRecord, usageOf } from './reply.ts'
import { createClient, rawEvents } from './sdk.ts'
import { createTransport } from './transport.ts'
import { abortError } from './wireResponse.ts'

/** Everything a call needs to know, settled once. */
export interface Settled {
  baseUrl: string
  apiKey: string | null
  authToken: string | null
  idleMs: number
  firstByteMs: number
  retryMs: number
  env: Record<string, string | undefined>
}

type CallOptions = Parameters<ModelPort['call']>[1]
type Tried = { kind: 'whole'; draft: Draft } | { kind: 'failed'; failure: Failure; silentMs: number; shown: boolean }

/** @returns the calls of one run over shared connections. */
export function createCaller(settled: Settled): { call: ModelPort['call']; close(): void } {
  const transport = createTransport(settled)
  const client = createClient(settled, transport)
  const redact = redactor([settled.apiKey, settled.authToken])

  const tryOnce = async (body: string, subject: Subject, { signal, observe }: CallOptions): Promise<Tried> => {
    let heardAt = performance.now()
    let shown = false
    const onBytes = (): void => {
      heardAt = performance.now()
    }
    const onText = (text: string): void => {
      shown = true
      observe({ type: 'text', text })
    }
    try {
      return { kind: 'whole', draft: await attempt({ client, rawEvents, body, signal, onText, onBytes }) }
    } catch (error) {
      if (signal.aborted) throw abortError(signal)
      const failure = failureOf(error, subject)
      const told = { ...failure, message: redact(failure.message) }
      return { kind: 'failed', failure: told, silentMs: performance.now() - heardAt, shown }
    }
  }

  const call: ModelPort['call'] = async (request, options) => {
    const startedAt = performance.now()
    const spent = (): number => Math.round(performance.now() - startedAt)
    const body = bodyOf(request)
    const subject = subjectOf(request, settled)
    const patience = createPatience(settled.retryMs, Math.random)
    for (let attempts = 1; ; attempts++) {
      if (options.signal.aborted) throw abortError(options.signal)
      const tried = await tryOnce(body, subject, options)
      if (tried.kind === 'whole') return outcomeOf(tried.draft, request, spent())
      if (tried.shown) options.observe({ type: 'textDiscarded' })
      const { failure } = tried
      if (failure.kind !== 'passing') return failed(failure, sentence(failure.message), spent())
      const verdict = patience.judge(failure, tried.silentMs, performance.now())
      if (verdict.kind === 'giveUp' || attempts > (options.maxRetries ?? Number.POSITIVE_INFINITY))
        return failed(failure, givenUp(failure, verdict, attempts, spent()), spent())
      announce(options.observe, attempts, verdict.ms, failure)
      await wait(verdict.ms, options.signal)
    }
  }
  return { call, close: () => transport.close() }
}

/** The body as it goes over the wire. The order of the keys is fixed: servers cache by exact prefix. */
function bodyOf({ model, max_tokens, system, tools, messages, tool_choice, output_config }: ModelRequest): string {
  return JSON.stringify({
    model,
    max_tokens,
    ...(system === '' ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(tool_choice === undefined || tools.length === 0 ? {} : { tool_choice }),
    messages,
    ...(output_config === undefined ? {} : { output_config }),
    stream: true,
  })
}

function subjectOf({ model }: ModelRequest, { apiKey, baseUrl }: Settled): Subject {
  return { model, baseUrl, keyVariable: apiKey === null ? 'ANTHROPIC_AUTH_TOKEN' : 'ANTHROPIC_API_KEY' }
}

function outcomeOf(draft: Draft, request: ModelRequest, ms: number): ModelOutcome {
  if (draft.stop_reason === 'model_context_window_exceeded') {
    const message = 'The conversation has filled the context window of the model (model_context_window_exceeded).'
    const usage = usageOf(draft.usage)
    return { kind: 'callFailed', record: { type: 'callFailed', reason: 'too_long', message, status: 200, usage, ms } }
  }
  return { kind: 'replied', record: replyRecord(draft, request, ms) }
}

function failed(failure: Failure, message: string, ms: number): ModelOutcome {
  const record: CallFailedRecord = {
    type: 'callFailed',
    reason: failure.kind === 'too_long' ? 'too_long' : 'api_error',
    message,
    ...(failure.status === null ? {} : { status: failure.status }),
    ms,
  }
  return { kind: 'callFailed', record }
}

function announce(observe: Observe, attempts: number, delayMs: number, failure: Failure): void {
  observe({ type: 'retry', attempt: attempts, delay_ms: delayMs, status: failure.status, error: failure.message })
}

function givenUp(failure: Failure, verdict: Verdict, attempts: number, ms: number): string {
  if (verdict.kind === 'giveUp' && verdict.because === 'retryAfter') {
    const at = new Date(Date.now() + verdict.ms).toISOString().replace(/\.\d+Z$/, 'Z')
    return `${sentence(failure.message)} The server says to wait ${count(Math.ceil(verdict.ms / 1000), 'second')}, until ${at}, which is longer than a run waits: resume the session then.`
  }
  const tries = attempts === 1 ? 'once' : `${attempts} times in ${(ms / 1000).toFixed(1)} seconds`
  return `${sentence(failure.message)} It was tried ${tries}; the session is kept and can be resumed.`
}

/** The API's own words, which a message ends with, may bring a full stop of their own. */
function sentence(message: string): string {
  return `${message.replace(/[.\s]+$/, '')}.`
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(abortError(signal))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
