/**
 * Scripts for the fake Messages API: what it answers, and the faults a test wants.
 */

/** One content block of a scripted reply, with the pieces its deltas are cut into. */
export type ReplyBlock =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; thinking: string; signature: string }
  | { kind: 'redacted'; data: string }
  /** `json` is the text streamed as input_json_delta, null for no delta at all; `input` is used in plain JSON answers. */
  | { kind: 'call'; name: string; id: string | null; json: string | null; input: unknown }
  /** Any block the agent may not know; sent as it stands, without deltas. */
  | { kind: 'raw'; block: Record<string, unknown> }

export type UsageScript = Record<string, unknown> | null

/** The places where a stream can break, counted over the whole reply: after the first event that matches. */
export type StreamPoint =
  | 'headers'
  | 'message_start'
  | 'block_start'
  | 'text_delta'
  | 'json_delta'
  | 'thinking_delta'
  | 'block_stop'
  | 'message_delta'
  | 'message_stop'

export interface MessageOptions {
  /** Default: `tool_use` where there is a call, else `end_turn`. null is sent as null. */
  stop_reason?: string | null
  /** Default: small round numbers. null: no usage anywhere, as some servers do. */
  usage?: UsageScript
  id?: string
  model?: string
  /** `json`: a plain JSON answer although a stream was asked for. */
  as?: 'sse' | 'json'
  /** Overrides the content type of the answer. */
  contentType?: string
  /** Before the headers. */
  delayMs?: number
  /** Between two events (or two pieces, with `pieceBytes`). */
  chunkDelayMs?: number
  /** Writes the stream in pieces of so many bytes, whatever characters they cut through. */
  pieceBytes?: number
  /** Length of each text/JSON/thinking delta in characters; default: a third of the whole. */
  deltaChars?: number
  /** A ping after every event. */
  pings?: boolean
  /** Ends the stream early: `end` closes it properly, `reset` sends RST, `destroy` drops the socket, `stall` falls silent. */
  cut?: { after: StreamPoint; by: 'end' | 'reset' | 'destroy' | 'stall' }
  /** An error event in the stream after status 200. */
  errorEvent?: { after: StreamPoint; type: string; message: string }
}

/** What the fake API does with one request. */
export type Reply =
  | { kind: 'message'; blocks: ReplyBlock[]; options: MessageOptions }
  | {
      kind: 'raw'
      status: number
      headers: Record<string, string>
      body: string | Uint8Array
      delayMs: number
      /** What follows the body: a proper end, or a dropped socket (for a Content-Length larger than the body). */
      ends: 'end' | 'destroy'
    }
  /** Never a byte. */
  | { kind: 'hang' }
  /** TCP RST instead of an answer. */
  | { kind: 'reset' }
  | { kind: 'held'; reply: Reply; until: Promise<void> }

/** A reply the server keeps back until `release()`. */
export type HeldReply = Extract<Reply, { kind: 'held' }> & { release(): void }

export const text = (value: string): ReplyBlock => ({ kind: 'text', text: value })
export const thinking = (value: string, signature = 'c2lnbmF0dXJl'): ReplyBlock => ({
  kind: 'thinking',
  thinking: value,
  signature,
})
export const redacted = (data: string): ReplyBlock => ({ kind: 'redacted', data })
/** A tool call; without an id the server gives it one that is unique over the server's life. */
export const call = (name: string, input: Record<string, unknown>, id: string | null = null): ReplyBlock => ({
  kind: 'call',
  name,
  id,
  json: JSON.stringify(input),
  input,
})
/** A tool call whose input is streamed as exactly this text; null: not one input_json_delta. */
export const callWithJson = (name: string, json: string | null, id: string | null = null): ReplyBlock => ({
  kind: 'call',
  name,
  id,
  json,
  input: json === null ? {} : parsedOr(json),
})
export const rawBlock = (block: Record<string, unknown>): ReplyBlock => ({ kind: 'raw', block })

/** A message of these blocks; a string is a text block. */
export const reply = (blocks: string | Array<ReplyBlock | string>, options: MessageOptions = {}): Reply => ({
  kind: 'message',
  blocks: (typeof blocks === 'string' ? [blocks] : blocks).map((block) =>
    typeof block === 'string' ? text(block) : block,
  ),
  options,
})

/** An error as the API words it. */
export const apiError = (status: number, type: string, message: string, headers: Record<string, string> = {}): Reply =>
  raw({
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_fake' }),
  })

/** Any bytes with any status and headers. */
export const raw = (answer: {
  status?: number
  headers?: Record<string, string>
  body?: string | Uint8Array
  delayMs?: number
  ends?: 'end' | 'destroy'
}): Reply => ({
  kind: 'raw',
  status: answer.status ?? 200,
  headers: answer.headers ?? {},
  body: answer.body ?? '',
  delayMs: answer.delayMs ?? 0,
  ends: answer.ends ?? 'end',
})

export const hang = (): Reply => ({ kind: 'hang' })
export const reset = (): Reply => ({ kind: 'reset' })
/** Content-Length says more than comes. */
export const shortBody = (body: string, missing = 100): Reply =>
  raw({
    headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body) + missing) },
    body,
    ends: 'destroy',
  })

/** Keeps a reply back until the test calls `release()`. */
export function held(inner: Reply | string): HeldReply {
  let release: () => void = () => {}
  const until = new Promise<void>((resolve) => {
    release = resolve
  })
  return { kind: 'held', reply: typeof inner === 'string' ? reply(inner) : inner, until, release }
}

function parsedOr(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}
