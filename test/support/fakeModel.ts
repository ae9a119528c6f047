/**
 * A Messages API on loopback that answers by a script and refuses invalid requests like the real one.
 *
 *     const model = await startFakeModel({ replies: [reply([call('bash', { command: 'ls' })]), reply('Done.')] })
 *     … run the agent with ANTHROPIC_BASE_URL=model.url and any ANTHROPIC_API_KEY …
 *     expect(model.problems).toEqual([])
 *     expectPrefixStable(model.requests)
 *     await model.close()
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { holdsKey } from './noKey.ts'
import { type Reply, reply } from './replies.ts'
import { messageJson, streamEvents, withIds } from './sse.ts'
import { validateRequest } from './validateRequest.ts'

export { expectPrefixStable, withoutMarks } from './prefix.ts'
export * from './replies.ts'
export { validateRequest } from './validateRequest.ts'

/** The body of a request as the tests read it; the raw text is beside it. */
export interface RequestBody {
  model: string
  max_tokens: number
  system?: string
  tools?: Array<{ name: string; [key: string]: unknown }>
  messages: Array<{ role: 'user' | 'assistant'; content: Array<{ type: string; [key: string]: unknown }> }>
  stream?: boolean
  tool_choice?: { type: string }
  [key: string]: unknown
}

export interface CapturedRequest {
  /** Place among the requests to the Messages endpoint, from 0. */
  n: number
  method: string
  path: string
  headers: IncomingHttpHeaders
  raw: string
  body: RequestBody
  /** Milliseconds of `performance.now()` when the body was whole. */
  arrivedAt: number
  /** Why the request was answered with 400, or null. */
  problem: string | null
}

/** What a script may give: a reply, or a text for a reply of that text. */
export type ScriptedReply = Reply | string

export interface FakeModelOptions {
  /** In order, one a valid request; or a function of the request and the count of valid ones before it. */
  replies: ScriptedReply[] | ((request: CapturedRequest, n: number) => ScriptedReply | Promise<ScriptedReply>)
  /** A prefix of the path, such as `/proxy/anthropic`. */
  prefix?: string
  /** Speaks https with this key and certificate. */
  tls?: { key: string; cert: string }
  /** False where a bench does not want to pay for the check. */
  validate?: boolean
}

export interface FakeModel {
  /** The base URL to give to the agent, without a trailing slash. */
  url: string
  port: number
  /** Every request to the Messages endpoint, invalid ones too. */
  requests: CapturedRequest[]
  /** What was wrong with each request that was answered with 400 by the validator; a test expects []. */
  problems: string[]
  /** TCP connections accepted so far. */
  connections(): number
  /** TCP connections open now. */
  openConnections(): number
  /** Waits until the request with this number (from 0) has arrived. */
  waitForRequest(n: number): Promise<CapturedRequest>
  close(): Promise<void>
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startFakeModel(options: FakeModelOptions): Promise<FakeModel> {
  const requests: CapturedRequest[] = []
  const waiting: Array<() => void> = []
  const thinkingServed = new Map<string, string>()
  let valid = 0
  let ids = 0
  let connections = 0
  let open = 0
  let paused = false

  const nextReply = async (request: CapturedRequest): Promise<Reply> => {
    const n = valid++
    const given = Array.isArray(options.replies) ? options.replies[n] : await options.replies(request, n)
    if (given === undefined) return scriptEnded(n)
    const made = typeof given === 'string' ? reply(given) : given
    return made
  }

  const check = (raw: string, body: RequestBody): string | null => {
    if (holdsKey(raw)) return 'The request body holds the API key.'
    if (options.validate === false) return null
    const problem = validateRequest(raw, { mayEndWithAssistant: paused, mayHaveEmptyThinking: true })
    return problem ?? changedThinking(body, thinkingServed)
  }

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await readAll(incoming)
    const path = (incoming.url ?? '').split('?')[0] ?? ''
    if (path !== `${options.prefix ?? ''}/v1/messages` || incoming.method !== 'POST') {
      return sendError(response, 404, 'not_found_error', `There is no ${incoming.method} ${path} here.`)
    }
    const raw = bytes.toString('utf8')
    const body = parsed(raw)
    const problem = Buffer.from(raw, 'utf8').equals(bytes) ? check(raw, body) : 'The request body is not valid UTF-8.'
    const { method = '', headers } = incoming
    const request = { n: requests.length, method, path, headers, raw, body, arrivedAt: performance.now(), problem }
    requests.push(request)
    for (const wake of waiting.splice(0)) wake()
    if (headers['x-api-key'] === undefined && headers.authorization === undefined)
      return sendError(response, 401, 'authentication_error', 'x-api-key header is required')
    if (problem !== null) return sendError(response, 400, 'invalid_request_error', problem)
    await answer(response, await nextReply(request), request)
  }

  const answer = async (response: ServerResponse, given: Reply, request: CapturedRequest): Promise<void> => {
    switch (given.kind) {
      case 'held':
        await given.until
        return answer(response, given.reply, request)
      case 'hang':
        return
      case 'reset':
        response.socket?.resetAndDestroy()
        return
      case 'raw':
        await sleep(given.delayMs)
        response.writeHead(given.status, given.headers)
        if (given.ends === 'end') response.end(given.body)
        else response.write(given.body, () => response.socket?.destroy())
        return
      case 'message': {
        paused ||= given.options.stop_reason === 'pause_turn'
        for (const block of given.blocks)
          if (block.kind === 'thinking') thinkingServed.set(block.signature, block.thinking)
        const message = withIds(given, () => `toolu_${String(++ids).padStart(4, '0')}`)
        return sendMessage(response, message, `msg_${request.n}`, request.body)
      }
      default:
        return given satisfies never
    }
  }

  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => {})
    incoming.on('error', () => {})
    handle(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else sendError(response, 500, 'api_error', `The script of the fake model failed: ${String(error)}`)
    })
  }
  const server = options.tls === undefined ? createServer(listener) : createSecureServer(options.tls, listener)
  server.on('tlsClientError', () => {})
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    connections += 1
    open += 1
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => {
      open -= 1
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}${options.prefix ?? ''}`,
    port,
    requests,
    get problems() {
      return requests.flatMap((request) =>
        request.problem === null ? [] : [`request ${request.n}: ${request.problem}`],
      )
    },
    connections: () => connections,
    openConnections: () => open,
    async waitForRequest(n) {
      for (;;) {
        const request = requests[n]
        if (request !== undefined) return request
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function sendMessage(
  response: ServerResponse,
  message: Extract<Reply, { kind: 'message' }>,
  id: string,
  body: RequestBody,
): Promise<void> {
  const { options } = message
  await sleep(options.delayMs ?? 0)
  if (options.as === 'json' || body.stream !== true) {
    response.writeHead(200, { 'content-type': options.contentType ?? 'application/json' })
    response.end(JSON.stringify(messageJson(message, id, body.model)))
    return
  }
  response.writeHead(200, {
    'content-type': options.contentType ?? 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'request-id': `req_${id}`,
  })
  response.flushHeaders()
  for (const bytes of chunks(
    streamEvents(message, id, body.model).map((event) => event.bytes),
    options.pieceBytes,
  )) {
    if (response.destroyed) return
    await new Promise<void>((resolve) => response.write(bytes, () => resolve()))
    await sleep(options.chunkDelayMs ?? 0)
  }
  const by = options.cut?.by
  switch (by) {
    case undefined:
    case 'end':
      response.end()
      return
    case 'reset':
      await sleep(20)
      response.socket?.resetAndDestroy()
      return
    case 'destroy':
      await sleep(20)
      response.socket?.destroy()
      return
    case 'stall':
      return
    default:
      by satisfies never
  }
}

function chunks(events: Buffer[], size?: number): Buffer[] {
  if (size === undefined) return events
  const whole = Buffer.concat(events)
  const out: Buffer[] = []
  for (let at = 0; at < whole.length; at += size) out.push(whole.subarray(at, at + size))
  return out
}

/** A thinking block this server gave must come back as it was; the API checks the signature. */
function changedThinking(body: RequestBody, served: Map<string, string>): string | null {
  for (const [at, message] of body.messages.entries()) {
    if (typeof message.content === 'string') continue
    for (const [n, block] of message.content.entries()) {
      if (block.type !== 'thinking') continue
      const where = `messages.${at}.content.${n}`
      const original = served.get(String(block.signature))
      if (original !== undefined && original !== block.thinking)
        return `${where}: Invalid \`signature\` in \`thinking\` block`
      if (original === undefined && block.thinking === '')
        return `${where}.thinking: each thinking block must contain thinking`
    }
  }
  return null
}

function scriptEnded(n: number): Reply {
  const message = `The script of the fake model has no reply for request ${n}: add one, or look why it was sent.`
  return {
    kind: 'raw',
    status: 500,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'error', error: { type: 'api_error', message } }),
    delayMs: 0,
    ends: 'end',
  }
}

function sendError(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error: { type, message } }))
}

function parsed(raw: string): RequestBody {
  try {
    return JSON.parse(raw) as RequestBody
  } catch {
    return { model: '', max_tokens: 0, messages: [] }
  }
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function sleep(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms))
}
