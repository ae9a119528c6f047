/** The inspector's server: loopback only, read-only, one page and what it asks for. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../machines/errorText.ts'
import { HEADERS, judge } from './guard.ts'
import type { Inspector } from './inspector.ts'
import { createLive } from './live.ts'
import type { Page } from './page.ts'
import { chartOf } from './rows.ts'
import type { Veil } from './veil.ts'

export interface InspectServer {
  /** What a person opens: `http://127.0.0.1:<port>/?token=…`. */
  address: string
  close(): Promise<void>
}

export interface ServerOptions {
  inspector: Inspector
  page: Page
  session_id: string
  warn: (message: string) => void
}

/** What is asked of the session, without the way it came. */
interface Query {
  id: string
  n: number
  from: number
  words: string
  numbers: number[]
  veil: Veil
}

export async function startServer({ inspector, page, session_id, warn }: ServerOptions): Promise<InspectServer> {
  const token = randomBytes(24).toString('base64url')
  const live = createLive(inspector, warn)
  let port = 0

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const url = addressOf(request.url ?? '/')
    const verdict = judge(request, url, port, token)
    if (verdict.kind === 'refused') sendText(response, verdict.status, verdict.message)
    else if (url.pathname === '/') sendPage(response, page)
    else if (url.pathname === '/api/live') stream(response, request.method === 'HEAD')
    else sendAnswer(response, answerTo(url.pathname, queryOf(url, session_id), inspector))
  }
  const stream = (response: ServerResponse, isHead: boolean): void => {
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' })
    if (isHead) response.end()
    else live.add(response)
  }

  const server = createServer((request, response) => {
    response.on('error', () => {})
    try {
      handle(request, response)
    } catch (error) {
      warn(messageOf(error))
      if (response.headersSent) response.destroy()
      else sendText(response, 500, 'The step could not be shown; agent inspect says why.')
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  port = (server.address() as AddressInfo).port
  return {
    address: `http://127.0.0.1:${port}/?token=${token}`,
    close: () =>
      new Promise((resolve) => {
        live.close()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** What is no address (`//`) leads nowhere, and has no token. */
function addressOf(text: string): URL {
  const base = 'http://127.0.0.1'
  return URL.canParse(text, base) ? new URL(text, base) : new URL('/nowhere', base)
}

/** @returns undefined where nothing has this path, null where the session has no such part */
function answerTo(path: string, query: Query, inspector: Inspector): object | null | undefined {
  const { id, n, from, words, numbers, veil } = query
  switch (path) {
    case '/api/index':
      return inspector.index(id, from, veil)
    case '/api/chart':
      return chartOf()
    case '/api/lanes':
      return inspector.lanes(veil)
    case '/api/step':
      return inspector.step(id, n, veil)
    case '/api/request':
      return inspector.body(id, n, veil)
    case '/api/messages':
      return inspector.messages(numbers, veil)
    case '/api/search':
      return inspector.search(id, words, veil)
    default:
      return undefined
  }
}

function queryOf({ searchParams: given }: URL, session_id: string): Query {
  const number = (name: string): number => {
    const text = given.get(name) ?? ''
    return /^\d{1,9}$/.test(text) ? Number(text) : 0
  }
  return {
    id: given.get('s') ?? session_id,
    n: number('n'),
    from: number('from'),
    words: given.get('q') ?? '',
    numbers: (given.get('ids') ?? '')
      .split(',')
      .filter((one) => /^\d{1,9}$/.test(one))
      .map(Number),
    veil: given.get('veil') === 'all' ? 'all' : 'tokens',
  }
}

function sendPage(response: ServerResponse, { html, policy }: Page): void {
  response.writeHead(200, {
    ...HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
  })
  response.end(html)
}

function sendAnswer(response: ServerResponse, answer: object | null | undefined): void {
  if (answer === undefined) sendText(response, 404, 'There is nothing here.')
  else if (answer === null) sendText(response, 404, 'This session has no such step.')
  else sendJson(response, answer)
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { ...HEADERS, 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(value))
}

function sendText(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' })
  response.end(`${message}\n`)
}
