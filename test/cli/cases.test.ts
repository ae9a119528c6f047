/** What users hit in the first week, one test a kind; docs/cases.md lists which case is held where. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { call, raw, reply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

describe('before the run', () => {
  test('a store of an unknown kind is a wrong setting: nobody pays for a run that cannot be kept', async () => {
    const { model, run } = await setUp(['never'])
    for (const uri of ['foo://bar', 'redis://127.0.0.1:1', 'sqlite://']) {
      const end = await run(['-p', 'x'], { env: { AGENT_STORE: uri } })
      expect({
        code: end.code,
        named: end.stderr.includes(uri),
        lines: end.stderr.trimEnd().split('\n').length,
      }).toEqual({ code: 2, named: true, lines: 1 })
    }
    expect(model.requests).toEqual([])
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
