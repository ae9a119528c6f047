/** Starts `agent inspect` as a user does, and asks what it serves. */
import { request } from 'node:http'
import { onTestFinished } from 'vitest'
import { type Ended, ended, type RunOptions, startAgent } from './agent.ts'

export interface Inspecting {
  /** The printed address. */
  address: string
  token: string
  port: number
  /** Asks as the page does. */
  get<T>(path: string, query?: Record<string, string | number>): Promise<T>
  /** Ends it. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

/** @param args what follows `agent inspect` */
export async function startInspect(args: string[], options: RunOptions): Promise<Inspecting> {
  const child = startAgent(['inspect', '--no-open', ...args], options)
  const end = ended(child)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await end
  })
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()))
    end.then(({ stderr }) => reject(new Error(`agent inspect ended: ${stderr}`)), reject)
  })
  const url = new URL(address)
  const token = url.searchParams.get('token') ?? ''
  return {
    address,
    token,
    port: Number(url.port),
    async get<T>(path: string, query: Record<string, string | number> = {}) {
      const text = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
      const response = await fetch(new URL(`${path}?${new URLSearchParams([['token', token], ...text])}`, address))
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as T
    },
    stop: (signal = 'SIGTERM') => {
      child.kill(signal)
      return end
    },
  }
}

export interface Answer {
  status: number
  headers: NodeJS.Dict<string | string[]>
  body: string
}

/** Asks with any Host, method and headers; `fetch` would not let a test. */
export function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    asked.on('error', reject)
    asked.end()
  })
}
