/** What users hit in the first week, one test a kind; docs/cases.md lists which case is held where. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { apiError, call, callWithJson, raw, reply, thinking } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

describe('before the run', () => {
  test('a store of an unknown kind is a wrong setting: nobody pays for a run that cannot be kept', async () => {
    const { model, run } = await setUp(['never'])
    for (const uri of ['foo://bar', 'mysql://127.0.0.1:1/x', 'sqlite://']) {
      const end = await run(['-p', 'x'], { env: { AGENT_STORE: uri } })
      expect({
        code: end.code,
        named: end.stderr.includes(uri),
        lines: end.stderr.trimEnd().split('\n').length,
      }).toEqual({ code: 2, named: true, lines: 1 })
    }
    expect(model.requests).toEqual([])
  })

  test.each([
    ['AGENT_STREAM_IDLE_MS', '90s'],
    ['AGENT_STREAM_IDLE_MS', '0'],
    ['AGENT_RETRY_MS', '-1'],
    ['AGENT_SIDE_CALL_MS', '1.5'],
  ])('%s=%s is named, not passed over', async (name, value) => {
    const { model, run } = await setUp(['never'])
    const end = await run(['-p', 'x'], { env: { [name]: value } })
    expect([end.code, end.stderr.includes(name), end.stderr.includes(value)]).toEqual([2, true, true])
    expect(model.requests).toEqual([])
    const without = await run(['-p', 'x'], { env: { [name]: ' ' } })
    expect(without.code).toBe(0)
  })

  test('AGENT_HOME=~/x, as a service file passes it on, is below the home directory', async () => {
    const { home, dir, bare } = await setUp(['fine'])
    const end = await bare(['-p', 'x'], { cwd: dir, env: { AGENT_HOME: '~/kept' } })
    expect(end.code).toBe(0)
    expect({ home: readdirSync(home), dir: readdirSync(dir) }).toEqual({ home: ['kept'], dir: [] })
  })

  test.each([
    ['config', 'x'],
    ['demo', 'x'],
  ])('agent %s %s: an argument too many is named', async (...args) => {
    const { bare } = await setUp([])
    const end = await bare(args)
    expect([end.code, end.stdout, end.stderr]).toEqual([
      2,
      '',
      `agent: Unexpected argument "x": agent ${args[0]} takes none.\n`,
    ])
  })

  test('agent help is agent --help', async () => {
    const { bare } = await setUp([])
    const [word, flag] = await Promise.all([bare(['help']), bare(['--help'])])
    expect(word).toEqual(flag)
  })

  test('a pipe that is not waited for is said, since what comes later is lost', async () => {
    const { model, home, dir } = await setUp(['fine'])
    const child = startAgent(['-C', dir, '-p', 'hi'], { url: model.url, home, stdin: '' })
    const end = await ended(child)
    child.stdin?.destroy()
    expect([end.code, end.stderr]).toEqual([
      0,
      expect.stringMatching(/^warning: stdin is a pipe .* < \/dev\/null\.\n$/),
    ])
    expect(resultOf(end).result).toBe('fine')
  })
})

describe('a server that speaks the API imperfectly', () => {
  test('text whose block was never announced is the answer all the same', async () => {
    const events = [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 5 } } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'all ' } },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'here' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const { run } = await setUp([raw({ headers: { 'content-type': 'text/event-stream' }, body })])
    const end = await run(['-p', 'x'])
    expect(resultOf(end)).toMatchObject({ subtype: 'success', result: 'all here' })
  })
})

describe('a bound that is not itself allowed', () => {
  test('is said as it is: a timeout of 0 ms must be more than 0', async () => {
    const { model, run } = await setUp([reply([call('bash', { command: 'touch p', timeout: 0 })]), 'done'])
    await run(['--yes', '-p', 'x'])
    expect(JSON.stringify(model.requests[1]?.body.messages.at(-1))).toContain('timeout must be more than 0, not 0.')
  })
})

describe('what is nested too deeply for a parser', () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

  test.each([101, 5_000, 100_000])(
    '%i levels in the input of a call: told to the model, and the run goes on',
    async (n) => {
      const { model, run, dir } = await setUp([
        reply([callWithJson('bash', `{"command": ${deep(n)}}`), call('bash', { command: 'touch p' })]),
        'done',
      ])
      const end = await run(['--yes', '-p', 'x'])
      expect([end.code, resultOf(end).result, model.problems]).toEqual([0, 'done', []])
      expect(JSON.stringify(model.requests[1]?.body.messages.at(-1))).toContain('nested more than 100 deep')
      expect(existsSync(join(dir, 'p'))).toBe(false)
      expect((await run(['-c', '-p', 'y'])).code).not.toBe(2)
    },
  )

  test('settings of a project: exit 2, and the file is named', async () => {
    const { model, run, dir } = await setUp(['never'])
    mkdirSync(join(dir, '.agent'))
    writeFileSync(join(dir, '.agent/settings.json'), `{"model": ${deep(100_000)}}`)
    const end = await run(['-p', 'x'])
    expect([end.code, resultOf(end).is_error, end.stderr]).toEqual([
      2,
      true,
      expect.stringMatching(/^error: .*settings\.json, line 1: this is nested more than 100 deep.*\n$/),
    ])
    expect(model.requests).toEqual([])
  })

  test('brackets in texts and comments are no levels', async () => {
    const { run, dir } = await setUp(['fine'])
    mkdirSync(join(dir, '.agent'))
    const open = '['.repeat(200)
    writeFileSync(join(dir, '.agent/settings.json'), `{"model": "m\\"${open}" /* ${open} */ } // ${open}`)
    expect((await run(['-p', 'x'])).code).toBe(0)
  })
})

describe('odd files in the home', () => {
  test('a trust.json that is a pipe trusts nothing, and nobody waits for it', async () => {
    const { home, run } = await setUp(['fine'])
    mkdirSync(join(home, '.agent'))
    execFileSync('mkfifo', [join(home, '.agent/trust.json')])
    expect((await run(['-p', 'x'])).code).toBe(0)
    const end = await run(['trust'])
    expect([end.code, end.stderr]).toEqual([expect.any(Number), expect.stringContaining('trust.json is not a file')])
  })

  test('a .agent that links to nothing: the answer comes, and what is wrong is said in a sentence', async () => {
    const { home, run } = await setUp(['fine'])
    symlinkSync('/nowhere/at/all', join(home, '.agent'))
    const end = await run(['-p', 'x'])
    expect([end.code, resultOf(end).result, end.stderr]).toEqual([1, 'fine', expect.stringContaining('leads nowhere')])
  })
})

describe('an answer without a word', () => {
  test('is said on stderr in a text run', async () => {
    const { run } = await setUp([reply([thinking('Hm.')])])
    const end = await run(['-p', 'x', '--output-format', 'text'])
    expect([end.code, end.stdout, end.stderr]).toEqual([
      0,
      '',
      expect.stringContaining('note: The answer has no text.'),
    ])
  })
})

describe('calls of one reply', () => {
  const big = call('write_file', { path: 'big', content: 'x'.repeat(20_000_000) })

  test('a command and a search see what the writes before them wrote, whole', async () => {
    const { model, run } = await setUp([
      reply([big, call('bash', { command: 'wc -c < big; ls -A' }), call('glob', { pattern: '**/*' })]),
      'done',
    ])
    expect((await run(['--yes', '-p', 'x'])).code).toBe(0)
    const results = model.requests[1]?.body.messages.at(-1)?.content
    expect(results?.slice(1).map(({ content }) => content)).toEqual(['20000000\nbig', 'big'])
  })

  test('a search before a write does not see it half done', async () => {
    const { model, run } = await setUp([reply([call('glob', { pattern: '**/*' }), big]), 'done'])
    expect((await run(['--yes', '-p', 'x'])).code).toBe(0)
    const [search] = model.requests[1]?.body.messages.at(-1)?.content ?? []
    expect(String(search?.content)).toContain('No file matches')
  })

  test('a write does not wait for a command before it', async () => {
    const { model, run } = await setUp([
      reply([
        call('bash', { command: 'until [ -e made ]; do sleep 0.05; done; echo seen', timeout: 20_000 }),
        call('write_file', { path: 'made', content: 'x' }),
      ]),
      'done',
    ])
    expect((await run(['--yes', '-p', 'x'])).code).toBe(0)
    expect(model.requests[1]?.body.messages.at(-1)?.content[0]).toMatchObject({ content: 'seen' })
  })
})

describe('an image that the API refuses', () => {
  /** A PNG whose data was cut. */
  const CUT = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk', 'base64')
  const refused = apiError(400, 'invalid_request_error', 'messages.0.content.1: Could not process image')

  test('in a result: the run goes on without it', async () => {
    const { model, dir, run } = await setUp(({ raw: sent }, n) => {
      if (n === 0) return reply([call('read_file', { path: 'cut.png' })])
      return sent.includes('"image/png"') ? refused : 'fine'
    })
    writeFileSync(join(dir, 'cut.png'), CUT)
    expect(resultOf(await run(['-p', 'look at it']))).toMatchObject({ is_error: false, result: 'fine' })
    expect(resultOf(await run(['-c', '-p', 'again']))).toMatchObject({ is_error: false, result: 'fine' })
    expect(model.problems).toEqual([])
  })

  test('in the prompt: the session is not stuck with it', async () => {
    const { model, dir, run } = await setUp(({ raw: sent }) => (sent.includes('"image/png"') ? refused : 'fine'))
    writeFileSync(join(dir, 'cut.png'), CUT)
    await run(['-p', 'look at @cut.png'])
    expect(resultOf(await run(['-c', '-p', 'without it']))).toMatchObject({ is_error: false, result: 'fine' })
    expect(model.problems).toEqual([])
  })
})
