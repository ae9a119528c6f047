import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proxyFor } from '../../src/services/model/proxy.ts'
import { raw, reply } from '../support/fakeModel.ts'
import { selfSigned } from '../support/selfSigned.ts'
import { callOnce, closeLater, KEY, modelAt, replied, run, serve } from './modelRig.ts'

interface ProxySeen {
  line: string
  authorization: string | undefined
  key: string | undefined
}

/** A proxy on loopback that leads every host to `port`, and what it was asked for. */
async function startProxy(port: number, refuseWith?: number) {
  const seen: ProxySeen[] = []
  const note = ({ method, url, headers }: IncomingMessage): void => {
    const key = headers['x-api-key']
    seen.push({
      line: `${method} ${url}`,
      authorization: headers['proxy-authorization'],
      key: Array.isArray(key) ? key[0] : key,
    })
  }
  const server = createServer((request, response) => {
    note(request)
    const socket = connect(port, '127.0.0.1')
    const path = new URL(request.url ?? '').pathname
    const { host = '', 'x-api-key': key, 'content-length': length } = request.headers
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${key}\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`,
    )
    request.pipe(socket, { end: false })
    socket.pipe(response.socket as NodeJS.WritableStream)
    response.socket?.on('error', () => socket.destroy())
  })
  server.on('connect', (request: IncomingMessage, socket) => {
    note(request)
    socket.on('error', () => {})
    if (refuseWith !== undefined) return socket.end(`HTTP/1.1 ${refuseWith} No\r\n\r\n`)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const through = connect(port, '127.0.0.1')
    through.on('error', () => socket.destroy())
    socket.on('close', () => through.destroy())
    socket.pipe(through).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeLater({
    close: () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  })
  return { port: (server.address() as AddressInfo).port, seen }
}

describe('a proxy', () => {
  it('gets the whole URL of a plain request, with the user of its own URL', async () => {
    const server = await serve(['Hi'])
    const proxy = await startProxy(server.port)
    const env = { HTTP_PROXY: `http://us%40er:pa%20ss@127.0.0.1:${proxy.port}` }
    const { text } = await callOnce(modelAt('http://models.test:8080/base', { env, retryMs: 0 }))
    expect([text, proxy.seen]).toEqual([
      '',
      [
        {
          line: 'POST http://models.test:8080/base/v1/messages',
          authorization: `Basic ${Buffer.from('us@er:pa ss').toString('base64')}`,
          key: KEY,
        },
      ],
    ])
  })

  it('passes the answer on', async () => {
    const server = await serve(['Hi'])
    const proxy = await startProxy(server.port)
    const env = { http_proxy: `127.0.0.1:${proxy.port}` }
    const { text, record } = await callOnce(modelAt('http://models.test', { env, retryMs: 0 }))
    expect([text, record]).toEqual(['Hi', replied([{ type: 'text', text: 'Hi' }])])
    expect(server.requests[0]?.headers.host).toBe('models.test')
  })

  it('that refuses, or is none, is said at once', async () => {
    const proxy = await startProxy(1, 407)
    const refused = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }
    const { record, seen } = await callOnce(modelAt('https://models.test', { env: refused }))
    expect([record, seen]).toEqual([
      {
        type: 'callFailed',
        reason: 'api_error',
        message: `The model's server could not be used: the proxy 127.0.0.1:${proxy.port} answers 407 for models.test:443.`,
        ms: expect.any(Number),
      },
      [],
    ])
    for (const [value, said] of [
      ['socks5://127.0.0.1:1', 'HTTPS_PROXY names a socks5:// proxy: only http:// and https:// are known'],
      ['http://:x', 'HTTPS_PROXY is not an address: write it as http://host:port'],
    ] as const) {
      const none = await callOnce(modelAt('https://models.test', { env: { HTTPS_PROXY: value } }))
      expect(none.record).toMatchObject({ message: `The model's server could not be used: ${said}.` })
    }
  })

  it.each([
    ['https://api.test', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1/'],
    ['https://api.test', { https_proxy: 'p:1' }, 'http://p:1/'],
    ['https://api.test', { HTTP_PROXY: 'http://p:1' }, null],
    ['http://api.test', { HTTP_PROXY: 'http://p:1' }, 'http://p:1/'],
    ['https://api.test', { HTTPS_PROXY: ' ', https_proxy: 'http://p:1' }, 'http://p:1/'],
    ['https://api.test', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, null],
    ['https://api.test', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'x, .test' }, null],
    ['https://api.test', { HTTPS_PROXY: 'http://p:1', no_proxy: 'api.test:443' }, null],
    ['https://api.test', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'api.test:80' }, 'http://p:1/'],
    ['https://myapi.test', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'api.test' }, 'http://p:1/'],
    ['http://localhost:8080', { HTTP_PROXY: 'http://p:1' }, null],
    ['http://127.0.0.1', { HTTP_PROXY: 'http://p:1' }, null],
    ['http://[::1]:80', { HTTP_PROXY: 'http://p:1' }, null],
  ] as const)('for %s with %j is %s', (url, env, proxy) => {
    expect(proxyFor(new URL(url), env)?.href ?? null).toBe(proxy)
  })
})

describe('an answer over the wire', () => {
  it('is unpacked where a proxy packed it though nobody asked', async () => {
    const json = JSON.stringify({
      id: 'msg_0',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi' }],
    })
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const { record } = await run([raw({ headers, body: gzipSync(json) })])
    expect(record).toMatchObject({ type: 'reply', content: [{ type: 'text', text: 'Hi' }] })
    const page = await run(() => raw({ status: 400, headers, body: gzipSync('{"error":"no"}') }))
    expect(page.record).toMatchObject({ message: 'The API refused the request (400: no).' })
  })

  it('does not wait for a connection that stays open after message_stop', async () => {
    const server = await serve([reply('Hi', { cut: { after: 'message_stop', by: 'stall' } })])
    const { record } = await callOnce(modelAt(server.url, { idleMs: 600_000 }))
    expect(record).toEqual(replied([{ type: 'text', text: 'Hi' }]))
    await expect.poll(() => server.openConnections()).toBe(0)
  })

  it('from a server with a certificate nobody knows is refused at once, and says what to do', async () => {
    const server = await serve(['Hi'], { tls: selfSigned(['127.0.0.1']) })
    const { record, seen } = await callOnce(modelAt(server.url))
    expect([record, seen, server.requests]).toEqual([
      {
        type: 'callFailed',
        reason: 'api_error',
        message: `The model's server could not be used: the certificate of 127.0.0.1:${server.port} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): name the certificate of your organisation's authority in NODE_EXTRA_CA_CERTS.`,
        ms: expect.any(Number),
      },
      [],
      [],
    ])
  })
})

describe('the bundle', () => {
  const entry = `
    import { createModel } from ${JSON.stringify(new URL('../../src/services/model/index.ts', import.meta.url).pathname)}
    const model = createModel({ baseUrl: process.env.BASE_URL, apiKey: ${JSON.stringify(KEY)}, retryMs: 0 })
    const request = { model: 'm', max_tokens: 9, system: '', tools: [], messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }
    const how = { signal: new AbortController().signal, observe: () => {} }
    const first = await model.call(request, how)
    const second = await model.call(request, how)
    model.close()
    const fetchLoaded = process.moduleLoadList.some((name) => name.includes('undici'))
    console.log(JSON.stringify({ records: [first.record, second.record].map((record) => record.content ?? record.message), fetchLoaded }))
  `
  let folder: string
  const certificate = selfSigned(['models.test', '127.0.0.1'])

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'model-bundle-'))
    await writeFile(join(folder, 'cert.pem'), certificate.cert)
    await build({
      stdin: { contents: entry, resolveDir: process.cwd(), loader: 'ts' },
      outfile: join(folder, 'run.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      inject: ['src/services/model/webHeaders.ts'],
      define: { 'globalThis.ReadableStream': 'undefined' },
      logLevel: 'silent',
      banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
    })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Runs the bundle to its end without process.exit: nothing of the model may keep the process alive. */
  async function runBundle(env: Record<string, string>): Promise<unknown> {
    const child = spawn(process.execPath, [join(folder, 'run.mjs')], {
      env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'), ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    const status = await new Promise((resolve) => child.on('close', resolve))
    expect(status).toBe(0)
    return JSON.parse(out)
  }
  const BOTH = [[{ type: 'text', text: 'One' }], [{ type: 'text', text: 'Two' }]]

  it('does without Node’s fetch', async () => {
    const server = await serve(['One', 'Two'])
    expect(await runBundle({ BASE_URL: server.url })).toEqual({ records: BOTH, fetchLoaded: false })
    expect([server.problems, server.connections()]).toEqual([[], 1])
  })

  it('trusts NODE_EXTRA_CA_CERTS', async () => {
    const server = await serve(['One', 'Two'], { tls: certificate })
    expect(await runBundle({ BASE_URL: server.url })).toEqual({ records: BOTH, fetchLoaded: false })
    expect(server.connections()).toBe(1)
  })

  it('goes to a TLS server through one tunnel of a proxy that sees neither key nor request', async () => {
    const server = await serve(['One', 'Two'], { tls: certificate })
    const proxy = await startProxy(server.port)
    const env = { BASE_URL: 'https://models.test:8443', HTTPS_PROXY: `http://user:pass@127.0.0.1:${proxy.port}` }
    expect(await runBundle(env)).toEqual({ records: BOTH, fetchLoaded: false })
    expect(proxy.seen).toEqual([
      {
        line: 'CONNECT models.test:8443',
        authorization: `Basic ${Buffer.from('user:pass').toString('base64')}`,
        key: undefined,
      },
    ])
    expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual([KEY, KEY])
  })
})
