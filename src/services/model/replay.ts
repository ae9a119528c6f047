/**
 * `--model replay:<file>`: a model that answers from a recording. Which reply a request gets does not depend on when
 * it comes, since subagents and side calls run side by side.
 */
import type { ReplyRecord } from '../../machines/journal.ts'
import { wholeInput } from '../../machines/messages.ts'
import { count } from '../../machines/words.ts'
import type { ModelOutcome } from '../ports.ts'
import type { Model } from './index.ts'
import {
  describeRequest,
  type RecordedCall,
  type RecordedFailure,
  type RecordedReply,
  type RecordedRequest,
  requestHash,
} from './recording.ts'
import { usageOf } from './reply.ts'

/**
 * @param calls in the order in which they were recorded
 * @param differs told once for each request that is not the recorded one (counted from 1 as they come), and how
 * @returns a model that answers from the recording, and with an error when it holds nothing more for a request
 */
export function createReplayModel(calls: RecordedCall[], differs: (call: number, how: string) => void): Model {
  const left = new Set(calls.keys())
  const told = new Set<string>()
  let count = 0

  const take = (hash: string, parts: RecordedRequest): RecordedCall | undefined => {
    const at = (fits: (call: RecordedCall) => boolean): number | undefined => {
      for (const i of left) if (fits(calls[i] as RecordedCall)) return i
      return undefined
    }
    const place =
      at((call) => call.request_hash === hash) ??
      at((call) => call.request?.kind === parts.kind && call.request.lane === parts.lane) ??
      at((call) => call.request?.kind === parts.kind) ??
      at((call) => call.request === undefined)
    if (place === undefined) return undefined
    left.delete(place)
    return calls[place]
  }

  /** A difference that goes on, such as another directory in the system prompt, is told once. */
  const compare = (n: number, call: RecordedCall, hash: string, parts: RecordedRequest): void => {
    if (call.request_hash === undefined || call.request_hash === hash) return
    const now = differencesOf(call.request, parts)
    const news = now.filter((one) => !told.has(one.key))
    for (const { key } of now) told.add(key)
    if (news.length > 0) differs(n, news.map(({ part }) => part).join(' and '))
  }

  return {
    prepare: () => {},
    close: () => {},
    call: async (request, { signal, observe }): Promise<ModelOutcome> => {
      signal.throwIfAborted()
      const n = ++count
      const hash = requestHash(request)
      const parts = describeRequest(request)
      const call = take(hash, parts)
      if (call === undefined) return failed({ reason: 'api_error', message: exhausted(calls.length, left.size, n) })
      compare(n, call, hash, parts)
      if ('failure' in call) return failed(call.failure)
      const record = recordOf(call.reply, n)
      for (const block of record.content) if (block.type === 'text') observe({ type: 'text', text: block.text })
      return { kind: 'replied', record }
    },
  }
}

/** @returns the name of the model that the recording is of; null where it does not say */
export function recordedModel(calls: readonly RecordedCall[]): string | null {
  return calls.find((call) => call.request !== undefined)?.request?.model ?? null
}

const PARTS = { system: 'its system prompt', tools: 'its tools', messages: 'its messages', rest: 'its limits' } as const

function differencesOf(
  recorded: RecordedRequest | undefined,
  now: RecordedRequest,
): Array<{ part: string; key: string }> {
  if (recorded === undefined)
    return [{ part: 'what is sent', key: `${now.system} ${now.tools} ${now.messages} ${now.rest}` }]
  return (Object.keys(PARTS) as Array<keyof typeof PARTS>).flatMap((name) =>
    recorded[name] === now[name] ? [] : [{ part: PARTS[name], key: `${name} ${recorded[name]} ${now[name]}` }],
  )
}

function exhausted(of: number, left: number, n: number): string {
  if (left === 0) return `The recording holds ${count(of, 'reply', 'replies')} and all of them were played.`
  return `The recording holds no reply to request ${n}: it is of another kind than the ${left} that are left.`
}

function failed(failure: RecordedFailure): ModelOutcome {
  return { kind: 'callFailed', record: { type: 'callFailed', ...failure, ms: 0 } }
}

function recordOf(reply: RecordedReply, n: number): ReplyRecord {
  const usage = usageOf((reply.usage ?? null) as Record<string, number> | null)
  return {
    type: 'reply',
    id: reply.id ?? `recorded_${n}`,
    model: reply.model ?? 'recorded',
    content: reply.content,
    stop_reason: reply.stop_reason,
    usage,
    measured: wholeInput(usage) > 0,
    ms: 0,
    ...(reply.incomplete && { incomplete: reply.incomplete }),
  }
}
