import { afterEach, describe, expect, it } from 'vitest'
import { createModel, type Model, type ModelOptions } from '../../src/services/model/index.ts'
import type { ModelRequest, Progress } from '../../src/services/ports.ts'
import {
  call,
  type FakeModel,
  type FakeModelOptions,
  redacted,
  reply,
  startFakeModel,
  thinking,
} from '../support/fakeModel.ts'

const KEY = 'sk-ant-test-SECRET'
const TOOL = { name: 'bash', description: 'Runs a command.', input_schema: { type: 'object', properties: {} } }
const REQUEST: ModelRequest = {
  model: 'claude-sonnet-5',
  max_tokens: 1000,
  system: 'You are an agent.',
  tools: [TOOL],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Grüße 😀' }] }],
}

const open: Array<{ close(): unknown }> = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function serve(
  replies: FakeModelOptions['replies'],
  options: Partial<FakeModelOptions> = {},
): Promise<FakeModel> {
  const server = await startFakeModel({ replies, ...options })
  open.push(server)
  return server
}

function model(baseUrl: string, options: Partial<ModelOptions> = {}): Model {
  const made = createModel({ baseUrl, apiKey: KEY, retryMs: 2000, env: {}, ...options })
  open.push(made)
  return made
}

/** One call: what it ended in, and what could be seen of it. */
async function run(
  replies: FakeModelOptions['replies'],
  options: Partial<ModelOptions> & { request?: ModelRequest; maxRetries?: number } = {},
) {
  const server = await serve(replies)
  const seen: Progress[] = []
  const { request = REQUEST, maxRetries, ...rest } = options
  const outcome = await model(server.url, rest).call(request, {
    signal: new AbortController().signal,
    observe: (event) => seen.push(event),
    ...(maxRetries === undefined ? {} : { maxRetries }),
  })
  const { record } = outcome
  return { server, seen, outcome, record, types: seen.map(({ type }) => type) }
}

/** What the record of a reply is, its times aside. */
function replied(content: unknown[], more: Record<string, unknown> = {}) {
  return {
    type: 'reply',
    id: 'msg_0',
    model: 'claude-sonnet-5',
    content,
    stop_reason: 'end_turn',
    usage: { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    measured: true,
    ms: expect.any(Number),
    ...more,
  }
}

describe('a model call', () => {
  it('sends one valid request with a fixed order of keys and gives back the whole reply', async () => {
    const { server, record, seen } = await run([
      reply([thinking('Hm', 'SIG'), redacted('XYZ'), 'Hello wörld 😀', call('bash', { command: 'ls' }, 'a')]),
    ])
    expect(record).toEqual(
      replied(
        [
          { type: 'thinking', thinking: 'Hm', signature: 'SIG' },
          { type: 'redacted_thinking', data: 'XYZ' },
          { type: 'text', text: 'Hello wörld 😀' },
          { type: 'tool_use', id: 'a', name: 'bash', input: { command: 'ls' } },
        ],
        { stop_reason: 'tool_use' },
      ),
    )
    expect(seen.map((event) => (event.type === 'text' ? event.text : event)).join('')).toBe('Hello wörld 😀')
    expect(server.problems).toEqual([])
    expect(server.requests.map(({ raw: body }) => body)).toEqual([JSON.stringify({ ...REQUEST, stream: true })])
    const headers = server.requests[0]?.headers ?? {}
    expect([headers['x-api-key'], headers.authorization, headers['content-type']]).toEqual([
      KEY,
      undefined,
      'application/json',
    ])
  })
})
