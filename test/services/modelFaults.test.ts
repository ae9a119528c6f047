import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Progress } from '../../src/services/ports.ts'
import {
  apiError,
  call,
  callWithJson,
  hang,
  held,
  type Reply,
  raw,
  reply,
  reset,
  type StreamPoint,
  shortBody,
} from '../support/fakeModel.ts'
import { freePort } from '../support/freePort.ts'
import { callFailed, callOnce, closeLater, KEY, modelAt, REQUEST, replied, run, serve, shownText } from './modelRig.ts'

const GOOD = reply('Good.')
const GOOD_RECORD = replied([{ type: 'text', text: 'Good.' }], { id: 'msg_1' })
const POINTS: StreamPoint[] = [
  'headers',
  'message_start',
  'block_start',
  'text_delta',
  'json_delta',
  'block_stop',
  'message_delta',
]
const withCall = ['Half a sentence', call('bash', { command: 'rm -rf x' }, 'a')]

/** The retries that were announced, without their waits. */
function retries(seen: Progress[]) {
  return seen.flatMap((event) =>
    event.type === 'retry' ? [{ attempt: event.attempt, status: event.status, error: event.error }] : [],
  )
}

async function expectRecovery(fault: Reply, status: number | null, error: unknown, idleMs = 5000) {
  const { record, server, seen, text, types } = await run([fault, GOOD], { idleMs })
  expect(record).toEqual(GOOD_RECORD)
  expect(retries(seen)).toEqual([{ attempt: 1, status, error }])
  expect(text).toBe('Good.')
  expect(server.requests.map((request) => request.raw)).toEqual(Array(2).fill(server.requests[0]?.raw))
  return { types, server }
}

describe('a stream that breaks before message_stop is asked for again, and half of it leaves no trace', () => {
  const ended = 'The server answered 200, and the answer ended before it was whole'
  const cases = POINTS.flatMap((after) => (['end', 'destroy', 'reset', 'stall'] as const).map((by) => ({ after, by })))
  it.each(cases)('after $after by $by', async ({ after, by }) => {
    const nothing = after === 'headers' && by === 'end'
    const error =
      by === 'end'
        ? nothing
          ? 'The server answered 200 with something that is no message: an empty answer'
          : ended
        : by === 'stall'
          ? expect.stringMatching(/fell silent in the middle of its answer for 0.15 seconds$/)
          : expect.stringMatching(
              /^The model's server could not be used: the connection to 127\.0\.0\.1:\d+ broke before/,
            )
    const fault = reply(withCall, { cut: { after, by } })
    const { types } = await expectRecovery(fault, by === 'end' ? 200 : null, error, by === 'stall' ? 150 : 5000)
    const shown = !['headers', 'message_start', 'block_start'].includes(after)
    expect(types.includes('textDiscarded')).toBe(shown)
    if (shown) expect(types.indexOf('textDiscarded')).toBeLessThan(types.indexOf('retry'))
  })

  it('also in mid-event, and in the middle of a character', async () => {
    const whole = 'event: message_start\ndata: {"type":"message_start","message":{"content":[],"model":"é'
    const bytes = Buffer.from(whole).subarray(0, -1)
    await expectRecovery(
      raw({ headers: { 'content-type': 'text/event-stream' }, body: bytes }),
      200,
      expect.any(String),
    )
  })
})

describe('an error that passes', () => {
  it.each([408, 409, 429, 500, 502, 503, 504, 529])('with status %s is asked for again', async (status) => {
    await expectRecovery(
      apiError(status, 'some_error', 'Later.'),
      status,
      `The API answered ${status} some_error: Later.`,
    )
  })

  it.each([
    ['overloaded_error', 529],
    ['api_error', 500],
    ['rate_limit_error', 429],
    ['new_error', 500],
  ])('that comes as an event in the stream (%s) is asked for again', async (type, status) => {
    const error = `The API answered ${status} ${type}: Overloaded`
    const fault = reply(withCall, { errorEvent: { after: 'text_delta', type, message: 'Overloaded' } })
    const { types, server } = await expectRecovery(fault, status, error)
    expect(types.slice(0, 3)).toEqual(['text', 'textDiscarded', 'retry'])
    await expect.poll(() => server.openConnections()).toBe(1)
  })

  it('that stands in a body with status 200 is asked for again', async () => {
    const body = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    await expectRecovery(raw({ body }), 529, 'The API answered 529 overloaded_error: Overloaded')
  })

  it('is a reset connection, one without an answer, or a body shorter than it says', async () => {
    const broken = expect.stringMatching(/broke before the answer was whole/)
    await expectRecovery(reset(), null, broken)
    await expectRecovery(shortBody('{"type":"message","content":['), null, broken)
    await expectRecovery(hang(), null, expect.stringMatching(/did not answer for 0.1 seconds$/), 100)
  })

  it.each([
    [
      'an HTML page',
      raw({
        headers: { 'content-type': 'text/html' },
        body: '<html><title>Log in</title><script>x()</script><p>to the\n proxy</html>',
      }),
      'Log in to the proxy',
    ],
    ['half of JSON', raw({ body: '{' }), '{'],
    ['an empty object', raw({ body: '{}' }), '{}'],
    ['a list', raw({ headers: { 'content-type': 'application/json' }, body: '[1]' }), '[1]'],
    ['204', raw({ status: 204 }), 'an empty answer'],
  ])('is %s with a status of success; the message has the first words', async (_, fault, words) => {
    const status = fault.kind === 'raw' ? fault.status : 0
    const error = `The server answered ${status} with something that is no message: ${words}`
    await expectRecovery(fault, status, error)
    const forGood = await run(() => fault, { retryMs: 50 })
    expect(forGood.record).toEqual(callFailed(expect.stringContaining(`${error}. It was tried `), status))
  })

  it('keeps its promise about a wait: retry-after-ms, seconds, a date', async () => {
    const inTwoSeconds = () => new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000).toUTCString()
    for (const [headers, least] of [
      [() => ({ 'retry-after-ms': '300' }), 300],
      [() => ({ 'retry-after': '1' }), 1000],
      [() => ({ 'retry-after': inTwoSeconds() }), 950],
    ] as const) {
      const slow = () => apiError(429, 'rate_limit_error', 'Slow.', headers())
      const { server } = await run((_, n) => (n === 0 ? slow() : GOOD), { retryMs: 5000 })
      const [first, second] = server.requests
      expect((second?.arrivedAt ?? 0) - (first?.arrivedAt ?? 0)).toBeGreaterThanOrEqual(least - 5)
    }
  })

  it('fails at once where the server asks for a longer wait than there is, and says until when', async () => {
    const { record, server } = await run(() => apiError(429, 'rate_limit_error', 'Slow.', { 'retry-after': '3600' }))
    expect(server.requests.length).toBe(1)
    expect(record).toEqual(
      callFailed(
        expect.stringMatching(
          /^The API answered 429 rate_limit_error: Slow\. The server says to wait 3600 seconds, until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, which is longer than a run waits: resume the session then\.$/,
        ),
        429,
      ),
    )
  })

  it('that stays fails with the status and the number of tries, in the time there is', async () => {
    const { record, server, seen } = await run(() => apiError(529, 'overloaded_error', 'Overloaded'), { retryMs: 300 })
    const tries = server.requests.length
    expect(tries).toBeGreaterThan(3)
    expect(retries(seen).map(({ attempt }) => attempt)).toEqual([...Array(tries - 1).keys()].map((n) => n + 1))
    expect(record).toEqual(
      callFailed(
        expect.stringMatching(
          new RegExp(
            `^The API answered 529 overloaded_error: Overloaded\\. It was tried ${tries} times in 0\\.\\d seconds;`,
          ),
        ),
        529,
      ),
    )
  })

  it('is not tried again without retries, and as often as a side call says', async () => {
    const down = () => apiError(500, 'api_error', 'Down')
    expect((await run(down, { retryMs: 0 })).server.requests.length).toBe(1)
    expect((await run(down, { maxRetries: 0 })).server.requests.length).toBe(1)
    expect((await run(down, { maxRetries: 1 })).server.requests.length).toBe(2)
  })

  it('is not asked for without a pause though the server says 0', async () => {
    const { server } = await run(() => apiError(429, 'rate_limit_error', 'Now.', { 'retry-after': '0' }), {
      retryMs: 300,
    })
    expect(server.requests.length).toBeLessThan(20)
  })

  it('is final where the server says so', async () => {
    const { server } = await run(() => apiError(500, 'api_error', 'Down', { 'x-should-retry': 'false' }))
    expect(server.requests.length).toBe(1)
  })
})

describe('an error that stays', () => {
  const refused = (said: string) => `The API refused the request (${said}).`
  it.each([
    [400, 'invalid_request_error', 'x: Field required', refused('400 invalid_request_error: x: Field required')],
    [402, 'billing_error', 'No credit', refused('402 billing_error: No credit')],
    [422, 'bad', 'No', refused('422 bad: No')],
    [
      401,
      'authentication_error',
      'invalid x-api-key',
      'The server did not take the API key (401 authentication_error: invalid x-api-key). Check ANTHROPIC_API_KEY.',
    ],
    [
      403,
      'permission_error',
      'No',
      'The server refused access (403 permission_error: No). Check ANTHROPIC_API_KEY and that it may use the model claude-sonnet-5.',
    ],
    [
      404,
      'not_found_error',
      'model: x',
      'The server does not know the model claude-sonnet-5, or has no Messages API at this address (404 not_found_error: model: x). Check --model or ANTHROPIC_MODEL, and ANTHROPIC_BASE_URL.',
    ],
  ])('with status %s is one request, with the API’s own message', async (status, type, message, sentence) => {
    const { record, server, seen } = await run(() => apiError(status, type, message))
    expect([record, server.requests.length, seen]).toEqual([callFailed(sentence, status), 1, []])
  })

  it('names the variable of the token where the key is one', async () => {
    const { record } = await run(() => apiError(401, 'authentication_error', 'no'), {
      apiKey: null,
      authToken: 'tok-123456',
    })
    expect(record).toMatchObject({
      message: expect.stringContaining('Check ANTHROPIC_AUTH_TOKEN (or ANTHROPIC_API_KEY).'),
    })
  })

  it('in a stream is not asked for again', async () => {
    const { record, server } = await run([
      reply('Hi', { errorEvent: { after: 'message_start', type: 'invalid_request_error', message: 'bad' } }),
    ])
    expect([record, server.requests.length]).toEqual([callFailed(refused('400 invalid_request_error: bad'), 400), 1])
  })

  it('of a page or a bare text is readable', async () => {
    const page = `<!doctype html><style>p{}</style><body><h1>Blocked</h1>\n<p>by the wall</p>${' filler'.repeat(100)}`
    const { record } = await run(() => raw({ status: 400, headers: { 'content-type': 'text/html' }, body: page }))
    expect(record).toMatchObject({
      message: expect.stringMatching(/^The API refused the request \(400: Blocked by the wall filler .*…\)\.$/),
    })
    for (const body of ['{"error":"no"}', '{"detail":"no"}', '{"message":"no"}', '"no"', 'no']) {
      const other = await run(() => raw({ status: 400, body }))
      expect([body, other.record]).toEqual([body, callFailed(refused('400: no'), 400)])
    }
  })

  it('of a redirect names the address', async () => {
    const { record } = await run(() => raw({ status: 308, headers: { location: 'https://other/v1/messages' } }))
    expect(record).toEqual(
      callFailed(
        'The server sends us elsewhere (308). Set ANTHROPIC_BASE_URL to the address it names, https://other/v1/messages, without /v1/messages.',
        308,
      ),
    )
  })

  it('hints at a base URL with /v1 at its end', async () => {
    const server = await serve([])
    const { record } = await callOnce(modelAt(`${server.url}/v1`))
    expect(record).toMatchObject({
      status: 404,
      message: expect.stringContaining('ANTHROPIC_BASE_URL (without /v1 at its end)'),
    })
  })

  it('never holds the key, though the server quotes it', async () => {
    const quotes = [KEY, encodeURIComponent(KEY), Buffer.from(KEY).toString('base64')].join(' ')
    const { record } = await run(() => apiError(401, 'authentication_error', `Bad key ${quotes}`))
    expect(record).toMatchObject({ message: expect.stringContaining('Bad key [key] [key] [key]') })
    const { seen } = await run([apiError(500, 'api_error', `Bad ${KEY}`), GOOD])
    expect(retries(seen)).toEqual([{ attempt: 1, status: 500, error: 'The API answered 500 api_error: Bad [key]' }])
  })
})

describe('a request that is too long', () => {
  it.each([
    [400, 'prompt is too long: 210000 tokens > 200000 maximum'],
    [400, 'Prompt Is Too Long'],
    [400, 'input is too long for requested model'],
    [400, 'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length'],
    [400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"],
    [400, 'the request exceeds the available context size, try increasing it'],
    [400, 'context_length_exceeded'],
    [400, 'Context length exceeded'],
    [400, 'The input exceeds the context window of this model'],
    [400, 'prompt token count of 90000 exceeds the limit of 64000'],
    [400, 'too many tokens'],
    [413, 'Request exceeds the maximum size'],
  ])('is reported as such: %s %s', async (status, message) => {
    const { record, server } = await run(() => apiError(status, 'invalid_request_error', message))
    const sentence = `The request is too long for the model (${status} invalid_request_error: ${message}).`
    expect([record, server.requests.length]).toEqual([callFailed(sentence, status, 'too_long'), 1])
  })

  it('is reported as such from a stream too', async () => {
    const { record } = await run([
      reply('Hi', { errorEvent: { after: 'headers', type: 'invalid_request_error', message: 'prompt is too long' } }),
    ])
    expect(record).toMatchObject({ type: 'callFailed', reason: 'too_long', status: 400 })
  })

  it.each([
    [400, 'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens'],
    [400, 'messages.0.content: text content blocks must be non-empty'],
    [400, 'tools.0.description: String should have at most 1024 characters'],
    [422, 'prompt is too long'],
  ])('is not what %s %s means', async (status, message) => {
    const { record } = await run(() => apiError(status, 'invalid_request_error', message))
    expect(record).toMatchObject({ type: 'callFailed', reason: 'api_error' })
  })

  it('is not what a server error with those words means', async () => {
    const { record } = await run([apiError(529, 'overloaded_error', 'too many tokens'), GOOD])
    expect(record).toEqual(GOOD_RECORD)
  })
})

describe('an interrupted call', () => {
  it.each([
    ['waits for headers', hang(), 0],
    ['is in mid-stream', reply('Half a sentence', { cut: { after: 'text_delta', by: 'stall' } }), 0],
    ['waits for a retry', apiError(429, 'rate_limit_error', 'Slow.', { 'retry-after': '60' }), 0],
  ])('that %s rejects with the AbortError at once and drops the connection', async (_, fault) => {
    const server = await serve(() => fault)
    const model = modelAt(server.url, { retryMs: 120_000 })
    const controller = new AbortController()
    const seen: Progress[] = []
    const called = model.call(REQUEST, { signal: controller.signal, observe: (event) => seen.push(event) })
    const outcome = expect(called).rejects.toMatchObject({ name: 'AbortError' })
    await server.waitForRequest(0)
    await new Promise((resolve) => setTimeout(resolve, 100))
    controller.abort()
    await outcome
    model.close()
    await expect.poll(() => server.openConnections()).toBe(0)
    expect(server.requests.length).toBe(1)
    expect(shownText(seen)).toBe(seen.some(({ type }) => type === 'text') ? 'Half ' : '')
  })

  it('sends nothing where it was interrupted before', async () => {
    const server = await serve(['Hi'])
    const controller = new AbortController()
    controller.abort(new Error('SIGINT'))
    const called = modelAt(server.url).call(REQUEST, { signal: controller.signal, observe: () => {} })
    await expect(called).rejects.toMatchObject({ name: 'AbortError' })
    expect(server.requests).toEqual([])
  })

  it('leaves the others of the run alone', async () => {
    const late = held('Late.')
    const server = await serve((request) => (request.body.max_tokens === 1 ? hang() : late))
    const model = modelAt(server.url)
    const controller = new AbortController()
    const stopped = callOnce(model, { request: { ...REQUEST, max_tokens: 1 }, signal: controller.signal })
    const outcome = expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
    const other = callOnce(model)
    await server.waitForRequest(1)
    controller.abort()
    await outcome
    late.release()
    expect((await other).text).toBe('Late.')
  })
})

describe('a server that cannot be reached', () => {
  it('is a refused connection: a quarter of the time there is', async () => {
    const port = await freePort()
    const { record, seen } = await callOnce(modelAt(`http://127.0.0.1:${port}`, { retryMs: 2000 }))
    const waited = seen.reduce((sum, event) => sum + (event.type === 'retry' ? event.delay_ms : 0), 0)
    expect(waited).toBeLessThanOrEqual(2000 / 4)
    expect(retries(seen).length).toBeGreaterThan(1)
    expect(record).toEqual(
      callFailed(
        expect.stringMatching(
          new RegExp(
            `^The model's server could not be used: nothing answers at 127\\.0\\.0\\.1:${port} \\(ECONNREFUSED\\)\\. It was tried \\d+ times`,
          ),
        ),
      ),
    )
  })

  it('is an unknown host', async () => {
    const { record } = await callOnce(modelAt('http://nowhere.invalid', { retryMs: 100 }))
    expect(record).toMatchObject({
      type: 'callFailed',
      message: expect.stringMatching(/the host name in nowhere\.invalid cannot be found \((ENOTFOUND|EAI_AGAIN)\)/),
    })
  })

  it('is one without TLS behind https://, said at once', async () => {
    const server = await serve([])
    const { record, seen } = await callOnce(modelAt(server.url.replace('http:', 'https:')))
    expect([record, seen]).toEqual([
      callFailed(
        expect.stringMatching(
          /does not speak TLS as expected \(.+\): a server without TLS needs http:\/\/ in ANTHROPIC_BASE_URL\.$/,
        ),
      ),
      [],
    ])
  })

  it('is one that speaks no HTTP', async () => {
    const server = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('SSH-2.0-OpenSSH\r\n'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closeLater({ close: () => new Promise((resolve) => server.close(resolve)) })
    const { port } = server.address() as { port: number }
    const { record } = await callOnce(modelAt(`http://127.0.0.1:${port}`, { retryMs: 50 }))
    expect(record).toMatchObject({ message: expect.stringMatching(/broke before the answer was whole \(HPE_.+\)/) })
  })

  it('is tried again after a time of silence that counts', async () => {
    const { record, server } = await run(() => hang(), { idleMs: 200, retryMs: 350 })
    expect(server.requests.length).toBe(2)
    expect(record).toEqual(callFailed(expect.stringMatching(/did not answer for 0\.2 seconds\. It was tried 2 times/)))
  })
})

describe('broken tool input in a broken stream', () => {
  it('is not a reply', async () => {
    const fault = reply([callWithJson('bash', '{"command":"rm -rf x', 'a')], {
      cut: { after: 'json_delta', by: 'end' },
    })
    const { record } = await run([fault, GOOD])
    expect(record).toEqual(GOOD_RECORD)
  })
})
