/** From a scripted reply to what goes over the wire: one JSON object, or the events of a stream. */
import type { MessageOptions, Reply, ReplyBlock, StreamPoint } from './replies.ts'

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
