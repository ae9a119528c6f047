import { spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agentEnv, CLI, type Ended, ended, resultOf } from '../support/agent.ts'
import { apiError, call, hang, reply, type ScriptedReply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const isRoot = process.getuid?.() === 0

/** Runs a line of shell in which `agent` is the agent, in the home. */
function shell({ model, home }: SetUp, line: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const script = `agent() { "${process.execPath}" "${CLI}" "$@"; }; ${line}`
  return ended(
    spawn('bash', ['-c', script], {
      cwd: home,
      env: agentEnv({ url: model.url, home, env }),
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

describe('a session id that is none', () => {
  test('is unknown in whatever form; no session is made, and none is named as if there were one', async () => {
    const agent = await setUp(['made'])
    const { session_id } = resultOf(await agent.run(['-p', 'hi']))
    const before = (await agent.run(['sessions', '--all', '--json'])).stdout
    for (const id of [
      'a/b',
      `${session_id}\n`,
      session_id.toUpperCase(),
      `${session_id}0`,
      `${session_id}/`,
      '%',
      '_',
    ]) {
      const json = await agent.run(['--resume', id, '-p', 'x'])
      expect([json.code, resultOf(json).is_error, resultOf(json).errors]).toEqual([
        2,
        true,
        [expect.stringContaining(`Unknown session ${JSON.stringify(id)}`)],
      ])
      const text = await agent.run(['--resume', id, '-p', 'x', '--output-format', 'text'])
      expect([text.code, text.stdout, text.stderr.match(/^session /m)]).toEqual([2, '', null])
    }
    expect((await agent.run(['sessions', '--all', '--json'])).stdout).toBe(before)
    expect([agent.model.requests.length, readdirSync(agent.dir)]).toEqual([1, []])
  })
})

describe('a blank prompt', () => {
  test('starts nothing and leaves the session that was named as it was', async () => {
    const agent = await setUp(['fine'])
    const { session_id } = resultOf(await agent.run(['-p', 'hi']))
    const kept = async () => [
      (await agent.run(['sessions', '--json'])).stdout,
      (await agent.run(['sessions', 'export', session_id])).stdout,
    ]
    const before = await kept()
    for (const session of [[], ['--resume', session_id], ['--continue']]) {
      for (const prompt of [['-p', ''], ['-p', '  \n'], ['-p', '\u00a0\u2003'], ['--print='], ['-p']]) {
        const end = await agent.run([...session, ...prompt])
        expect([end.code, resultOf(end).errors]).toEqual([2, [expect.stringContaining('The prompt is empty')]])
      }
    }
    expect([agent.model.requests.length, await kept()]).toEqual([1, before])
  })
})

describe('stdin beside a prompt', () => {
  test.each([
    ['a FIFO that nobody writes to', 'mkfifo f; exec 3<>f; agent -C DIR -p hi <f'],
    ['a pipe from a program that says nothing', 'exec 3< <(sleep 60); agent -C DIR -p hi <&3; kill $!'],
    ['none at all', 'agent -C DIR -p hi <&-'],
    ['no descriptor open', 'agent -C DIR -p hi <&- >&- 2>&-'],
  ])('%s: the run does not wait for it', async (_, line) => {
    const agent = await setUp(['fine'])
    const end = await shell(agent, line.replace('DIR', agent.dir))
    expect([end.code, agent.model.requests.length]).toEqual([0, 1])
    expect(agent.model.requests[0]?.body.messages[0]?.content).toHaveLength(1)
  })

  test('a socket whose other end is silent: the run does not wait for it', async () => {
    const agent = await setUp(['fine'])
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    await new Promise((resolve) => socket.once('connect', resolve))
    const child = spawn(process.execPath, [CLI, '-C', agent.dir, '-p', 'hi'], {
      env: agentEnv({ url: agent.model.url, home: agent.home }),
      stdio: [socket, 'pipe', 'pipe'],
    })
    expect((await ended(child)).code).toBe(0)
    expect(agent.model.requests).toHaveLength(1)
  })

  test('an argument of 127 KB and 300 KB beside it arrive whole', async () => {
    const agent = await setUp(['fine'])
    const [prompt, piped] = ['é'.repeat(65_000), 'line ü\n'.repeat(40_000)]
    expect((await agent.run(['-p', prompt], { stdin: piped })).code).toBe(0)
    const content = agent.model.requests[0]?.body.messages[0]?.content
    expect(content?.map(({ text }) => text === prompt || text === piped)).toEqual([true, true])
  })

  test('white space alone adds nothing', async () => {
    const agent = await setUp(['fine'])
    expect((await agent.run(['-p', 'hi'], { stdin: ' \n\t\n' })).code).toBe(0)
    expect(agent.model.requests[0]?.body.messages[0]?.content).toMatchObject([{ type: 'text', text: 'hi' }])
  })

  test('is not what the commands read: none of them waits, and the prompt has all of it', async () => {
    const commands = [
      'cat; read x; echo "[$x]"',
      'echo 1 > f; less f',
      'ssh -o BatchMode=no nowhere.invalid; echo',
      'python3 -c "input()"; echo',
    ]
    const agent = await setUp([reply(commands.map((command) => call('bash', { command }))), 'done'])
    const end = await agent.run(['--yes', '-p', '-'], { stdin: 'one\ntwo\n' })
    expect(end.code).toBe(0)
    expect(agent.model.requests[0]?.body.messages[0]?.content[0]?.text).toBe('one\ntwo\n')
    const results = agent.model.requests[1]?.body.messages.at(-1)?.content.map(({ content }) => String(content)) ?? []
    expect(results.slice(0, 2)).toEqual(['[]', '1'])
    for (const result of results) expect(result).not.toMatch(/timed out|one|two/)
  })
})

describe('-C', () => {
  test('takes any name of a directory, wherever it stands; the system prompt has it absolute, on one line', async () => {
    const agent = await setUp(() => 'ok')
    const at = (name: string) => join(agent.home, name)
    for (const name of ['rel', 'na me', 'n\nl', 'e😀']) mkdirSync(at(name))
    symlinkSync('rel', at('link'))
    const named: Array<[string[], string]> = [
      [['-C', 'rel/', '-p', 'x'], at('rel')],
      [['-p', 'x', '-C', 'rel'], at('rel')],
      [['-p', 'x', '--cwd=link/../rel'], at('rel')],
      [['-C', 'link', '-p', 'x'], at('rel')],
      [['-C', 'na me', '-p', 'x'], at('na me')],
      [['-C', 'e😀', '-p', 'x'], at('e😀')],
      [['-C', 'n\nl', '-p', 'x'], JSON.stringify(at('n\nl'))],
    ]
    for (const [args] of named) expect((await agent.bare(args)).code).toBe(0)
    const seen = agent.model.requests.map(({ body }) => /^Working directory: (.*)$/m.exec(String(body.system))?.[1])
    expect(seen).toEqual(named.map(([, directory]) => directory))
  })

  test('twice, or a link to nothing: exit 2 with its name, nothing made', async () => {
    const agent = await setUp([])
    mkdirSync(join(agent.home, 'a'))
    symlinkSync('nowhere', join(agent.home, 'dangling'))
    const twice = await agent.bare(['-C', 'a', '-C', 'a', '-p', 'x'])
    const dangling = await agent.bare(['-C', 'dangling', '-p', 'x'])
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('--cwd')])
    expect([dangling.code, dangling.stderr]).toEqual([2, expect.stringContaining('"dangling" does not exist')])
    expect([agent.model.requests, existsSync(join(agent.home, 'nowhere'))]).toEqual([[], false])
  })

  test('of a directory that may not be entered says so, with its name', async () => {
    const agent = await setUp([])
    const locked = join(agent.dir, 'locked')
    mkdirSync(locked)
    chmodSync(locked, 0)
    // Root may enter everything: then as a user with no rights of its own.
    const other = isRoot ? { uid: 65534, gid: 65534 } : {}
    if (isRoot) {
      for (const path of [agent.home, locked]) chownSync(path, 65534, 65534)
      chmodSync(agent.dir, 0o755)
    }
    const child = spawn(process.execPath, [CLI, '-C', locked, '-p', 'x'], {
      cwd: agent.home,
      env: { ...agentEnv({ url: agent.model.url, home: agent.home }), XDG_CACHE_HOME: agent.home },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...other,
    })
    const end = await ended(child)
    chmodSync(locked, 0o755)
    expect([end.code, end.stderr]).toEqual([
      2,
      `error: -C ${JSON.stringify(locked)} cannot be entered: permission denied.\n`,
    ])
  })
})

describe('colours', () => {
  const lines = [
    '--help',
    '--nope',
    '-C nowhere -p x',
    '-C DIR -p hi',
    '-C DIR -p hi --output-format text',
    'sessions',
    'config',
  ]

  test('are in no file that anything is redirected to', async () => {
    const agent = await setUp(() => 'text \u001b[31mred')
    for (const line of lines) {
      const env = { FORCE_COLOR: '3', CLICOLOR_FORCE: '1', COLORTERM: 'truecolor', TERM: 'xterm-256color' }
      const end = await shell(agent, `agent ${line.replace('DIR', agent.dir)} >o 2>e; cat o e`, env)
      expect([line, end.stdout.includes('\u001b'), end.stdout.length > 0]).toEqual([line, false, true])
    }
  })

  test.runIf(existsSync('/usr/bin/script')).each([{ NO_COLOR: '1' }, { TERM: 'dumb' }, { FORCE_COLOR: '0' }])(
    'are on no terminal with %j, for help and errors neither',
    async (env) => {
      const agent = await setUp(() => 'text \u001b[31mred')
      writeFileSync(join(agent.home, 'agent'), `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`, { mode: 0o755 })
      for (const line of lines) {
        const command = `script -qec "./agent ${line.replace('DIR', agent.dir)}" /dev/null </dev/null`
        const end = await shell(agent, command, { TERM: 'xterm-256color', ...env })
        expect([line, end.stdout.includes('\u001b'), end.stdout.length > 0]).toEqual([line, false, true])
      }
    },
  )
})

describe.runIf(existsSync('/dev/full'))('a full disk', () => {
  test('before anything came: no session is said to be kept', async () => {
    const agent = await setUp([hang()])
    const end = await shell(agent, `agent -C ${agent.dir} -p hi --output-format stream-json >/dev/full`)
    expect([end.code, end.stderr]).toEqual([
      1,
      expect.stringMatching(/error: The answer could not be written to stdout \(ENOSPC.*\)\.\n$/),
    ])
  })
})

describe('the usage of a run', () => {
  test('is that of the conversation, its subagents and its compaction; failed tries are not in it', async () => {
    const used = (input_tokens: number, output_tokens: number) => ({ usage: { input_tokens, output_tokens } })
    const replies: ScriptedReply[] = [
      apiError(529, 'overloaded_error', 'busy'),
      reply([call('task', { description: 'look' })], used(100, 10)),
      reply([call('bash', { command: 'true' })], used(1000, 100)),
      reply([call('bash', { command: 'true' })], used(1000, 100)),
      reply('seen', used(1000, 100)),
      reply([call('compact', {})], used(100, 10)),
      reply('The summary.', used(500, 50)),
      reply('done', used(100, 10)),
    ]
    const agent = await setUp(replies)
    const result = resultOf(await agent.run(['--yes', '-p', 'go']))
    expect(agent.model.problems).toEqual([])
    expect(result).toMatchObject({
      result: 'done',
      num_turns: 3,
      usage: { input_tokens: 3800, output_tokens: 380, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    })
  })
})
