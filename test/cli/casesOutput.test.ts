/** What scripts read: one document or lines that end in a result, whatever happens beside it. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentEnv, CLI, ended, resultOf, startAgent } from '../support/agent.ts'
import { apiError, call, hang, raw, reply, type ScriptedReply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

describe('stdout', () => {
  test('is one JSON document though all kinds of things have something to say', async () => {
    const { dir, run } = await setUp([
      apiError(529, 'overloaded_error', 'Overloaded'),
      reply([call('bash', { command: 'echo loud; echo loud >&2; echo loud > /dev/tty' })]),
      'fine',
    ])
    writeFileSync(join(dir, 'AGENTS.md'), 'x\n@missing.md\ny\n')
    mkdirSync(join(dir, 'skills/empty'), { recursive: true })
    writeFileSync(join(dir, 'skills/empty/SKILL.md'), '')
    mkdirSync(join(dir, '.agent'))
    writeFileSync(join(dir, '.agent/settings.json'), '{"modle": "x"}')
    const env = { NODE_OPTIONS: '--trace-warnings --trace-deprecation', DEBUG: '*' }
    const end = await run(['--yes', '--debug', '-p', 'go'], { env })
    expect([end.code, resultOf(end).result, end.stdout.endsWith('}\n')]).toEqual([0, 'fine', true])
    for (const word of ['missing.md', 'SKILL.md', 'modle', 'retry 1']) expect(end.stderr).toContain(word)
  })

  /** How a run ends → its replies, its arguments and the subtype. */
  const ENDS: Array<[string, ScriptedReply[], string[], string]> = [
    ['an answer', ['fine'], [], 'success'],
    [
      'an answer after a command left running',
      [reply([call('bash', { command: 'sleep 60 & echo' })]), 'ok'],
      [],
      'success',
    ],
    ['an error', [apiError(400, 'invalid_request_error', 'no')], [], 'error_during_execution'],
    ['a refusal', [reply([], { stop_reason: 'refusal' })], [], 'error_during_execution'],
    ['the turn cap', [reply([call('bash', { command: 'true' })])], ['--max-turns', '1'], 'error_max_turns'],
    ['a wrong session', [], ['--resume', 'nope'], 'error_during_execution'],
  ]

  test.each(ENDS)('with stream-json ends in a result after %s', async (_, replies, args, subtype) => {
    const { run } = await setUp(replies)
    const end = await run(['--yes', '--output-format', 'stream-json', ...args, '-p', 'go'])
    const lines = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const last = lines.at(-1)
    expect([
      last?.type,
      last?.subtype,
      typeof last?.result,
      lines.filter(({ type }) => type === 'result').length,
    ]).toEqual(['result', subtype, 'string', 1])
    expect(lines.every(({ session_id }) => typeof session_id === 'string')).toBe(true)
  })

  test('with stream-json ends in a result after SIGINT too', async () => {
    const { model, home, dir } = await setUp([hang()])
    const child = startAgent(['-C', dir, '--output-format', 'stream-json', '-p', 'go'], { url: model.url, home })
    const end = ended(child)
    await model.waitForRequest(0)
    child.kill('SIGINT')
    const { code, stdout } = await end
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>
    expect([code, last.type, last.subtype, last.is_error]).toEqual([130, 'result', 'error_interrupted', true])
  })
})

describe('a working directory that a command deletes', () => {
  test('makes calls fail with the reason; the answer comes and the session goes on elsewhere', async () => {
    const { model, home, bare } = await setUp([
      reply([call('bash', { command: 'rm -rf "$PWD"' })]),
      reply([call('bash', { command: 'echo a' }), call('write_file', { path: '../b', content: 'b' })]),
      'done',
      'on',
    ])
    const gone = join(home, 'gone')
    mkdirSync(gone)
    const end = await bare(['-C', gone, '--yes', '-p', 'x'])
    expect([end.code, resultOf(end).result, existsSync(gone)]).toEqual([0, 'done', false])
    expect(model.requests[2]?.body.messages.at(-1)?.content[0]).toMatchObject({ type: 'tool_result', is_error: true })
    const next = await bare(['-C', home, '-r', resultOf(end).session_id, '-p', 'y'])
    expect([next.code, resultOf(next).result, model.problems]).toEqual([0, 'on', []])
  })
})

describe('`$` patterns', () => {
  const ODD = "$& $$ $` $' $1 ${HOME} \\1"

  test('stay as they are in a skill, an output, an edit and over a compaction', async () => {
    const { model, dir, run } = await setUp([
      reply([
        call('load_skill', { name: 'odd' }),
        call('read_file', { path: 'f' }),
        call('edit_file', { path: 'f', old_text: 'OLD', new_text: ODD }),
      ]),
      reply('ok', { usage: { input_tokens: 9_000, output_tokens: 1 } }),
      `Summary: ${ODD}`,
      'done',
    ])
    mkdirSync(join(dir, 'skills/odd'), { recursive: true })
    writeFileSync(
      join(dir, 'skills/odd/SKILL.md'),
      `---\nname: odd\ndescription: 'Odd ${ODD.replaceAll("'", "''")}'\n---\n${ODD} body`,
    )
    writeFileSync(join(dir, 'f'), `OLD ${ODD} file`)
    mkdirSync(join(dir, '.agent'))
    writeFileSync(join(dir, '.agent/settings.json'), '{"compaction": {"input_tokens": 8000}}')
    expect((await run(['--yes', '-p', `one ${ODD}`])).code).toBe(0)
    expect((await run(['-c', '-p', `two ${ODD}`])).code).toBe(0)
    const [first, second, , last] = model.requests.map(({ body }) => body)
    expect(first?.system).toContain(`Odd ${ODD}`)
    const results = JSON.stringify(second?.messages.at(-1))
    for (const text of [`${ODD} body`, `OLD ${ODD} file`]) expect(results).toContain(JSON.stringify(text).slice(1, -1))
    expect(readFileSync(join(dir, 'f'), 'utf8')).toBe(`${ODD} ${ODD} file`)
    const after = JSON.stringify(last?.messages)
    for (const text of [`Summary: ${ODD}`, `two ${ODD}`]) expect(after).toContain(JSON.stringify(text).slice(1, -1))
    expect(model.problems).toEqual([])
  })
})

describe('an image beside other results', () => {
  test('stays inside its result, and the results stand first', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const { model, dir, run } = await setUp([
      reply([
        call('read_file', { path: 'a.png' }),
        call('bash', { command: 'echo b' }),
        call('read_file', { path: 'nope' }),
      ]),
      raw({ status: 400, body: '{}' }),
      'done',
    ])
    writeFileSync(join(dir, 'a.png'), png)
    expect((await run(['--yes', '-p', 'x'])).code).toBe(1)
    expect((await run(['-c', '-p', 'and now'])).code).toBe(0)
    const blocks = model.requests[2]?.body.messages.at(-1)?.content
    expect(blocks?.map(({ type }) => type)).toEqual(['tool_result', 'tool_result', 'tool_result', 'text'])
    expect(JSON.stringify(blocks?.[0])).toContain('"type":"image"')
    expect(model.problems).toEqual([])
  })
})

describe('stdin', () => {
  test.each([[['-p', 'what is it?']], [['-p', '-']]])(
    '%j: bytes that are no text are refused instead of mangled',
    async (args) => {
      const { model, run } = await setUp([])
      const end = await run(args, {
        stdin: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0xff]),
      })
      expect([end.code, end.stderr]).toEqual([
        2,
        expect.stringMatching(/^error: stdin is no UTF-8 text \(12 bytes\): .+\n$/),
      ])
      expect(model.requests).toEqual([])
    },
  )

  test('text in UTF-16 is understood; of another encoding it is said what was lost', async () => {
    const { model, run } = await setUp(['a', 'b'])
    const utf16 = await run(['-p', 'sum up'], { stdin: Buffer.from('\ufeffgrün 日\n', 'utf16le') })
    const latin1 = await run(['-p', 'sum up'], { stdin: Buffer.from('a long line with one gr\xfcn\n', 'latin1') })
    expect(model.requests.map((request) => request.body.messages[0]?.content[1]?.text)).toEqual([
      'grün 日\n',
      'a long line with one gr\ufffdn\n',
    ])
    expect([utf16.stderr, latin1.stderr]).toEqual(['', expect.stringMatching(/^warning: stdin is not all UTF-8/)])
  })

  test('a prompt that is piped in byte by byte arrives whole', async () => {
    const { model, home, dir } = await setUp(['fine'])
    const child = startAgent(['-C', dir, '-p', '-'], { url: model.url, home, stdin: '' })
    const end = ended(child)
    for (const byte of Buffer.from('é日😀')) {
      child.stdin?.write(Buffer.from([byte]))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    child.stdin?.end()
    expect((await end).code).toBe(0)
    expect(model.requests[0]?.body.messages[0]?.content).toMatchObject([{ type: 'text', text: 'é日😀' }])
  })
})

describe('help and version', () => {
  test.each(['--help', '--version'])(
    '%s: a full disk is a line and exit 1, a reader that left is neither',
    async (flag) => {
      const { home } = await setUp([])
      const shell = (line: string) => {
        const { status, stderr } = spawnSync('bash', ['-c', line], { env: agentEnv({ home }), encoding: 'utf8' })
        return [status, stderr]
      }
      const agent = `node ${CLI} ${flag}`
      expect(shell(`${agent} > /dev/full`)).toEqual([
        1,
        expect.stringMatching(/^agent: stdout cannot be written .*\n$/),
      ])
      expect(shell(`set -o pipefail; ${agent} | true`)).toEqual([0, ''])
    },
  )
})
