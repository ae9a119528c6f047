/**
 * Recorded model replies: one JSON object a line, `{"request_hash"?: string, "reply": <message of the Messages API>}`.
 * `createReplayModel` plays them, one a call in their order, against real tools.
 */
import { createHash } from 'node:crypto'
import type { ReplyRecord } from '../../machines/journal.ts'
import type { AssistantBlock } from '../../machines/messages.ts'
import type { ModelRequest, Result } from '../ports.ts'
import type { Model } from './index.ts'

/** A message as the API gives it; fields that a server may leave out are optional. */
export interface RecordedReply {
  id?: string
  model?: string
  content: AssistantBlock[]
  stop_reason: string | null
  usage?: Partial<ReplyRecord['usage']>
}

export interface RecordedCall {
  request_hash?: string
  reply: RecordedReply
}

/** @returns what names a request in a recording: a hash over what is sent but the model's name and the cache marks */
export function requestHash({ model: _, ...request }: ModelRequest): string {
  const text = JSON.stringify(request, (key, value: unknown) => (key === 'cache_control' ? undefined : value))
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** @returns the calls of a recording, or which line is wrong and how */
export function parseRecording(text: string): Result<RecordedCall[]> {
  const calls: RecordedCall[] = []
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const call = parseLine(line)
    if (call === null) return { ok: false, message: `Line ${i + 1} of the recording is no recorded reply.` }
    calls.push(call)
  }
  if (calls.length === 0) return { ok: false, message: 'The recording holds no reply.' }
  return { ok: true, value: calls }
}

function parseLine(line: string): RecordedCall | null {
  try {
    const value = JSON.parse(line) as Partial<RecordedCall> | null
    return Array.isArray(value?.reply?.content) ? (value as RecordedCall) : null
  } catch {
    return null
  }
}

/**
 * @param differs told once for each call whose request is not the recorded one (counted from 1)
 * @returns a model that answers from the recording, and with an error when it is at its end
 */
export function createReplayModel(calls: RecordedCall[], differs: (call: number) => void): Model {
  let next = 0
  return {
    prepare: () => {},
    close: () => {},
    call: async (request, { signal, observe }) => {
      signal.throwIfAborted()
      const recorded = calls[next]
      if (recorded === undefined) {
        const message = `The recording holds ${calls.length} replies and all of them were played.`
        return { kind: 'callFailed', record: { type: 'callFailed', reason: 'api_error', message, ms: 0 } }
      }
      next++
      if (recorded.request_hash !== undefined && recorded.request_hash !== requestHash(request)) differs(next)
      const record = recordOf(recorded.reply, next)
      for (const block of record.content) if (block.type === 'text') observe({ type: 'text', text: block.text })
      return { kind: 'replied', record }
    },
  }
}

function recordOf(reply: RecordedReply, n: number): ReplyRecord {
  const { usage } = reply
  return {
    type: 'reply',
    id: reply.id ?? `recorded_${n}`,
    model: reply.model ?? 'recorded',
    content: reply.content,
    stop_reason: reply.stop_reason,
    usage: {
      input_tokens: usage?.input_tokens ?? 0,
      output_tokens: usage?.output_tokens ?? 0,
      cache_creation_input_tokens: usage?.cache_creation_input_tokens ?? 0,
      cache_read_input_tokens: usage?.cache_read_input_tokens ?? 0,
    },
    measured: usage?.input_tokens !== undefined,
    ms: 0,
  }
}
