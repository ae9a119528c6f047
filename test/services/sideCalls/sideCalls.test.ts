import { performance } from 'node:perf_hooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SideQuestion } from '../../../src/services/memoryPorts.ts'
import { createModel } from '../../../src/services/model/index.ts'
import { createSideCalls } from '../../../src/services/sideCalls/index.ts'
import { apiError, call, type FakeModelOptions, hang, reply, startFakeModel } from '../../support/fakeModel.ts'

const SCHEMA = { type: 'object', properties: { names: { type: 'array', items: { type: 'string' } } } }

const QUESTION: SideQuestion<string[]> = {
  purpose: 'recall',
  system: 'Choose.',
  prompt: 'a or b?',
  schema: SCHEMA,
  max_tokens: 500,
  limit_ms: 5_000,
  read: (value) => (Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : null),
}

async function sideCalls(
  replies: FakeModelOptions['replies'],
  more: { structured?: boolean; env?: NodeJS.ProcessEnv } = {},
) {
  const server = await startFakeModel({ replies })
  onTestFinished(() => server.close())
  const model = createModel({ baseUrl: server.url, apiKey: 'key', env: {} })
  onTestFinished(() => model.close())
  const calls = createSideCalls({
    model,
    name: 'm',
    maxOutputTokens: 400,
    structured: more.structured ?? false,
    now: () => performance.now(),
    env: more.env ?? {},
  })
  return { server, ask: (signal = new AbortController().signal, question = QUESTION) => calls.ask(question, signal) }
}

const usage = { input_tokens: 20, output_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const NO_USAGE = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

describe('a side call', () => {
  test('is one message without tools, with a small limit; its cost is noted', async () => {
    const { server, ask } = await sideCalls([reply('["a"]', { usage })])
    expect(await ask()).toEqual({
      kind: 'answered',
      value: ['a'],
      note: { purpose: 'recall', ok: true, usage, ms: expect.any(Number) },
    })
    expect(server.requests.map(({ body }) => body)).toEqual([
      {
        model: 'm',
        max_tokens: 400,
        system: 'Choose.',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'a or b?' }] }],
        stream: true,
      },
    ])
    expect(server.problems).toEqual([])
  })

  test('sends a schema where the server knows one', async () => {
    const { server, ask } = await sideCalls(['["a"]'], { structured: true })
    await ask()
    expect(server.requests[0]?.body.output_config).toEqual({ format: { type: 'json_schema', schema: SCHEMA } })
    expect(server.problems).toEqual([])
  })

  test('is asked without the schema where that was refused, and so is every later one', async () => {
    const refusal = apiError(400, 'invalid_request_error', 'output_config: this model takes no format')
    const { server, ask } = await sideCalls([refusal, '["a"]', '["b"]'], { structured: true })
    expect(await ask()).toMatchObject({ kind: 'answered', value: ['a'] })
    expect(await ask()).toMatchObject({ kind: 'answered', value: ['b'] })
    expect(server.requests.map(({ body }) => body.output_config !== undefined)).toEqual([true, false, false])
  })

  test.each([
    ['an error that may pass', [apiError(529, 'overloaded_error', 'busy'), '["a"]'], 2, true],
    ['an error that stays', [apiError(500, 'api_error', 'x'), apiError(500, 'api_error', 'x'), '["a"]'], 2, false],
    ['a refused request', [apiError(400, 'invalid_request_error', 'no'), '["a"]'], 1, false],
    ['no list', ['none', '["a"]'], 1, false],
    ['a cut reply', [reply('["a"]', { stop_reason: 'max_tokens' }), '["a"]'], 1, false],
    ['a refusal', [reply('["a"]', { stop_reason: 'refusal' }), '["a"]'], 1, false],
    ['a tool call', [reply([call('bash', {})]), '["a"]'], 1, false],
  ] as const)('after %s: at most one retry, and no exception', async (_, replies, requests, ok) => {
    const { server, ask } = await sideCalls([...replies])
    const answer = await ask()
    expect(answer).toMatchObject({ kind: ok ? 'answered' : 'useless', note: { ok } })
    if (!ok) expect(answer.note.problem).toMatch(/^[A-Z].*\.$/)
    expect(server.requests).toHaveLength(requests)
  })

  test('is given up when its time is over, whatever the server does', async () => {
    const slow = reply('["a"]', { chunkDelayMs: 400 })
    for (const replies of [[hang()], [slow]]) {
      const { ask } = await sideCalls([...replies], { env: { AGENT_SIDE_CALL_MS: '700' } })
      expect(await ask()).toEqual({
        kind: 'useless',
        note: {
          purpose: 'recall',
          ok: false,
          usage: NO_USAGE,
          ms: expect.any(Number),
          problem: 'There was no answer within 0.7 seconds.',
        },
      })
    }
  })

  test('ends with its run', async () => {
    const { server, ask } = await sideCalls([hang()])
    const run = new AbortController()
    const asked = ask(run.signal)
    await server.waitForRequest(0)
    run.abort()
    await expect(asked).rejects.toThrow()
  })
})
