import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/services/ports.ts'
import { call, callWithJson, rawBlock, redacted, reply, text, thinking, validateRequest } from '../support/fakeModel.ts'
import { callOnce, KEY, modelAt, REQUEST, replied, run, serve } from './modelRig.ts'

const LS = { type: 'tool_use', id: 'a', name: 'bash', input: { command: 'ls' } }
const notRun = (why: string) =>
  `bash was not run: ${why}. Send the call again with one complete JSON object as its input.`
const textBlock = (value: string) => ({ type: 'text', text: value })

describe('a request', () => {
  it('is one POST with the key in x-api-key and a fixed order of keys', async () => {
    const { server } = await run(['Hi'])
    expect(server.requests.map(({ raw, method, path }) => ({ raw, method, path }))).toEqual([
      {
        method: 'POST',
        path: '/v1/messages',
        raw: JSON.stringify({
          model: REQUEST.model,
          max_tokens: 1000,
          system: REQUEST.system,
          tools: REQUEST.tools,
          messages: REQUEST.messages,
          stream: true,
        }),
      },
    ])
    const headers = server.requests[0]?.headers ?? {}
    expect([headers['x-api-key'], headers.authorization, headers['content-type']]).toEqual([
      KEY,
      undefined,
      'application/json',
    ])
    expect(server.requests[0]?.raw).not.toContain(KEY)
  })

  it('carries a token as a bearer, and no x-api-key', async () => {
    const { server } = await run(['Hi'], { apiKey: null, authToken: 'tok-123456' })
    const headers = server.requests[0]?.headers ?? {}
    expect([headers['x-api-key'], headers.authorization]).toEqual([undefined, 'Bearer tok-123456'])
  })

  it('leaves out an empty system, empty tools and a tool choice without tools, and sends the choice before the messages', async () => {
    const request: ModelRequest = { ...REQUEST, system: '', tools: [], tool_choice: { type: 'none' } }
    const bare = await run(['Hi'], { request })
    expect(Object.keys(bare.server.requests[0]?.body ?? {})).toEqual(['model', 'max_tokens', 'messages', 'stream'])
    const chosen = await run(['Hi'], { request: { ...REQUEST, tool_choice: { type: 'none' } } })
    expect(Object.keys(chosen.server.requests[0]?.body ?? {})).toEqual([
      'model',
      'max_tokens',
      'system',
      'tools',
      'tool_choice',
      'messages',
      'stream',
    ])
  })

  it('goes below the path prefix of the base URL', async () => {
    const server = await serve(['Hi'], { prefix: '/proxy/anthropic' })
    const { text: shown } = await callOnce(modelAt(server.url))
    expect([shown, server.requests[0]?.path]).toEqual(['Hi', '/proxy/anthropic/v1/messages'])
  })

  it('reuses one connection for the calls of a run and closes it with the run', async () => {
    const server = await serve(['One', 'Two', reply('Three', { as: 'json' }), 'Four'])
    const model = modelAt(server.url)
    for (let n = 0; n < 4; n++) await callOnce(model)
    expect([server.connections(), server.openConnections()]).toEqual([1, 1])
    model.close()
    await expect.poll(() => server.openConnections()).toBe(0)
  })
})

describe('a reply', () => {
  it('keeps its blocks in order, with signatures as they came, and shows its text as it comes', async () => {
    const { record, seen } = await run([
      reply([thinking('Hm', 'SIG+/='), redacted('XYZ'), 'Hello wörld 😀', call('bash', { command: 'ls' }, 'a')]),
    ])
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 'SIG+/=' },
      { type: 'redacted_thinking', data: 'XYZ' },
      textBlock('Hello wörld 😀'),
      LS,
    ]
    expect(record).toEqual(replied(content, { stop_reason: 'tool_use' }))
    expect(seen).toEqual(['Hello', ' wörl', 'd 😀'].map((piece) => ({ type: 'text', text: piece })))
  })

  it.each(['application/json', 'text/event-stream', 'text/plain', ''])(
    'is understood as plain JSON under the content type "%s"',
    async (contentType) => {
      const { record, text: shown } = await run([
        reply(['Hi', call('bash', { command: 'ls' }, 'a')], { as: 'json', contentType }),
      ])
      expect(record).toEqual(replied([textBlock('Hi'), LS], { stop_reason: 'tool_use' }))
      expect(shown).toBe('Hi')
    },
  )

  it.each(['text/plain', 'application/octet-stream'])(
    'is understood as a stream under the content type "%s"',
    async (contentType) => {
      const { record } = await run([reply('Hi', { contentType })])
      expect(record).toEqual(replied([textBlock('Hi')]))
    },
  )

  it('survives chunks that cut through characters and events, pings and slow pieces', async () => {
    const answer = 'é日😀 '.repeat(30).trim()
    for (const pieceBytes of [1, 2, 3, 7]) {
      const { record, text: shown } = await run([reply(answer, { pieceBytes, pings: true, deltaChars: 5 })])
      expect(record).toEqual(replied([textBlock(answer)]))
      expect(shown).toBe(answer)
    }
  })

  it.each([
    ['not one delta', null],
    ['one empty delta', ''],
    ['an empty object', '{}'],
    ['white space', ' '],
  ])('gives a tool without arguments {} where the stream has %s', async (_, json) => {
    const { record } = await run([reply([callWithJson('bash', json, 'a')])])
    expect(record).toEqual(replied([{ ...LS, input: {} }], { stop_reason: 'tool_use' }))
  })

  it.each([
    [
      'cut in a string',
      '{"command":"rm -rf x',
      /^bash was not run: its input is not valid JSON \(.+\)\. Send the call .+\.$/,
    ],
    ['null', 'null', notRun('its input is null, not a JSON object')],
    ['a list', '[]', notRun('its input is a list, not a JSON object')],
    ['a string', '"ls"', notRun('its input is a string, not a JSON object')],
    ['a number', '7', notRun('its input is a number, not a JSON object')],
    [
      'a whole object with more after it',
      '{"command":"ls"} x',
      /^bash was not run: its input is not valid JSON \(.+\)\. /,
    ],
  ])('is incomplete where an input is %s, and keeps {} for it', async (_, json, problem) => {
    const { record } = await run([reply([callWithJson('bash', json, 'a'), call('bash', { command: 'ls' }, 'b')])])
    const said = typeof problem === 'string' ? problem : expect.stringMatching(problem)
    expect(record).toEqual(
      replied(
        [
          { ...LS, input: {} },
          { ...LS, id: 'b' },
        ],
        {
          stop_reason: 'tool_use',
          incomplete: {
            reason: expect.stringMatching(
              /^None of the tool calls of your reply was run, because not all of them arrived intact\. bash \(a\): its input is .+\. Send them again with complete JSON objects as input\.$/,
            ),
            broken: [{ id: 'a', problem: said }],
          },
        },
      ),
    )
  })

  it('is incomplete in plain JSON too where an input is text', async () => {
    const { record } = await run([reply([callWithJson('bash', '"{}"', 'a')], { as: 'json' })])
    expect(record).toMatchObject({
      content: [{ ...LS, input: {} }],
      incomplete: { broken: [{ id: 'a', problem: notRun('its input is a string, not a JSON object') }] },
    })
  })

  it('is incomplete at max_tokens though the call looks whole, and names the limit', async () => {
    const { record } = await run([reply(['Now', call('bash', { command: 'ls' }, 'a')], { stop_reason: 'max_tokens' })])
    expect(record).toEqual(
      replied([textBlock('Now'), LS], {
        stop_reason: 'max_tokens',
        incomplete: {
          reason:
            'Your reply was cut off by the output limit of 1000 tokens, so none of its tool calls was run. Send them again in smaller parts, for example a large file in several edits.',
        },
      }),
    )
  })

  it('cut off by max_tokens in the input of a call names the limit, not the JSON', async () => {
    const { record } = await run([reply([callWithJson('bash', '{"command":"l', 'a')], { stop_reason: 'max_tokens' })])
    expect(record).toEqual(
      replied([{ ...LS, input: {} }], {
        stop_reason: 'max_tokens',
        incomplete: { reason: expect.stringContaining('cut off by the output limit of 1000 tokens') },
      }),
    )
  })

  it('of text alone at max_tokens is whole and says its stop reason', async () => {
    const { record } = await run([reply('Cut of', { stop_reason: 'max_tokens' })])
    expect(record).toEqual(replied([textBlock('Cut of')], { stop_reason: 'max_tokens' }))
  })

  it.each([
    ['no content', [], []],
    ['partial text', ['I ca'], [textBlock('I ca')]],
  ])('that is a refusal with %s is a reply, asked for once', async (_, blocks, content) => {
    const { record, server } = await run([reply(blocks, { stop_reason: 'refusal' })])
    expect(record).toEqual(replied(content, { stop_reason: 'refusal' }))
    expect(server.requests.length).toBe(1)
  })

  it('that is a refusal with a call does not let the call run', async () => {
    const { record } = await run([reply([call('bash', { command: 'ls' }, 'a')], { stop_reason: 'refusal' })])
    expect(record).toEqual(
      replied([LS], {
        stop_reason: 'refusal',
        incomplete: { reason: 'Your reply ended in a refusal, so none of its tool calls was run.' },
      }),
    )
  })

  it.each(['pause_turn', 'stop_sequence', 'something_new', null])('keeps the stop reason %s', async (stop_reason) => {
    const { record } = await run([reply('Hi', { stop_reason })])
    expect(record).toEqual(replied([textBlock('Hi')], { stop_reason }))
  })

  it('that fills the context window is a call that failed as too long', async () => {
    const { record, server } = await run([reply('Hi', { stop_reason: 'model_context_window_exceeded' })])
    expect(record).toEqual({
      type: 'callFailed',
      reason: 'too_long',
      message: 'The conversation has filled the context window of the model (model_context_window_exceeded).',
      status: 200,
      usage: { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      ms: expect.any(Number),
    })
    expect(server.requests.length).toBe(1)
  })

  it('skips blocks of kinds it does not know', async () => {
    const blocks = [
      rawBlock({ type: 'server_tool_use', id: 's', name: 'web', input: {} }),
      text('Hi'),
      rawBlock({ type: 7 }),
    ]
    for (const as of ['sse', 'json'] as const) {
      const { record } = await run([reply(blocks, { as })])
      expect(record).toEqual(replied([textBlock('Hi')]))
    }
  })

  it('drops empty and blank text, and thinking that could not be sent back', async () => {
    const { record } = await run([
      reply([text(''), thinking('Hm', ''), text(' \n'), redacted(''), call('bash', { command: 'ls' }, 'a')]),
    ])
    expect(record).toEqual(replied([LS], { stop_reason: 'tool_use' }))
  })

  it('keeps a thinking block whose text the server keeps to itself', async () => {
    const { record } = await run([reply([thinking('', 'SIG'), 'Hi'])])
    expect(record).toEqual(replied([{ type: 'thinking', thinking: '', signature: 'SIG' }, textBlock('Hi')]))
  })

  it('puts a replacement for half a character, and never shows half of one', async () => {
    const { record, text: shown } = await run([
      reply(['a\ud83d b', callWithJson('bash', '{"command":"x\\ud83d","\\udc00":1}', 'a')]),
    ])
    expect(record).toEqual(
      replied([textBlock('a\ufffd b'), { ...LS, input: { command: 'x\ufffd', '\ufffd': 1 } }], {
        stop_reason: 'tool_use',
      }),
    )
    expect(shown).toBe('a\ufffd b')
  })

  it('makes ids unique over the conversation, and gives them where there are none', async () => {
    const messages: ModelRequest['messages'] = [
      ...REQUEST.messages,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
    ]
    const { record } = await run(
      [
        reply([
          call('bash', {}, 'a'),
          call('bash', {}, 'b'),
          call('bash', {}, 'b'),
          call('bash', {}, ''),
          call('bash', {}, 'f:0'),
        ]),
      ],
      { request: { ...REQUEST, messages } },
    )
    const ids =
      record.type === 'reply' ? record.content.map((block) => (block.type === 'tool_use' ? block.id : null)) : []
    expect(ids).toEqual(['a_2', 'b', 'b_2', 'call', 'f_0'])
  })

  it('has names the API takes back', async () => {
    const { record } = await run([reply([call('ba sh!', {}, 'a'), call('', {}, 'b'), call('x'.repeat(200), {}, 'c')])])
    const names =
      record.type === 'reply' ? record.content.map((block) => (block.type === 'tool_use' ? block.name : null)) : []
    expect(names).toEqual(['ba_sh_', 'unnamed', 'x'.repeat(128)])
  })

  it('keeps `__proto__` in an input as a key like any other', async () => {
    const json = '{"__proto__":{"polluted":true},"constructor":1}'
    const { record } = await run([reply([callWithJson('bash', json, 'a')])])
    expect(JSON.stringify(record.type === 'reply' ? record.content : null)).toContain(`"input":${json}`)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it('counts usage fields that are missing or null as 0 and says where nothing was measured', async () => {
    const none = await run([reply('Hi', { usage: null })])
    expect(none.record).toMatchObject({
      usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      measured: false,
    })
    const some = await run([
      reply('Hi', { usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: null, server_tool_use: {} } }),
    ])
    expect(some.record).toMatchObject({
      usage: { input_tokens: 7, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      measured: true,
    })
    // A gateway that counts nothing at the start, or repeats zeros at the end.
    const zeros = await run([reply('Hi', { usage: { input_tokens: 0, output_tokens: 0 } })])
    expect(zeros.record).toMatchObject({ measured: false })
    const cached = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 3, cache_read_input_tokens: 4 }
    for (const as of ['sse', 'json'] as const) {
      const { record } = await run([reply('Hi', { usage: cached, as })])
      expect(record).toMatchObject({ usage: cached, measured: true })
    }
  })

  it('can be sent back whatever it was: the next request is valid', async () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', '\ud800', 'ok'))
    const block = fc.oneof(
      anyText.map((value) => text(value)),
      fc.tuple(anyText, anyText).map(([thought, signature]) => thinking(thought, signature)),
      anyText.map((data) => redacted(data)),
      fc
        .tuple(
          anyText,
          fc.oneof(anyText, fc.constantFrom('{}', 'null', '{"a":"\\ud800"}')),
          fc.constantFrom('a', '', 'b c'),
        )
        .map(([name, json, id]) => callWithJson(name, json, id)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 5 }), async (blocks) => {
        const { record } = await run([reply(blocks, { usage: null })], { request: REQUEST })
        if (record.type !== 'reply' || record.content.length === 0) return
        const results = record.content.flatMap((each) =>
          each.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: each.id, content: 'x' }] : [],
        )
        const content = [...results, textBlock('Go on')]
        // What only the conversation can mend: a message must not end in thinking.
        const assistant = {
          role: 'assistant',
          content: [...record.content, textBlock('.')].slice(0, results.length > 0 ? -1 : undefined),
        }
        const next = { ...REQUEST, messages: [...REQUEST.messages, assistant, { role: 'user', content }] }
        expect(validateRequest(JSON.stringify(next), { mayHaveEmptyThinking: true })).toBe(null)
      }),
      { numRuns: 60 },
    )
  })
})
