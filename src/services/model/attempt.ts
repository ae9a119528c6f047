/** One try of a model call: sends the body, reads the answer whatever its form, ends in a whole draft or throws. */
import { wellFormed } from '../../machines/messages.ts'
import { type Draft, draftOf, emptyDraft, isObject, takeEvent } from './draft.ts'
import { ErrorObject, NoMessage, readable } from './failure.ts'
import type { Client, RawEvent } from './sdk.ts'
import type { WireResponse } from './wireResponse.ts'

export interface Attempt {
  client: Client
  rawEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<RawEvent>
  /** The request body as JSON text. */
  body: string
  signal: AbortSignal
  onText(text: string): void
  /** Called whenever bytes arrive. */
  onBytes(): void
}

/** How long the end of a stream is waited for after its last event: a connection read to its end can be used again. */
const DRAIN_MS = 100

/**
 * @returns a whole draft
 * @throws the SDK's errors, TransportError, ErrorObject, NoMessage; an AbortError after `signal`
 */
export async function attempt(given: Attempt): Promise<Draft> {
  // The SDK's listener on a signal lives as long as the signal: it gets one that ends with the try.
  const ending = new AbortController()
  const abort = (): void => ending.abort(given.signal.reason)
  given.signal.addEventListener('abort', abort, { once: true })
  try {
    if (given.signal.aborted) abort()
    const response = await post(given, ending.signal)
    return await read(response, given)
  } finally {
    given.signal.removeEventListener('abort', abort)
    ending.abort()
  }
}

async function post({ client, body }: Attempt, signal: AbortSignal): Promise<WireResponse> {
  // Text with a content type goes over the wire as it is; an object would make the SDK look at Blob, FormData and
  // ReadableStream, which loads all of Node's fetch.
  const headers = { 'content-type': 'application/json' }
  const response = await client.post('/v1/messages', { body, headers, signal, stream: true }).asResponse()
  return response as unknown as WireResponse
}

async function read(response: WireResponse, given: Attempt): Promise<Draft> {
  const { form, body } = await sniff(response, given)
  if (form === 'events') return readEvents(given.rawEvents(body), response.status, given)
  const text = await collect(body)
  const draft = form === 'json' ? readJson(text) : null
  if (draft === null)
    throw new NoMessage(
      response.status,
      `The server answered ${response.status} with something that is no message: ${readable(text)}`,
    )
  for (const block of draft.blocks) if (block.type === 'text' && block.text !== '') given.onText(wellFormed(block.text))
  return draft
}

/** Tells by its first character what an answer is: servers answer a stream request with plain JSON, under any type. */
async function sniff(
  response: WireResponse,
  { onBytes }: Attempt,
): Promise<{ form: 'events' | 'json' | 'other'; body: AsyncIterable<Uint8Array> }> {
  const rest = told(response.body, onBytes)
  const seen: Uint8Array[] = []
  let start = ''
  while (start === '') {
    const { value, done } = await rest.next()
    if (done === true) break
    seen.push(value)
    start = Buffer.concat(seen)
      .toString('latin1')
      .replace(/^\xef\xbb\xbf/, '')
      .trimStart()
  }
  const events = /^(event|data|id|retry|:)/.test(start) || isEventStream(response)
  const form = start.startsWith('{') ? 'json' : start !== '' && events ? 'events' : 'other'
  return { form, body: joined(seen, rest) }
}

function isEventStream(response: WireResponse): boolean {
  return (response.headers.get('content-type') ?? '').toLowerCase().includes('text/event-stream')
}

async function* joined(seen: Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* seen
  yield* rest
}

async function* told(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<Uint8Array, void> {
  for await (const piece of body) {
    onBytes()
    yield piece
  }
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

function readJson(text: string): Draft | null {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return null
  }
  if (isObject(value) && (value.type === 'error' || (value.error !== undefined && value.content === undefined)))
    throw new ErrorObject(value)
  return draftOf(value)
}

async function readEvents(events: AsyncGenerator<RawEvent>, status: number, given: Attempt): Promise<Draft> {
  const draft = emptyDraft()
  const show = wholeCharacters(given.onText)
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    const { event, data } = next.value
    if (data === '' || data === '[DONE]') continue
    show(takeEvent(draft, parsed(event, data, status)))
    if (draft.whole) {
      await drained(events)
      return draft
    }
  }
  throw new NoMessage(status, `The server answered ${status}, and the answer ended before it was whole`)
}

function parsed(event: string | null, data: string, status: number): unknown {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    if (event === 'ping') return null
    throw new NoMessage(status, `The stream of the server holds something that is not JSON: ${readable(data)}`)
  }
  if (event === 'error' || (isObject(value) && value.type === 'error')) throw new ErrorObject(value)
  return value
}

async function drained(events: AsyncGenerator<RawEvent>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, DRAIN_MS)
  })
  const rest = (async (): Promise<void> => {
    for (;;) if ((await events.next()).done === true) return
  })()
  // The reply is whole: how the connection ends no longer matters.
  await Promise.race([rest.catch(() => {}), late])
  clearTimeout(timer)
}

/** Passes text on without ever ending in half a surrogate pair. */
function wholeCharacters(pass: (text: string) => void): (text: string) => void {
  let half = ''
  return (added) => {
    const text = half + added
    const last = text.charCodeAt(text.length - 1)
    const cut = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length
    half = text.slice(cut)
    if (cut > 0) pass(wellFormed(text.slice(0, cut)))
  }
}
