/**
 * Recorded model replies: one JSON object a line. `createReplayModel` plays them against real tools.
 *
 *     {"request_hash"?: string, "request"?: RecordedRequest, "reply": <message of the Messages API>}
 *     {"request_hash"?: string, "request"?: RecordedRequest, "failure": {reason, message, status?}}
 */
import { createHash } from 'node:crypto'
import type { CallFailedRecord, Incomplete, ReplyRecord } from '../../machines/journal.ts'
import type { AssistantBlock, UserBlock } from '../../machines/messages.ts'
import type { ModelRequest, Result } from '../ports.ts'

/** A message as the API gives it; fields that a server may leave out are optional. */
export interface RecordedReply {
  id?: string
  model?: string
  content: AssistantBlock[]
  stop_reason: string | null
  usage?: Partial<ReplyRecord['usage']>
  /** Why none of its calls ran. */
  incomplete?: Incomplete
}

export type RecordedFailure = Omit<CallFailedRecord, 'type' | 'ms'>

/** What a request was, as far as a replay must know it: hashes, since its text may be secret. */
export interface RecordedRequest {
  /** The name of the model that was called. */
  model: string
  /** Hash of the tools' names: tells the conversation, subagents and side calls apart in any directory. */
  kind: string
  /** Hash of the first user message: tells the conversations of one kind apart. */
  lane: string
  system: string
  tools: string
  messages: string
  /** Everything else: `max_tokens`, `tool_choice`. */
  rest: string
}

export type RecordedCall = { request_hash?: string; request?: RecordedRequest } & (
  | { reply: RecordedReply }
  | { failure: RecordedFailure }
)

/** @returns what names a request in a recording: a hash over what is sent but the model's name and the cache marks */
export function requestHash({ model: _, output_config: __, ...request }: ModelRequest): string {
  return hashOf(request)
}

/** @returns the request's hashes, part by part */
export function describeRequest(request: ModelRequest): RecordedRequest {
  const { model, system, tools, messages, output_config: _, ...rest } = request
  return {
    model,
    kind: hashOf(tools.map(({ name }) => name)),
    lane: hashOf((messages[0]?.content as UserBlock[] | undefined)?.filter((block) => block.type === 'text') ?? []),
    system: hashOf(system),
    tools: hashOf(tools),
    messages: hashOf(messages),
    rest: hashOf(rest),
  }
}

/** Which server is asked decides on `output_config`, so it is no part of what is compared. */
function hashOf(value: unknown): string {
  const text = JSON.stringify(value, (key, part: unknown) => (key === 'cache_control' ? undefined : part))
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
    const value = JSON.parse(line) as { reply?: Partial<RecordedReply>; failure?: Partial<RecordedFailure> } | null
    const isReply = Array.isArray(value?.reply?.content)
    const isFailure = typeof value?.failure?.message === 'string'
    return isReply || isFailure ? (value as RecordedCall) : null
  } catch {
    return null
  }
}
