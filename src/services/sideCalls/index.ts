/**
 * Side calls: short questions to the model beside the conversation. They carry no tools, have a small input and
 * output, end in a few seconds whatever the server does, are tried twice at most, and show nothing of themselves to
 * the user. What they cost is in their note, which goes into the journal.
 */
import type { SideCallNote } from '../../machines/memoryRecords.ts'
import { NO_USAGE, textOf } from '../../machines/messages.ts'
import type { SideCallsPort, SideQuestion } from '../memoryPorts.ts'
import type { ModelOutcome, ModelPort, ModelRequest } from '../ports.ts'
import { readJson } from './json.ts'

export interface SideCallOptions {
  model: ModelPort
  /** The model's name. */
  name: string
  /** Most tokens of one reply, whatever a question would like. */
  maxOutputTokens: number
  /** Whether the server knows `output_config.format`: Anthropic's own does, others may refuse it. */
  structured: boolean
  /** Milliseconds since some fixed time. */
  now: () => number
  /** AGENT_SIDE_CALL_MS is read: one limit for every kind of question, for slow servers. */
  env: NodeJS.ProcessEnv
}

/** @returns the side calls of one run */
export function createSideCalls(options: SideCallOptions): SideCallsPort {
  const limit = limitOf(options.env)
  // A model that does not take a schema is asked without one from then on.
  let structured = options.structured
  return {
    async ask(question, signal) {
      const began = options.now()
      const ended = await askInTime(options, question, structured, limit ?? question.limit_ms, signal)
      if (ended.kind === 'replied') structured &&= ended.structured
      const usage = ended.kind === 'replied' ? ended.record.usage : NO_USAGE
      const ms = Math.round(options.now() - began)
      const note = { purpose: question.purpose, usage, ms }
      const useless = (problem: string) => ({ kind: 'useless' as const, note: { ...note, ok: false, problem } })
      if (ended.kind !== 'replied') return useless(ended.why)
      const problem = problemOf(ended.record)
      if (problem !== null) return useless(problem)
      const value = readJson(textOf(ended.record.content), question.read)
      if (value === null) return useless('The reply holds no list of the kind that was asked for.')
      return { kind: 'answered', value, note: { ...note, ok: true } satisfies SideCallNote }
    },
  }
}

type Replied = Extract<ModelOutcome, { kind: 'replied' }>
type Ended = (Replied & { structured: boolean }) | { kind: 'failed'; why: string }

async function askInTime(
  options: SideCallOptions,
  question: SideQuestion<unknown>,
  structured: boolean,
  limitMs: number,
  signal: AbortSignal,
): Promise<Ended> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limitMs)
  try {
    return await tryTwice(options, question, structured, AbortSignal.any([signal, late.signal]))
  } catch (error) {
    if (signal.aborted || !late.signal.aborted) throw error
    return { kind: 'failed', why: `There was no answer within ${limitMs / 1000} seconds.` }
  } finally {
    clearTimeout(timer)
  }
}

/** The one retry goes to a call that may pass the next time, or to one without the schema that was refused. */
async function tryTwice(
  { model, name, maxOutputTokens }: SideCallOptions,
  question: SideQuestion<unknown>,
  structured: boolean,
  signal: AbortSignal,
): Promise<Ended> {
  let retries = 0
  const observe = (event: { type: string }): void => {
    if (event.type === 'retry') retries += 1
  }
  const request = { ...requestOf(question, name), max_tokens: Math.min(question.max_tokens, maxOutputTokens) }
  const first = structured ? { ...request, output_config: configOf(question) } : request
  const outcome = await model.call(first, { signal, observe, maxRetries: 1 })
  if (outcome.kind === 'replied') return { ...outcome, structured }
  const isRefused = structured && outcome.record.status === 400 && retries === 0
  if (!isRefused) return { kind: 'failed', why: outcome.record.message }
  const second = await model.call(request, { signal, observe, maxRetries: 0 })
  if (second.kind === 'replied') return { ...second, structured: false }
  return { kind: 'failed', why: second.record.message }
}

function requestOf({ system, prompt, max_tokens }: SideQuestion<unknown>, model: string): ModelRequest {
  const messages: ModelRequest['messages'] = [{ role: 'user', content: [{ type: 'text', text: prompt }] }]
  return { model, max_tokens, system, tools: [], messages }
}

function configOf({ schema }: SideQuestion<unknown>): NonNullable<ModelRequest['output_config']> {
  return { format: { type: 'json_schema', schema } }
}

function problemOf({ stop_reason }: Replied['record']): string | null {
  if (stop_reason === 'max_tokens') return 'The reply was cut off by its output limit.'
  return stop_reason === 'refusal' ? 'The model refused to answer.' : null
}

function limitOf(env: NodeJS.ProcessEnv): number | null {
  const text = env.AGENT_SIDE_CALL_MS?.trim() ?? ''
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null
}
