/** TLS connections through a proxy (CONNECT). A file of its own: node:https costs start-up that most runs do not need. */
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect } from 'node:tls'
import { proxyAuthorization } from './proxy.ts'
import { TransportError } from './transportError.ts'

/** An agent for https targets whose connections go through CONNECT; pooled like direct ones. */
export class TunnelAgent extends https.Agent {
  readonly #proxy: URL

  constructor(proxy: URL, options: https.AgentOptions) {
    super(options)
    this.#proxy = proxy
  }

  /** Node takes the connection from the callback, later than this returns. */
  override createConnection(options: TunnelTarget, done?: (error: Error | null, stream: Duplex) => void): undefined {
    const report = done as (error: Error | null, stream?: Duplex) => void
    const host = String(options.host)
    openTunnel(this.#proxy, `${host.includes(':') ? `[${host}]` : host}:${options.port}`).then(
      (socket) => report(null, connect({ ...options, socket, servername: options.servername ?? host })),
      (error: Error) => report(error),
    )
  }
}

type TunnelTarget = https.RequestOptions & ConnectionOptions

function openTunnel(proxy: URL, target: string): Promise<Socket> {
  const place = `${proxy.hostname}:${proxy.port === '' ? '80' : proxy.port}`
  return new Promise((resolve, reject) => {
    const request = (proxy.protocol === 'https:' ? https : http).request({
      hostname: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port,
      method: 'CONNECT',
      path: target,
      agent: false,
      headers: { Host: target, ...proxyAuthorization(proxy) },
    })
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(new TransportError('proxy', `the proxy ${place} answers ${response.statusCode} for ${target}`))
    })
    request.once('error', (error: NodeJS.ErrnoException) =>
      reject(new TransportError('proxy', `the proxy ${place} cannot be used (${error.code ?? error.message})`)),
    )
    request.end()
  })
}
