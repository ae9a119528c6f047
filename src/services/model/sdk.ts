/**
 * The official SDK, in the parts a call needs: authentication, headers, error classes and the SSE reader. A file of
 * its own, imported lazily, so that the bundle leaves out the other endpoints and start-up does not wait for it.
 */
import { BaseAnthropic } from '@anthropic-ai/sdk/client'
import { Stream } from '@anthropic-ai/sdk/core/streaming'
import type { Transport } from './transport.ts'

export interface Server {
  baseUrl: string
  apiKey: string | null
  authToken: string | null
}

/** Longest time the SDK waits for headers; our transport's silence limits end a call long before. */
const NEVER_MS = 2_000_000_000

export type Client = BaseAnthropic

/** @returns a client that never retries, logs or traces: retries are ours, and logs would hold headers. */
export function createClient(server: Server, transport: Transport): Client {
  // As the API documents it: a key in x-api-key, a token as a bearer. The SDK would send both as a bearer, which
  // gateways and local servers that know the documented header do not take.
  const auth =
    server.apiKey === null
      ? { authToken: server.authToken }
      : { apiKey: server.apiKey, defaultHeaders: { 'x-api-key': server.apiKey, authorization: null } }
  return new BaseAnthropic({
    ...auth,
    baseURL: server.baseUrl,
    webhookKey: null,
    maxRetries: 0,
    timeout: NEVER_MS,
    logLevel: 'off',
    openTelemetry: false,
    fetch: transport.fetch as unknown as typeof fetch,
  })
}

/** One server-sent event: its name, where it has one, and its data as text. */
export interface RawEvent {
  event: string | null
  data: string
}

/** @returns the server-sent events in a stream of bytes; characters cut by a chunk's border are put together. */
export function rawEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<RawEvent> {
  return Stream.rawEvents({ body } as unknown as Response) as AsyncGenerator<RawEvent>
}
