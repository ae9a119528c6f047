import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf } from '../support/agent.ts'
import { atTerminal, HAS_TERMINAL } from '../support/pty.ts'
import { setUp } from './setUp.ts'

/** What is wrong → the culprit that the one line on stderr must name. */
const WRONG: Array<[string, string[], string]> = [
  ['an unknown flag', ['--nope', '-p', 'x'], '--nope'],
  ['an unknown short flag', ['-x', '-p', 'x'], '-x'],
  ['a flag without its value at the end', ['-p', 'x', '--model'], '--model'],
  ['a flag without its value before another flag', ['--model', '--yes', '-p', 'x'], '--model'],
  ['a switch with a value', ['--yes=no', '-p', 'x'], '--yes'],
  ['a flag given twice', ['--model', 'a', '--model', 'b', '-p', 'x'], '--model'],
  ['a turn cap that is no number', ['--max-turns', 'many', '-p', 'x'], 'many'],
  ['a turn cap of 0', ['--max-turns', '0', '-p', 'x'], '--max-turns'],
  ['a negative turn cap', ['--max-turns=-1', '-p', 'x'], '--max-turns'],
  ['a turn cap of 1.5', ['--max-turns', '1.5', '-p', 'x'], '1.5'],
  ['an unknown output format', ['--output-format', 'xml', '-p', 'x'], 'xml'],
  ['a blank model', ['--model', ' ', '-p', 'x'], '--model'],
  ['an empty prompt', ['-p', ''], 'prompt'],
  ['a prompt of white space', ['-p', '  \n '], 'prompt'],
  ['no prompt after -p and none on stdin', ['-p'], 'prompt'],
  ['a second prompt beside the first', ['-p', 'one', 'two'], 'two'],
  ['continue and resume together', ['-c', '-r', 'x', '-p', 'y'], '--resume'],
  ['fork without a session', ['--fork-session', '-p', 'x'], '--fork-session'],
  ['resume without an id', ['-p', 'x', '--resume'], '--resume'],
  ['resume with an empty id', ['-p', 'x', '--resume='], '--resume'],
  ['an unknown session', ['--resume', 'nope', '-p', 'x'], 'nope'],
  ['an unknown session by a whole id', ['--resume', '00000000-0000-4000-8000-000000000000', '-p', 'x'], '00000000'],
  ['a session id that is a path', ['--resume', '../../etc/passwd', '-p', 'x'], 'etc/passwd'],
  ['a session id that is a property of objects', ['--resume', '__proto__', '-p', 'x'], '__proto__'],
  ['nothing to continue', ['--continue', '-p', 'x'], 'no session'],
  ['an unknown command', ['frobnicate'], 'frobnicate'],
  ['no arguments without a terminal', [], 'prompt'],
  ['two formats', ['--json', '--output-format', 'text', '-p', 'x'], '--output-format text'],
  ['a flag of a run beside a fork without a prompt', ['fork', 'x', '--at', '1', '--yes'], '--yes'],
  ['a model beside a fork without a prompt', ['fork', 'x', '--model', 'm'], '--model'],
  ['a transition without a fork or a replay', ['trace', 'x', '--at', '1'], '--at'],
  ['all sessions where one is named', ['sessions', 'show', 'x', '--all'], '--all'],
  ['two formats of a graph', ['graph', '--json', '--format', 'dot'], '--format dot'],
  ['a flag of another command', ['config', '--no-open'], '--no-open'],
  ['settings of a chart without a session', ['graph', '--settings', 'x'], '--settings'],
  ['settings that are not there', ['--settings', 'nowhere.json', '-p', 'x'], 'nowhere.json'],
]

describe('a usage error is exit 2, one line that names the culprit, no request, no stack', () => {
  test.each(WRONG)('%s', async (_, args, culprit) => {
    const { model, run } = await setUp(['never'])
    const end = await run(args)
    expect(end.code).toBe(2)
    expect(end.stderr.trimEnd().split('\n')).toEqual([expect.stringContaining(culprit)])
    expect(end.stderr).not.toMatch(/\n\s+at /)
    expect(model.requests).toEqual([])
  })

  test.each([
    ['a missing directory', 'nope'],
    ['a file', 'file.txt'],
    ['an empty name', ''],
    ['a file with a slash', 'file.txt/x'],
  ])('-C with %s', async (_, name) => {
    const { model, home, bare } = await setUp(['never'])
    writeFileSync(join(home, 'file.txt'), '')
    const end = await bare(['-C', name, '-p', 'x'])
    expect(end.code).toBe(2)
    expect(end.stderr.trimEnd().split('\n')).toEqual([expect.stringContaining(JSON.stringify(name))])
    expect(model.requests).toEqual([])
  })

  test('a current directory that was deleted', async () => {
    const { model, home, dir, bare } = await setUp(['there'])
    const gone = join(home, 'gone')
    mkdirSync(gone)
    // The shell deletes the directory under itself before it becomes the agent.
    const { execFileSync, spawnSync } = await import('node:child_process')
    expect(execFileSync('true').toString()).toBe('')
    const { CLI, agentEnv } = await import('../support/agent.ts')
    const inGone = (line: string) =>
      spawnSync('bash', ['-c', `cd ${gone} && rmdir ${gone}; ${line}`], {
        env: agentEnv({ url: model.url, home }),
        encoding: 'utf8',
      })
    const end = inGone(`exec node ${CLI} -p x`)
    expect({ code: end.status, lines: end.stderr.trimEnd().split('\n').length }).toEqual({ code: 2, lines: 1 })
    expect(model.requests).toEqual([])
    mkdirSync(gone)
    rmdirSync(gone)
    expect((await bare(['-C', dir, '-p', 'x'])).code).toBe(0)
  })

  test.each([
    [['--resume', 'nope', '-p', 'x', '--json'], 'nope'],
    [['--nope', '-p', 'x'], '--nope'],
    [['-p', 'x', '--nope', '--output-format=stream-json'], '--nope'],
    [['-p', '--output-format text', '--max-turns', 'many', '--output-format', 'json'], 'many'],
    [['fork', 'x', '-p', 'y', '--nope'], '--nope'],
    [['resume', '--json'], 'resume'],
  ])('%j: in the JSON formats stdout is one result that says the same as stderr', async (args, culprit) => {
    const { run } = await setUp([])
    const end = await run(args)
    const session_id = args.includes('--resume') ? 'nope' : ''
    expect(end.code).toBe(2)
    expect(resultOf(end)).toMatchObject({ type: 'result', is_error: true, session_id, num_turns: 0, result: '' })
    expect(resultOf(end).errors).toEqual([expect.stringContaining(culprit)])
    expect(end.stderr).toContain(resultOf(end).errors?.[0])
  })

  test.each([
    [['--nope', '-p', 'x', '--output-format', 'text']],
    [['-p', 'x', 'y', '--output-format=text']],
    [['sessions', '--nope', '--json']],
    [['sessions', 'show', 'nope', '--json']],
    [['trace', 'nope', '--json']],
    [['frobnicate', '--json']],
  ])('%j: a run in text mode and a command say it on stderr alone', async (args) => {
    const { run } = await setUp([])
    expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^agent: .+\n$/) })
  })

  test('a prompt that is piped without -p is not lost in silence: the message names -p -', async () => {
    const { run, model } = await setUp([])
    const end = await run([], { stdin: 'do it\n' })
    expect([end.code, end.stderr]).toEqual([2, expect.stringContaining('agent -p -.')])
    expect(model.requests).toEqual([])
  })
})

describe('the key', () => {
  test('none: exit 2, told which variable, how to use a local server, and the demo', async () => {
    const { home, bare } = await setUp([])
    const end = await bare(['-p', 'x'], { env: { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '' }, home })
    expect(end.code).toBe(2)
    for (const word of ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'agent demo']) expect(end.stderr).toContain(word)
  })

  test('with a line end and spaces around it: trimmed', async () => {
    const { model, run } = await setUp(['fine'])
    const end = await run(['-p', 'x'], { env: { ANTHROPIC_API_KEY: ' sk-ant-key-1 \r\n' } })
    expect(end.code).toBe(0)
    expect(model.requests[0]?.headers['x-api-key']).toBe('sk-ant-key-1')
  })

  test('with a line end inside: exit 2, and no part of it is printed', async () => {
    const { model, run } = await setUp([])
    const end = await run(['-p', 'x', '--debug'], { env: { ANTHROPIC_API_KEY: 'sk-ant-SECRET\r\nx' } })
    expect(end.code).toBe(2)
    expect(end.stdout + end.stderr).not.toContain('SECRET')
    expect(model.requests).toEqual([])
  })
})

describe('the prompt', () => {
  test.each(['-1', '--help me', '0042', 'true', '-p', '--', '  two  spaces\n', '$& `x` \\n', '@', '-x y'])(
    'after -p %j is the prompt, byte for byte',
    async (prompt) => {
      const { model, run } = await setUp(['fine'])
      // `-p` itself is a flag of ours, so it can be a prompt only with `=`.
      const end = await run(prompt === '-p' ? ['--print=-p'] : ['-p', prompt])
      expect(end.code).toBe(0)
      expect(model.requests[0]?.body.messages[0]?.content[0]?.text).toBe(prompt)
    },
  )

  test('stands behind -p and another flag, as the positional argument', async () => {
    const { model, run } = await setUp(['fine'])
    expect((await run(['-p', '--yes', 'do it'])).code).toBe(0)
    expect(model.requests[0]?.body.messages[0]?.content[0]?.text).toBe('do it')
  })

  test.each([[['-p', '-']], [['-p']]])('%j reads it from stdin, whole', async (args) => {
    const { model, run } = await setUp(['fine'])
    const prompt = `${'ü'.repeat(150_000)}\n`
    expect((await run(args, { stdin: prompt })).code).toBe(0)
    expect(model.requests[0]?.body.messages[0]?.content[0]?.text).toBe(prompt)
  })

  test('piped stdin beside it is a second block', async () => {
    const { model, run } = await setUp(['fine'])
    expect((await run(['-p', 'sum up'], { stdin: 'the text\n' })).code).toBe(0)
    const content = model.requests[0]?.body.messages[0]?.content ?? []
    expect(content.map((block) => block.type)).toEqual(['text', 'text'])
    expect(content[0]?.text).toBe('sum up')
    expect(content[1]?.text).toContain('the text')
  })

  test('a stdin that never says anything and never closes does not hold the run', async () => {
    const { model, home, dir } = await setUp(['fine'])
    const { ended, startAgent } = await import('../support/agent.ts')
    const child = startAgent(['-C', dir, '-p', 'hi'], { url: model.url, home, stdin: '' })
    const end = await ended(child)
    expect(end.code).toBe(0)
    expect(model.requests).toHaveLength(1)
    child.stdin?.destroy()
  })
})

test.skipIf(!HAS_TERMINAL)('-p - at a terminal says that it waits for what is typed, and how that ends', async () => {
  const { home, dir, model } = await setUp(['fine'])
  const screen = atTerminal(['-C', dir, '-p', '-'], { url: model.url, home })
  await screen.until('type it, then press Ctrl-D')
  screen.type('do it\n\x04')
  expect(await screen.end()).toBe(0)
  expect(model.requests[0]?.body.messages[0]?.content[0]?.text).toBe('do it\n')
})

describe('help and version', () => {
  test('go to stdout, without a store', async () => {
    const { home, bare } = await setUp([])
    const help = await bare(['--help'])
    expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: '' })
    for (const flag of ['--resume', '--continue', '--max-turns', '--output-format', 'sessions', 'demo']) {
      expect(help.stdout).toContain(flag)
    }
    expect(Math.max(...help.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
    for (const words of [['help'], ['help', 'sessions']]) expect(await bare(words)).toEqual(help)
    const version = await bare(['--version'])
    expect(await bare(['version'])).toEqual(version)
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    const { readdirSync } = await import('node:fs')
    expect(readdirSync(home)).toEqual([])
  })
})
