/** The answer of a server, in the few members of the web's `Response` that the SDK and we read. */
import type { IncomingMessage } from 'node:http'
import { transportError } from './transportError.ts'
import { Headers } from './webHeaders.ts'

export interface WireResponse {
  status: number
  statusText: string
  ok: boolean
  url: string
  headers: Headers
  /** The decoded bytes; ends with a TransportError where the connection breaks or falls silent. */
  body: AsyncIterable<Uint8Array>
  text(): Promise<string>
  json(): Promise<unknown>
}

export interface Listening {
  /** `host:port` for messages. */
  place: string
  signal: AbortSignal | null
  /** Called with every piece that arrives. */
  heard(): void
}

/** @returns the answer whose status line and headers have arrived; its body is read as it comes. */
export function wireResponse(message: IncomingMessage, url: string, listening: Listening): WireResponse {
  const status = message.statusCode ?? 0
  const headers = new Headers(
    Object.entries(message.headers).flatMap(
      ([name, value]): Array<[string, string]> =>
        value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
  const body = bytes(message, listening, headers.get('content-encoding') ?? 'identity')
  const text = async (): Promise<string> => {
    const parts: Uint8Array[] = []
    for await (const part of body) parts.push(part)
    return Buffer.concat(parts).toString('utf8')
  }
  return {
    status,
    statusText: message.statusMessage ?? '',
    ok: status >= 200 && status < 300,
    url,
    headers,
    body,
    text,
    json: async () => JSON.parse(await text()) as unknown,
  }
}

/** The bytes of an answer as they come; leaving the loop early drops the connection. */
async function* bytes(
  message: IncomingMessage,
  { place, signal, heard }: Listening,
  encoding: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of message) {
      heard()
      yield chunk as Uint8Array
    }
  }
  try {
    yield* encoding === 'identity' ? source() : await unpacked(source(), encoding)
  } catch (error) {
    if (signal?.aborted === true) throw abortError(signal)
    throw transportError(error, place)
  } finally {
    message.destroy()
  }
}

/** We ask for no compression; some proxies compress all the same. */
async function unpacked(source: AsyncIterable<Uint8Array>, encoding: string): Promise<AsyncIterable<Uint8Array>> {
  const { createBrotliDecompress, createUnzip } = await import('node:zlib')
  const { pipeline } = await import('node:stream')
  return pipeline(source, encoding === 'br' ? createBrotliDecompress() : createUnzip(), () => {})
}

/** @returns what an aborted promise rejects with: the signal's reason where it is an AbortError, else a new one. */
export function abortError(signal: AbortSignal | null): Error {
  const reason: unknown = signal?.reason
  if (reason instanceof Error && reason.name === 'AbortError') return reason
  const error = new Error('The call was interrupted.')
  error.name = 'AbortError'
  return error
}
