/** Faults of the model's server as a user meets them: contract.md, section 4. The service's own tests have the details. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ALL_DONE, brain, effect, effects, latest, NEW_PROMPT, PROMPT, type Scenario, told } from '../kill/scenario.ts'
import { type Ended, resultOf, TEST_KEY } from '../support/agent.ts'
import {
  apiError,
  call,
  callWithJson,
  hang,
  type Reply,
  raw,
  rawBlock,
  reply,
  reset,
  type ScriptedReply,
  shortBody,
  text,
  thinking,
} from '../support/fakeModel.ts'
import { freePort } from '../support/freePort.ts'
import { type SetUp, setUp } from './setUp.ts'

const ONE: Scenario = { name: 'one call', steps: [{ calls: [effect('a')] }] }
const HALF = ['Half a sentence', effect('never')]

/** All retries of a run together, in milliseconds. */
const RETRY_MS = 2000
const TIMES = { AGENT_RETRY_MS: String(RETRY_MS), AGENT_STREAM_IDLE_MS: '300' }

const overloaded = apiError(529, 'overloaded_error', 'Overloaded')
const html = raw({ headers: { 'content-type': 'text/html' }, body: '<html><h1>Sign in</h1> to the proxy</html>' })

/** What passes: the fault, and the status that its retry names. */
const PASSING: Array<[string, Reply, number | null]> = [
  ['529', overloaded, 529],
  ['500', apiError(500, 'api_error', 'Internal'), 500],
  ['429 with retry-after', apiError(429, 'rate_limit_error', 'Slow down', { 'retry-after': '1' }), 429],
  ['408', apiError(408, 'timeout_error', 'Late'), 408],
  ['409', apiError(409, 'conflict_error', 'Again'), 409],
  [
    'a page of a gateway, 502',
    raw({ status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' }),
    502,
  ],
  ['a page with status 200', html, 200],
  ['half of JSON with status 200', raw({ body: '{"type":"message","content":[{"ty' }), 200],
  [
    'an error in a body with status 200',
    raw({ body: '{"type":"error","error":{"type":"overloaded_error","message":"x"}}' }),
    529,
  ],
  ['an empty answer', raw({}), 200],
  ['204', raw({ status: 204 }), 204],
  ['a reset connection', reset(), null],
  ['a body shorter than it says', shortBody('{"type":"message","content":['), null],
  ['silence', hang(), null],
  ['a stream that ends after its headers', reply(HALF, { cut: { after: 'headers', by: 'end' } }), 200],
  ['a stream that ends in its text', reply(HALF, { cut: { after: 'text_delta', by: 'end' } }), 200],
  ['a stream that ends in a tool call', reply(HALF, { cut: { after: 'json_delta', by: 'end' } }), 200],
  ['a stream that ends behind a whole tool call', reply(HALF, { cut: { after: 'block_stop', by: 'destroy' } }), null],
  ['a stream without message_stop', reply(HALF, { cut: { after: 'message_delta', by: 'end' } }), 200],
  ['a stream that is reset', reply(HALF, { cut: { after: 'json_delta', by: 'reset' } }), null],
  ['a stream that stalls', reply(HALF, { cut: { after: 'json_delta', by: 'stall' } }), null],
  [
    'an error event in a stream',
    reply(HALF, { errorEvent: { after: 'json_delta', type: 'overloaded_error', message: 'x' } }),
    529,
  ],
]

/** The n-th request (from 0) gets the fault, all others what the scenario says. */
function withFault(fault: ScriptedReply, n: number, scenario = ONE): Promise<SetUp> {
  const usual = brain(scenario)
  return setUp((request, count) => (count === n ? fault : usual(request)))
}

function expectClean(end: Ended): void {
  expect(end.stdout + end.stderr).not.toContain(TEST_KEY)
  expect(end.stderr).not.toMatch(/\n\s+at |internal error|Unhandled/)
}

interface Line {
  type: string
  subtype?: string
  session_id: string
  [key: string]: unknown
}

describe('a fault that passes', () => {
  test.each(PASSING)('%s: seen, tried again with the same body, and without a trace', async (_, fault, status) => {
    const place = await withFault(fault, 1)
    const { model, dir } = place
    const end = await place.run(['--yes', '--output-format', 'stream-json', '-p', PROMPT], { env: TIMES })
    expectClean(end)
    expect(end.code).toBe(0)
    expect(end.stderr).toMatch(/^retry 1 in /m)
    const lines = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    const [init] = lines
    expect(lines.filter(({ session_id }) => session_id !== init?.session_id)).toEqual([])
    expect(lines.map(({ type, subtype }) => subtype ?? type)).toEqual([
      'init',
      'assistant',
      'user',
      'api_retry',
      'assistant',
      'success',
    ])
    expect(lines[3]).toEqual({
      type: 'system',
      subtype: 'api_retry',
      attempt: 1,
      retry_delay_ms: expect.any(Number),
      error_status: status,
      error: expect.any(String),
      session_id: init?.session_id,
    })
    expect(lines.at(-1)).toMatchObject({ type: 'result', is_error: false, result: ALL_DONE, num_turns: 2 })
    expect(model.requests).toHaveLength(3)
    expect(model.requests[2]?.raw).toBe(model.requests[1]?.raw)
    expect(effects(dir)).toEqual(['toolu_a'])
    expect(end.stdout).not.toContain('Half a sentence')

    await place.run(['--continue', '-p', NEW_PROMPT])
    expect(model.requests.at(-1)?.raw).not.toMatch(/Half a sentence|never|Overloaded|retry/)
    expect(model.problems).toEqual([])
  })

  test('is waited out as long as the server says', async () => {
    const { model, run } = await withFault(apiError(429, 'rate_limit_error', 'Slow', { 'retry-after': '1' }), 0)
    expect((await run(['--yes', '-p', PROMPT], { env: TIMES })).code).toBe(0)
    const [first, second] = model.requests
    expect((second?.arrivedAt ?? 0) - (first?.arrivedAt ?? 0)).toBeGreaterThanOrEqual(990)
  })

  test('shows its half reply at a terminal as void, and in a pipe not at all', async () => {
    const place = await withFault(reply(HALF, { cut: { after: 'text_delta', by: 'end' } }), 0, {
      name: 'none',
      steps: [],
    })
    const end = await place.run(['--output-format', 'text', '-p', PROMPT], { env: TIMES })
    expect([end.code, end.stdout]).toEqual([0, `${ALL_DONE}\n`])
  })
})

describe('a fault that stays', () => {
  const STAYING: Array<[string, Reply, string]> = [
    ['529', overloaded, '529 overloaded_error: Overloaded'],
    ['500', apiError(500, 'api_error', 'Internal'), '500 api_error: Internal'],
    ['a page with status 200', html, 'Sign in to the proxy'],
    ['a stream that ends early', reply(HALF, { cut: { after: 'json_delta', by: 'end' } }), 'ended before it was whole'],
    ['a stream that stalls', reply(HALF, { cut: { after: 'json_delta', by: 'stall' } }), 'fell silent'],
    ['silence', hang(), 'did not answer'],
  ]
  test.each(STAYING)('%s: tried for a bounded time, then exit 1; the prompt is kept once', async (name, fault, why) => {
    let isWell = false
    const place = await setUp(() => (isWell ? 'well again' : fault))
    const { model, dir } = place
    const end = await place.run(['--yes', '-p', 'P1'], { env: TIMES })
    expectClean(end)
    const result = resultOf(end)
    expect([end.code, result]).toEqual([
      1,
      expect.objectContaining({ subtype: 'error_during_execution', is_error: true, result: '', num_turns: 1 }),
    ])
    const [error = ''] = result.errors ?? []
    expect(error).toContain(why)
    expect(error).toMatch(/It was tried \d+ times in [\d.]+ seconds; the session is kept and can be resumed\.$/)
    // One more try may be under way when the time is over.
    expect(result.duration_ms).toBeLessThan(RETRY_MS + 1500)
    console.log(`${name} for ever: ${error.match(/It was tried .* seconds/)?.[0]} (${RETRY_MS / 1000} s allowed)`)
    expect(end.stderr.match(/^retry \d+ in /gm)?.length).toBe(model.requests.length - 1)
    expect(new Set(model.requests.map((request) => request.raw)).size).toBe(1)
    expect(effects(dir)).toEqual([])

    isWell = true
    const next = await place.run(['--continue', '-p', 'P2'])
    expect([next.code, resultOf(next).session_id]).toEqual([0, result.session_id])
    const { messages } = model.requests.at(-1)?.body ?? expect.fail('no request')
    expect(messages.map(({ role, content }) => [role, content.map((block) => block.text)])).toEqual([
      ['user', ['P1', 'P2']],
    ])
  })

  test('at a server that nobody runs: a quarter of that time', async () => {
    const port = await freePort()
    const { run } = await setUp([])
    const end = await run(['-p', PROMPT], { env: { ...TIMES, ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` } })
    expectClean(end)
    expect([end.code, resultOf(end).errors?.[0]]).toEqual([1, expect.stringContaining('ECONNREFUSED')])
    expect(resultOf(end).duration_ms).toBeLessThan(RETRY_MS / 4 + 1000)
  })

  test('of a name or a certificate: exit 1 with the reason', async () => {
    const { model, run } = await setUp([])
    for (const [url, why] of [
      ['http://nowhere.invalid', 'nowhere.invalid cannot be found'],
      [model.url.replace('http:', 'https:'), 'does not speak TLS'],
    ]) {
      const end = await run(['-p', PROMPT], { env: { ...TIMES, ANTHROPIC_BASE_URL: url } })
      expectClean(end)
      expect([end.code, resultOf(end).errors?.[0]]).toEqual([1, expect.stringContaining(why ?? '')])
    }
  })

  test('says to wait for longer than a run does: at once, with the time', async () => {
    const { model, run } = await setUp(() => apiError(429, 'rate_limit_error', 'Quota', { 'retry-after': '3600' }))
    const end = await run(['-p', PROMPT], { env: TIMES })
    expect([end.code, model.requests.length]).toEqual([1, 1])
    expect(resultOf(end).errors?.[0]).toMatch(/says to wait 3600 seconds, until \d{4}-/)
  })
})

describe('an error that no retry mends', () => {
  test.each([
    [400, 'invalid_request_error', 'x: Field required', 'x: Field required'],
    [401, 'authentication_error', 'invalid x-api-key', 'ANTHROPIC_API_KEY'],
    [403, 'permission_error', 'No', 'ANTHROPIC_API_KEY'],
    [404, 'not_found_error', 'model: x', '--model'],
    [413, 'request_too_large', 'Too large', 'too long for the model'],
    [422, 'bad', 'No', '422 bad: No'],
  ])(
    '%i: one request, exit 1, the message says what to do; the session can go on',
    async (status, type, message, why) => {
      const { model, run } = await setUp((_, n) => (n === 0 ? apiError(status, type, message) : 'fine'))
      const end = await run(['-p', 'P1'])
      expectClean(end)
      expect([end.code, resultOf(end).is_error, resultOf(end).subtype]).toEqual([1, true, 'error_during_execution'])
      expect(resultOf(end).errors?.[0]).toContain(why)
      expect(model.requests).toHaveLength(1)
      expect(end.stderr).not.toContain('retry')
      const next = await run(['--continue', '-p', 'P2'])
      expect([next.code, resultOf(next).session_id]).toEqual([0, resultOf(end).session_id])
    },
  )

  test('in text mode is on stderr, and stdout is empty', async () => {
    const { run } = await setUp(() => apiError(400, 'invalid_request_error', 'x: Field required'))
    const end = await run(['--output-format', 'text', '-p', PROMPT])
    expect([end.code, end.stdout.trim()]).toEqual([1, ''])
    expect(end.stderr).toMatch(
      /^error: The API refused the request \(400 invalid_request_error: x: Field required\)\.$/m,
    )
    expect(end.stderr).toMatch(/^session [0-9a-f-]{36}$/m)
  })
})

describe('a reply that is not whole never runs a tool', () => {
  const cut: Array<[string, string, Reply]> = [
    [
      'cut by the output limit in its call',
      'was cut off by the output limit',
      reply([text('On it.'), callWithJson('bash', '{"command":"touch bad', 'c')], { stop_reason: 'max_tokens' }),
    ],
    [
      'cut by the output limit behind its call',
      'was cut off by the output limit',
      reply([call('bash', { command: 'touch bad' }, 'c')], { stop_reason: 'max_tokens' }),
    ],
    [
      'with broken JSON',
      'bash was not run: its input is not valid JSON',
      reply([callWithJson('bash', '{"command":"touch bad', 'c')]),
    ],
    ['with null for an input', 'bash was not run: its input is null', reply([callWithJson('bash', 'null', 'c')])],
    [
      'with a list for an input',
      'bash was not run: its input is a list',
      reply([callWithJson('bash', '["touch bad"]', 'c')]),
    ],
    [
      'with a text for an input',
      'bash was not run: its input is a string',
      reply([callWithJson('bash', '"touch bad"', 'c')]),
    ],
    ['without what it must have', 'command is missing', reply([callWithJson('bash', '{}', 'c')])],
    [
      'with more than there is',
      '"extra": bash has no such field',
      reply([callWithJson('bash', '{"command":"touch bad","extra":1}', 'c')]),
    ],
    [
      'with a number for a text',
      'command must be a string, not 7',
      reply([callWithJson('bash', '{"command":7}', 'c')]),
    ],
    [
      'with __proto__',
      '"__proto__": bash has no such field',
      reply([callWithJson('bash', '{"__proto__":{"command":"touch bad"}}', 'c')]),
    ],
    ['of a tool there is not', 'constructor', reply([call('constructor', { command: 'touch bad' }, 'c')])],
  ]
  test.each(cut)('%s: the model is told, and goes on', async (_, why, bad) => {
    const { model, dir, run } = await setUp((_request, n) => (n === 0 ? bad : 'ok'))
    const end = await run(['--yes', '-p', PROMPT])
    expectClean(end)
    expect([end.code, resultOf(end).result, model.problems]).toEqual([0, 'ok', []])
    expect(existsSync(join(dir, 'bad'))).toBe(false)
    expect(told(model.requests).get('c')).toMatchObject({ is_error: true, content: expect.stringContaining(why) })
    for (const { body } of model.requests)
      for (const { content } of body.messages)
        for (const block of content) if (block.type === 'tool_use') expect(block.input).toBeTypeOf('object')
  })

  test('again and again: given up with a reason', async () => {
    const { model, run } = await setUp(() =>
      reply([call('bash', { command: 'touch bad' })], { stop_reason: 'max_tokens' }),
    )
    const end = await run(['--yes', '-p', PROMPT])
    expect([end.code, model.requests.length <= 5, model.problems]).toEqual([1, true, []])
    expect(resultOf(end).errors?.[0]).toContain('cut or broken')
  })

  test('a call without arguments runs with none, and goes back as {}', async () => {
    for (const json of [null, '']) {
      const { model, run } = await setUp([reply([callWithJson('compact', json, 'c')]), 'a summary', 'ok', 'ok'])
      const end = await run(['--yes', '-p', PROMPT])
      expect([end.code, model.problems]).toEqual([0, []])
    }
  })
})

describe('odd replies', () => {
  test.each([
    ['nothing', reply([], { stop_reason: 'refusal' })],
    ['part of a text', reply('I can', { stop_reason: 'refusal' })],
    ['a call', reply([call('bash', { command: 'touch bad' })], { stop_reason: 'refusal' })],
  ])('a refusal with %s: one request, exit 1, nothing run, nothing kept of it', async (_, refusal) => {
    const { model, dir, run } = await setUp([refusal, 'ok'])
    const end = await run(['--yes', '-p', 'P1'])
    expect([end.code, resultOf(end).is_error, resultOf(end).stop_reason, model.requests.length]).toEqual([
      1,
      true,
      'refusal',
      1,
    ])
    expect(existsSync(join(dir, 'bad'))).toBe(false)
    const next = await run(['--continue', '-p', 'P2'])
    expect([next.code, model.problems]).toEqual([0, []])
    expect(model.requests[1]?.body.messages.map(({ role }) => role)).toEqual(['user'])
  })

  test.each([
    ['an empty list', reply([])],
    ['an empty text', reply([text('')])],
    ['white space', reply(' \n')],
    ['an empty text beside a call', reply([text(''), call('bash', { command: 'true' }, 'c')])],
    ['thinking only', reply([thinking('hmm')])],
    ['a block of an unknown kind', reply([rawBlock({ type: 'server_thing', data: 1 }), text('hi')])],
    ['no usage', reply('hi', { usage: null })],
    ['no stop reason', reply('hi', { stop_reason: null })],
    ['stop_sequence', reply('hi', { stop_reason: 'stop_sequence' })],
    ['plain JSON', reply(['hi', call('bash', { command: 'true' }, 'c')], { as: 'json' })],
    ['a cut text', reply('half an answer', { stop_reason: 'max_tokens' })],
  ])('%s: no crash, and the session stays valid', async (_, odd) => {
    const { model, run } = await setUp((_request, n) => (n === 0 ? odd : 'ok'))
    const end = await run(['--yes', '-p', 'P1'])
    expectClean(end)
    expect(end.code).toBe(0)
    expect((await run(['--continue', '-p', 'P2'])).code).toBe(0)
    expect(model.problems).toEqual([])
  })

  test('a text that was cut says so: in the result, and on stderr', async () => {
    const { run } = await setUp([
      reply('half an answer', { stop_reason: 'max_tokens' }),
      reply('half', { stop_reason: 'max_tokens' }),
    ])
    const json = resultOf(await run(['-p', 'x']))
    expect([json.result, json.stop_reason]).toEqual(['half an answer', 'max_tokens'])
    expect((await run(['--output-format', 'text', '-p', 'x'])).stderr).toContain('cut at the model')
  })
})

describe('after a failed run', () => {
  test('the journal says what happened, and every later request is valid', async () => {
    const place = await setUp((request, n) =>
      n === 0 ? reply([effect('a')]) : n === 1 ? apiError(400, 'invalid_request_error', 'no') : brain(ONE)(request),
    )
    expect((await place.run(['--yes', '-p', PROMPT])).code).toBe(1)
    const records = (await latest(place.home, place.dir))?.entries.map(({ record }) => record.type)
    expect(records).toEqual([
      'opened',
      'prompt',
      'context',
      'reply',
      'toolStarted',
      'toolFinished',
      'callFailed',
      'turnEnded',
    ])
    const next = await place.run(['--yes', '--continue'])
    expect([next.code, resultOf(next).result, place.model.problems, effects(place.dir)]).toEqual([
      0,
      ALL_DONE,
      [],
      ['toolu_a'],
    ])
  })
})
