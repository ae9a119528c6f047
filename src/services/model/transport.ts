/**
 * A `fetch` for the SDK over node:http and node:https. Node's own costs 40 MB, start-up, and 140 ms at exit for
 * its idle connections; this one keeps a connection for the run and closes it with the run.
 */
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import { proxyAuthorization, proxyFor } from './proxy.ts'
import { TransportError, transportError } from './transportError.ts'
import { abortError, type WireResponse, wireResponse } from './wireResponse.ts'

/** The part of `RequestInit` that the SDK sets. */
interface WireInit {
  method?: string
  headers?: Iterable<readonly [string, string]> | Record<string, string>
  body?: unknown
  signal?: AbortSignal | null
}

export interface Transport {
  fetch(url: string | URL, init?: WireInit): Promise<WireResponse>
  /** Ends the connections that are kept for later requests. */
  close(): void
}

export interface TransportOptions {
  /** Where the proxy variables are looked up. */
  env: Record<string, string | undefined>
  /** Longest silence in milliseconds in the middle of an answer. */
  idleMs: number
  /** Longest wait in milliseconds for the first byte of an answer. */
  firstByteMs: number
}

/** Idle connections are dropped after this time: middleboxes forget them and say nothing. */
const KEPT_MS = 60_000
/** Longest wait for a TCP and TLS connection. */
const CONNECT_MS = 20_000

/** @returns a transport with connections of its own. */
export function createTransport(options: TransportOptions): Transport {
  const agents = new Map<string, http.Agent>()
  return {
    async fetch(url, init = {}) {
      const target = new URL(url)
      const route = routeTo(target, proxyFor(target, options.env))
      const made = agents.get(route.key) ?? (await route.makeAgent())
      // Of two that were made at the same time one is kept, or `close` would miss the other.
      const agent = agents.get(route.key) ?? made
      agents.set(route.key, agent)
      return send(route, agent, target, init, options)
    },
    close() {
      for (const each of agents.values()) each.destroy()
      agents.clear()
    },
  }
}

/** Where the bytes go, and with which kind of connection. */
interface Route {
  key: string
  makeAgent(): Promise<http.Agent>
  options: http.RequestOptions
  headers: Record<string, string>
}

function routeTo(target: URL, proxy: URL | null): Route {
  const settings = { keepAlive: true, timeout: KEPT_MS }
  // A plain request goes to the proxy itself, with the whole URL as its path; TLS goes through a tunnel.
  const peer = proxy !== null && target.protocol === 'http:' ? proxy : target
  const path = target.pathname + target.search
  return {
    key: `${peer.protocol} ${proxy?.href ?? ''}`,
    makeAgent: async (): Promise<http.Agent> => {
      if (peer.protocol === 'http:') return new http.Agent(settings)
      if (proxy !== null && peer === target) return new (await import('./tunnel.ts')).TunnelAgent(proxy, settings)
      return new (await import('node:https')).Agent(settings)
    },
    options: {
      protocol: peer.protocol,
      hostname: peer.hostname.replace(/^\[|\]$/g, ''),
      port: peer.port,
      path: peer === target ? path : `${target.protocol}//${target.host}${path}`,
      ...(target.username === ''
        ? {}
        : { auth: `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}` }),
    },
    headers: peer === target ? {} : { host: target.host, ...proxyAuthorization(peer) },
  }
}

async function send(
  route: Route,
  agent: http.Agent,
  target: URL,
  init: WireInit,
  options: TransportOptions,
): Promise<WireResponse> {
  const { request: open } = route.options.protocol === 'https:' ? await import('node:https') : http
  const place = target.host
  const body = Buffer.from(String(init.body ?? ''))
  const headers = { ...fields(init.headers), ...route.headers, 'content-length': String(body.length) }
  const signal = init.signal ?? null
  if (signal?.aborted === true) throw abortError(signal)
  return new Promise((resolve, reject) => {
    let request: ClientRequest
    try {
      request = open({ ...route.options, agent, method: init.method ?? 'GET', headers })
    } catch (error) {
      reject(transportError(error, place))
      return
    }
    let answer: IncomingMessage | undefined
    // Once there is an answer, its reader must hear of the reason, not of a connection that was cut.
    const end = (reason: Error): void => {
      ;(answer ?? request).destroy(reason)
    }
    const silence = watchSilence(request, place, options, end)
    const abort = (): void => end(abortError(signal))
    signal?.addEventListener('abort', abort, { once: true })
    request.once('close', () => {
      silence.stop()
      signal?.removeEventListener('abort', abort)
    })
    request.on('error', (error) => {
      reject(error.name === 'AbortError' ? error : transportError(error, place))
    })
    request.once('response', (message) => {
      answer = message
      silence.heard()
      resolve(wireResponse(message, target.href, { place, signal, heard: silence.heard }))
    })
    request.end(body)
  })
}

/** Destroys a request whose connection does not come up, or that hears no byte for too long. */
function watchSilence(
  request: ClientRequest,
  place: string,
  { idleMs, firstByteMs }: TransportOptions,
  end: (reason: Error) => void,
): { heard: () => void; stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const arm = (ms: number, what: string): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      end(new TransportError('idle', `${place} ${what} for ${ms / 1000} seconds`))
    }, ms)
  }
  const unanswered = 'did not answer'
  arm(Math.min(CONNECT_MS, firstByteMs), unanswered)
  request.once('socket', (socket) => {
    const connected = (): void => arm(firstByteMs, unanswered)
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
    else connected()
  })
  return {
    heard: () => arm(idleMs, 'fell silent in the middle of its answer'),
    stop: () => clearTimeout(timer),
  }
}

function fields(headers: WireInit['headers']): Record<string, string> {
  if (headers === undefined) return {}
  return Symbol.iterator in headers ? Object.fromEntries(headers) : { ...headers }
}
