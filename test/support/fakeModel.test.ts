import { afterEach, describe, expect, it } from 'vitest'
import {
  apiError,
  call,
  expectPrefixStable,
  type FakeModel,
  type FakeModelOptions,
  held,
  reply,
  type ScriptedReply,
  startFakeModel,
  thinking,
  validateRequest,
} from './fakeModel.ts'

let model: FakeModel | undefined
afterEach(async () => {
  await model?.close()
  model = undefined
})

async function start(replies: FakeModelOptions['replies']): Promise<FakeModel> {
  model = await startFakeModel({ replies })
  return model
}

const t = (text: string) => ({ type: 'text', text })
const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'bash', input: {}, ...more })
const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'x', ...more })
const image = (data: string, media_type = 'image/png') => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const TOOLS = [{ name: 'bash', description: 'Runs.', input_schema: { type: 'object' } }]
const mark = { cache_control: { type: 'ephemeral' } }
const thought = (thinkingText: string, signature = 's') => ({ type: 'thinking', thinking: thinkingText, signature })

function body(messages: unknown[], more: object = {}) {
  return { model: 'm', max_tokens: 10, system: 'S', tools: TOOLS, messages, stream: true, ...more }
}
const HELLO = body([user(t('Hi'))])

function post(server: FakeModel, content: unknown, headers: Record<string, string> = { 'x-api-key': 'k' }) {
  const text = typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content)
  return fetch(`${server.url}/v1/messages`, { method: 'POST', headers, body: text as string })
}

describe('a valid request', () => {
  it.each([
    ['a prompt', HELLO],
    [
      'two rounds of calls',
      body([
        user(t('a')),
        assistant(t('b'), use('1'), use('2')),
        user(result('1'), result('2'), t('c')),
        assistant(use('3')),
        user(result('3', { is_error: true })),
      ]),
    ],
    [
      'thinking, marks and images',
      body([
        user(t('a')),
        assistant(thought('T'), { type: 'redacted_thinking', data: 'x' }, use('1')),
        user({ ...result('1', { content: [t('x'), image('QUJD')] }), ...mark }, { ...t('b'), ...mark }),
      ]),
    ],
    ['no system, no tools', { model: 'm', max_tokens: 1, messages: [user(t('a'))] }],
    [
      'a paired escape',
      `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"\\ud83d\\ude00"}]}]}`,
    ],
    [
      'an input with any keys',
      body([user(t('a')), assistant(use('1', { input: { cache_control: 1, type: 'tool_use' } })), user(result('1'))]),
    ],
  ])('is %s', (_, request) => {
    expect(validateRequest(typeof request === 'string' ? request : JSON.stringify(request))).toBe(null)
  })
})

describe('an invalid request', () => {
  const round = (content: unknown[], ...uses: unknown[]) => body([user(t('a')), assistant(...uses), user(...content)])
  it.each([
    ['no JSON', '{', 'not valid JSON'],
    ['no object', '[]', 'not a JSON object'],
    ['no model', { ...HELLO, model: '' }, 'model: Field required'],
    ['no max_tokens', { ...HELLO, max_tokens: undefined }, 'max_tokens: Field required'],
    ['max_tokens 0', { ...HELLO, max_tokens: 0 }, 'max_tokens: Field required'],
    ['temperature', { ...HELLO, temperature: 1 }, 'temperature: Extra inputs are not permitted'],
    ['a system of blocks', { ...HELLO, system: [t('S')] }, 'system: Input should be one string'],
    ['no messages', body([]), 'at least one message'],
    ['the assistant first', body([assistant(t('a')), user(t('b'))]), 'first message must use the "user" role'],
    ['a role twice', body([user(t('a')), user(t('b'))]), 'roles must alternate'],
    ['a system role', body([{ role: 'system', content: [t('a')] }]), "role: Input should be 'user' or 'assistant'"],
    ['a final assistant message', body([user(t('a')), assistant(t('b'))]), 'must end with a user message'],
    ['an empty message', body([user()]), 'non-empty content'],
    ['an empty string', body([{ role: 'user', content: ' ' }]), 'non-whitespace'],
    ['empty text', body([user(t(''))]), 'text content blocks must be non-empty'],
    ['blank text', body([user(t(' \n'))]), 'must contain non-whitespace text'],
    [
      'blank text in a result',
      round([result('1', { content: [t(' ')] })], use('1')),
      'must contain non-whitespace text',
    ],
    ['a call without a result', round([t('b')], use('1')), 'without `tool_result` blocks immediately after: 1'],
    [
      'one of two results',
      round([result('1')], use('1'), use('2')),
      'without `tool_result` blocks immediately after: 2',
    ],
    [
      'results in two messages',
      body([user(t('a')), assistant(use('1'), use('2')), user(result('1')), assistant(t('b')), user(result('2'))]),
      'immediately after: 2',
    ],
    ['an open call at the end', body([user(t('a')), assistant(use('1'))]), 'immediately after: 1'],
    [
      'a result of nothing',
      round([result('1'), result('9')], use('1')),
      'unexpected `tool_use_id` found in `tool_result` blocks: 9',
    ],
    ['a result twice', round([result('1'), result('1')], use('1')), 'must have a single result'],
    ['results out of order', round([result('2'), result('1')], use('1'), use('2')), 'not in the order of the calls'],
    ['text before results', round([t('b'), result('1')], use('1')), 'must come before any other content'],
    [
      'an id twice',
      body([user(t('a')), assistant(use('1')), user(result('1')), assistant(use('1')), user(result('1'))]),
      'ids must be unique',
    ],
    ['an id with a colon', round([result('f:1')], use('f:1')), 'tool_use.id: String should match pattern'],
    [
      'a name with a space',
      round([result('1')], use('1', { name: 'a b' })),
      'tool_use.name: String should match pattern',
    ],
    [
      'an input that is a list',
      round([result('1')], use('1', { input: [] })),
      'input: Input should be a valid dictionary',
    ],
    [
      'an input that is text',
      round([result('1')], use('1', { input: '{}' })),
      'input: Input should be a valid dictionary',
    ],
    ['calls without tools', { ...round([result('1')], use('1')), tools: undefined }, 'must define tools'],
    [
      'a choice without tools',
      { ...HELLO, tools: undefined, tool_choice: { type: 'none' } },
      'tool_choice may only be specified',
    ],
    ['a tool twice', { ...HELLO, tools: [...TOOLS, ...TOOLS] }, 'Tool names must be unique'],
    [
      'a tool with a dot',
      { ...HELLO, tools: [{ ...TOOLS[0], name: 'a.b' }] },
      'tools.0.name: String should match pattern',
    ],
    ['a tool without schema', { ...HELLO, tools: [{ name: 'a' }] }, 'input_schema: Field required'],
    [
      'a schema of a list',
      { ...HELLO, tools: [{ name: 'a', input_schema: { type: 'array' } }] },
      "Input should be 'object'",
    ],
    [
      'thinking without signature',
      round([t('b')], { type: 'thinking', thinking: 'T' }, t('c')),
      'signature: Field required',
    ],
    ['thinking with an empty one', round([t('b')], thought('T', ''), t('c')), 'signature: Field required'],
    ['empty thinking', round([t('b')], thought(''), t('c')), 'must contain thinking'],
    ['marked thinking', round([t('b')], { ...thought('T'), ...mark }, t('c')), 'cache_control: Extra inputs'],
    ['thinking of the user', body([user(thought('T'))]), 'not allowed in a user message'],
    ['a result of the assistant', round([t('b')], result('1')), 'not allowed in an assistant message'],
    [
      'five marks',
      body([user(...Array(5).fill({ ...t('a'), ...mark }))]),
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ],
    [
      'a mark of no kind',
      body([user({ ...t('a'), cache_control: {} })]),
      "cache_control.type: Input should be 'ephemeral'",
    ],
    ['an image of a wrong type', body([user(image('QUJD', 'image/bmp'))]), 'media_type'],
    ['an image that is no base64', body([user(image('QUJ'))]), 'not valid base64'],
    ['an empty image', body([user(image(''))]), 'not valid base64'],
    ['an unknown field', body([user({ ...t('a'), id: 1 })]), 'messages.0.content.0.id: Extra inputs'],
    ['half a character', body([user(t('a\ud83d'))]), 'no low surrogate in string'],
    [
      'half a character in a key',
      round([result('1')], use('1', { input: { '\udc00': 1 } })),
      'no low surrogate in string',
    ],
  ])('is %s', (_, request, message) => {
    const answer = validateRequest(typeof request === 'string' ? request : JSON.stringify(request))
    expect(answer).toContain(message)
  })

  it('is half a character that stands in the text itself', () => {
    expect(validateRequest(JSON.stringify(HELLO).replace('Hi', '\ud83d'))).toContain('not valid UTF-8')
  })

  it('may end with the assistant after pause_turn, but not in thinking or white space', () => {
    const paused = (...content: unknown[]) =>
      validateRequest(JSON.stringify(body([user(t('a')), assistant(...content)])), { mayEndWithAssistant: true })
    expect(paused(t('b'))).toBe(null)
    expect(paused(t('b'), thought('T'))).toContain('cannot be `thinking`')
    expect(paused(t('b '))).toContain('trailing whitespace')
  })
})

describe('the fake Messages API', () => {
  it('streams a scripted reply as the events of the API and keeps the raw body', async () => {
    const server = await start([reply([thinking('Hm', 'sig'), 'Héllo', call('bash', { command: 'ls' }, 'a')])])
    const answer = await post(server, HELLO)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const names = (await answer.text()).split('\n').filter((line) => line.startsWith('event: '))
    expect([...new Set(names)]).toEqual([
      'event: message_start',
      'event: content_block_start',
      'event: content_block_delta',
      'event: content_block_stop',
      'event: message_delta',
      'event: message_stop',
    ])
    expect(server.requests.map(({ raw, path, n }) => ({ raw, path, n }))).toEqual([
      { raw: JSON.stringify(HELLO), path: '/v1/messages', n: 0 },
    ])
  })

  it('answers without a stream where none was asked for', async () => {
    const server = await start(['Hi'])
    const answer = await post(server, { ...HELLO, stream: false })
    expect(await answer.json()).toMatchObject({ type: 'message', content: [t('Hi')], stop_reason: 'end_turn' })
  })

  it('answers 400 to an invalid request, notes the problem and keeps the reply for the next', async () => {
    const server = await start(['Hi'])
    const bad = await post(server, body([user(t(''))]))
    const message = 'messages.0.content.0: text content blocks must be non-empty'
    expect([bad.status, await bad.json()]).toEqual([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message } },
    ])
    expect((await post(server, HELLO)).status).toBe(200)
    expect(server.problems).toEqual([`request 0: ${message}`])
  })

  it('refuses bytes that are no UTF-8, and requests without a key', async () => {
    const server = await start(['Hi'])
    const bytes = Buffer.concat([Buffer.from(JSON.stringify(HELLO)), Buffer.from([0x20, 0xff])])
    expect(await (await post(server, bytes)).json()).toMatchObject({
      error: { message: 'The request body is not valid UTF-8.' },
    })
    expect((await post(server, HELLO, {})).status).toBe(401)
  })

  it('refuses a thinking block of its own that was changed', async () => {
    const server = await start([reply([thinking('Hm', 'sig'), 'a']), 'b', reply([thinking('', 'empty'), 'c']), 'd'])
    await post(server, HELLO)
    const withThought = (text: string, signature: string) =>
      body([user(t('a')), assistant(thought(text, signature), t('b')), user(t('c'))])
    expect(await (await post(server, withThought('Hm!', 'sig'))).json()).toMatchObject({
      error: { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
    })
    expect((await post(server, withThought('Hm', 'sig'))).status).toBe(200)
    expect((await post(server, withThought('', 'empty'))).status).toBe(400)
    await post(server, HELLO)
    expect((await post(server, withThought('', 'empty'))).status).toBe(200)
  })

  it('takes a final assistant message only after pause_turn', async () => {
    const server = await start([reply('b', { stop_reason: 'pause_turn' }), 'c'])
    const paused = body([user(t('a')), assistant(t('b'))])
    expect((await post(server, paused)).status).toBe(400)
    await post(server, HELLO)
    expect((await post(server, paused)).status).toBe(200)
  })

  it('answers 500 and says so when its script has ended', async () => {
    const server = await start([])
    const answer = await post(server, HELLO)
    const message = 'The script of the fake model has no reply for request 0: add one, or look why it was sent.'
    expect([answer.status, await answer.json()]).toEqual([
      500,
      { type: 'error', error: { type: 'api_error', message } },
    ])
  })

  it('takes a function as its script, and holds a reply until it is released', async () => {
    const late = held('Late')
    const server = await start(
      async (request, n): Promise<ScriptedReply> =>
        n === 0 ? apiError(529, 'overloaded_error', `${request.body.messages.length}`) : late,
    )
    expect([(await post(server, HELLO)).status]).toEqual([529])
    let answered = false
    const answer = post(server, { ...HELLO, stream: false }).then((response) => {
      answered = true
      return response
    })
    await server.waitForRequest(1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(answered).toBe(false)
    late.release()
    expect(await (await answer).text()).toContain('Late')
  })
})

describe('a stable prefix', () => {
  const first = { body: body([user({ ...t('a'), ...mark })]) }
  const second = { body: body([user(t('a')), assistant(use('1')), user({ ...result('1'), ...mark })]) }
  const check =
    (...requests: unknown[]) =>
    () =>
      expectPrefixStable(requests as Parameters<typeof expectPrefixStable>[0])

  it('is one where only the marks move', () => {
    expect(check(first, second)).not.toThrow()
  })

  it.each([
    ['system', { body: { ...second.body, system: 'T' } }, '`system` of request 1 differs'],
    ['tools', { body: { ...second.body, tools: [] } }, '`tools` of request 1 differs'],
    [
      'an old message',
      { body: body([user(t('A')), assistant(use('1')), user(result('1'))]) },
      'Message 0 of request 1 differs',
    ],
    ['the order of keys', { body: body([user({ text: 'a', type: 'text' })]) }, 'Message 0 of request 1 differs'],
    ['fewer messages', { body: body([]) }, 'Message 0 of request 1 differs'],
  ])('is broken by %s', (_, next, message) => {
    expect(check(first, next)).toThrow(message)
  })
})
