/**
 * Scripts for the fake Messages API: what it answers, event by event and, where a test wants a fault, byte by byte.
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

const DEFAULT_USAGE = {
  input_tokens: 100,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 10,
}

/** One server-sent event, with the points of the stream it stands for. */
export interface StreamEvent {
  points: StreamPoint[]
  bytes: Buffer
}

type Message = Extract<Reply, { kind: 'message' }>

/** Gives every call without an id one made by `nextId`. */
export function withIds(message: Message, nextId: () => string): Message {
  return {
    ...message,
    blocks: message.blocks.map((block) =>
      block.kind === 'call' && block.id === null ? { ...block, id: nextId() } : block,
    ),
  }
}

/** @returns the message as one JSON object, as a server gives it that does not stream. */
export function messageJson(message: Message, id: string, model: string): Record<string, unknown> {
  const { options } = message
  return {
    id: options.id ?? id,
    type: 'message',
    role: 'assistant',
    model: options.model ?? model,
    content: message.blocks.map(wholeBlock),
    stop_reason: stopReason(message),
    stop_sequence: null,
    ...(options.usage === null ? {} : { usage: options.usage ?? DEFAULT_USAGE }),
  }
}

/** @returns the events of a stream, cut and broken where the script says so. */
export function streamEvents(message: Message, id: string, model: string): StreamEvent[] {
  const { options } = message
  const usage = options.usage === null ? null : (options.usage ?? DEFAULT_USAGE)
  const start = { ...messageJson(message, id, model), content: [], stop_reason: null }
  const events: StreamEvent[] = [
    event('message_start', { message: usage === null ? start : { ...start, usage: { ...usage, output_tokens: 1 } } }, [
      'message_start',
    ]),
  ]
  message.blocks.forEach((block, index) => {
    events.push(...blockEvents(block, index, options))
  })
  events.push(
    event(
      'message_delta',
      {
        delta: { stop_reason: stopReason(message), stop_sequence: null },
        ...(usage === null ? {} : { usage: { output_tokens: usage.output_tokens } }),
      },
      ['message_delta'],
    ),
  )
  events.push(event('message_stop', {}, ['message_stop']))
  return broken(options.pings === true ? events.flatMap((each) => [each, event('ping', {}, [])]) : events, options)
}

function broken(events: StreamEvent[], options: MessageOptions): StreamEvent[] {
  const { cut, errorEvent } = options
  if (errorEvent !== undefined) {
    const { type, message } = errorEvent
    return [...upTo(events, errorEvent.after), event('error', { error: { type, message } }, [])]
  }
  return cut === undefined ? events : upTo(events, cut.after)
}

function upTo(events: StreamEvent[], point: StreamPoint): StreamEvent[] {
  if (point === 'headers') return []
  const at = events.findIndex((each) => each.points.includes(point))
  if (at === -1) throw new Error(`The scripted reply has no ${point} to stop after.`)
  return events.slice(0, at + 1)
}

function blockEvents(block: ReplyBlock, index: number, options: MessageOptions): StreamEvent[] {
  const start = (content_block: unknown) => event('content_block_start', { index, content_block }, ['block_start'])
  const stop = event('content_block_stop', { index }, ['block_stop'])
  const deltas = (value: string, point: StreamPoint, make: (piece: string) => Record<string, unknown>) =>
    pieces(value, options.deltaChars).map((piece) =>
      event('content_block_delta', { index, delta: make(piece) }, [point]),
    )
  switch (block.kind) {
    case 'text':
      return [
        start({ type: 'text', text: '' }),
        ...deltas(block.text, 'text_delta', (piece) => ({ type: 'text_delta', text: piece })),
        stop,
      ]
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        ...deltas(block.thinking, 'thinking_delta', (piece) => ({ type: 'thinking_delta', thinking: piece })),
        event('content_block_delta', { index, delta: { type: 'signature_delta', signature: block.signature } }, []),
        stop,
      ]
    case 'call':
      return [
        start({ type: 'tool_use', id: block.id, name: block.name, input: {} }),
        ...(block.json === null
          ? []
          : deltas(block.json, 'json_delta', (piece) => ({ type: 'input_json_delta', partial_json: piece }))),
        stop,
      ]
    case 'redacted':
    case 'raw':
      return [start(wholeBlock(block)), stop]
    default:
      return block satisfies never
  }
}

function wholeBlock(block: ReplyBlock): Record<string, unknown> {
  switch (block.kind) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking, signature: block.signature }
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data }
    case 'call':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input }
    case 'raw':
      return block.block
    default:
      return block satisfies never
  }
}

function stopReason(message: Message): string | null {
  const { stop_reason } = message.options
  if (stop_reason !== undefined) return stop_reason
  return message.blocks.some((block) => block.kind === 'call') ? 'tool_use' : 'end_turn'
}

function event(name: string, data: Record<string, unknown>, points: StreamPoint[]): StreamEvent {
  return { points, bytes: Buffer.from(`event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`) }
}

/** Cuts a text into deltas at character borders; the empty text is one empty delta, as servers send it. */
function pieces(value: string, size?: number): string[] {
  const characters = [...value]
  const step = Math.max(1, size ?? Math.ceil(characters.length / 3))
  const out: string[] = []
  for (let at = 0; at < characters.length; at += step) out.push(characters.slice(at, at + step).join(''))
  return out.length === 0 ? [''] : out
}

function parsedOr(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}
