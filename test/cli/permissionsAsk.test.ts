/** At a terminal a person is asked before a tool runs. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as always, expect } from 'vitest'
import { call, reply } from '../support/fakeModel.ts'
import { atTerminal, HAS_TERMINAL, type Terminal } from '../support/pty.ts'
import { type SetUp, setUp } from './setUp.ts'

const test = always.runIf(HAS_TERMINAL)

function open(agent: SetUp, args: string[] = []): Terminal {
  return atTerminal(['-C', agent.dir, ...args, '-p', 'go'], { url: agent.model.url, home: agent.home })
}

function results(agent: SetUp, request: number): unknown[] {
  const content = agent.model.requests[request]?.body.messages.at(-1)?.content
  return (content as unknown as Array<{ content: string }>).map((block) => block.content)
}

test('once: the command is shown, runs, and the next one is asked for again', async () => {
  const agent = await setUp([
    reply([call('bash', { command: 'touch made; echo "a  b"' })]),
    reply([call('bash', { command: 'touch made2' })]),
    'done',
  ])
  const terminal = open(agent)
  await terminal.until('touch made; echo "a  b"')
  await terminal.until('> ')
  expect(existsSync(join(agent.dir, 'made'))).toBe(false)
  terminal.type('o\n')
  await terminal.until('touch made2')
  await terminal.until('> ')
  expect(existsSync(join(agent.dir, 'made'))).toBe(true)
  terminal.type('\nn\n')
  expect(await terminal.end()).toBe(0)
  expect(existsSync(join(agent.dir, 'made2'))).toBe(false)
  expect(terminal.seen()).toContain('done')
  expect(results(agent, 2)).toEqual([
    'Permission refused: The user said no to this call. Nothing was run. Do not try to reach the same in another way; ask what to do instead if it is not clear.',
  ])
})

test("how long a person thinks about the question is not the call's time", async () => {
  const agent = await setUp([reply([call('bash', { command: 'touch made' })]), 'done'])
  const terminal = open(agent)
  await terminal.until('touch made')
  await terminal.until('> ')
  await new Promise((resolve) => setTimeout(resolve, 500))
  terminal.type('o\n')
  expect(await terminal.end()).toBe(0)
  const [{ session_id }] = JSON.parse((await agent.run(['sessions', '--all', '--json'])).stdout)
  const entries = (await agent.run(['sessions', 'export', session_id])).stdout.trim().split('\n')
  const [started, finished] = ['toolStarted', 'toolFinished'].map((type) => {
    const { at, record } = entries.map((line) => JSON.parse(line)).find((entry) => entry.record.type === type)
    return { at: Date.parse(at), ms: record.ms }
  })
  // Records say whole milliseconds; the first of these is written before the tool begins, the other when it has ended.
  expect(finished?.ms).toBeLessThanOrEqual((finished?.at ?? 0) - (started?.at ?? 0) + 2)
})

test('a no with words tells the model what to do instead', async () => {
  const agent = await setUp([reply([call('write_file', { path: 'a.txt', content: 'x' })]), 'done'])
  const terminal = open(agent)
  await terminal.until(join(agent.dir, 'a.txt'))
  await terminal.until('> ')
  terminal.type('use b.txt please\n')
  expect(await terminal.end()).toBe(0)
  expect(results(agent, 1)).toEqual([expect.stringContaining('They say: use b.txt please')])
})

test('for this session: the same is not asked again, something else is', async () => {
  const agent = await setUp([
    reply([call('bash', { command: 'touch one' }), call('bash', { command: 'touch one' })]),
    reply([call('bash', { command: 'touch two' })]),
    'done',
  ])
  const terminal = open(agent)
  await terminal.until('touch one')
  await terminal.until('> ')
  terminal.type('s\n')
  await terminal.until('touch two')
  await terminal.until('> ')
  terminal.type('n\n')
  expect(await terminal.end()).toBe(0)
  expect([existsSync(join(agent.dir, 'one')), existsSync(join(agent.dir, 'two'))]).toEqual([true, false])
  expect(existsSync(join(agent.home, '.agent/settings.json'))).toBe(false)
})

test('always: the rule that is added is named, stands in the settings beside what was there, and holds headless', async () => {
  const agent = await setUp((_, n) => (n % 2 === 0 ? reply([call('bash', { command: 'touch made' })]) : 'done'))
  const file = join(agent.home, '.agent/settings.json')
  mkdirSync(join(agent.home, '.agent'), { recursive: true })
  writeFileSync(file, '{\n  // mine\n  "model": "m"\n}\n', { mode: 0o600 })
  const terminal = open(agent)
  await terminal.until('3  always: adds Bash(touch made) to your settings')
  await terminal.until('> ')
  terminal.type('a\n')
  expect(await terminal.end()).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(
    '{\n  // mine\n  "model": "m",\n  "permissions": {\n    "allow": [\n      "Bash(touch made)"\n    ]\n  }\n}\n',
  )
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const end = await agent.run(['-p', 'again'])
  expect(JSON.parse(end.stdout)).toMatchObject({ is_error: false, permission_denials: [] })
})

test('a rule that always wants to be asked is not offered to be allowed for good', async () => {
  const agent = await setUp([reply([call('bash', { command: 'touch made' })]), 'done'])
  mkdirSync(join(agent.home, '.agent'), { recursive: true })
  writeFileSync(join(agent.home, '.agent/settings.json'), '{"permissions": {"ask": ["Bash(touch:*)"]}}')
  const terminal = open(agent)
  await terminal.until('Bash(touch:*)')
  await terminal.until('> ')
  expect(terminal.seen()).not.toContain('always: adds')
  terminal.type('a\n')
  await terminal.until('> ')
  terminal.type('yes\n')
  expect(await terminal.end()).toBe(0)
  expect(existsSync(join(agent.dir, 'made'))).toBe(true)
})

test('control sequences cannot hide what is asked', async () => {
  const agent = await setUp([
    reply([call('bash', { command: 'rm -rf x #\x1b[2K\x1b[1A\r\x1b]0;t\x07 \u202egnirts' })]),
    'done',
  ])
  const terminal = open(agent)
  await terminal.until('rm -rf x')
  await terminal.until('> ')
  terminal.type('n\n')
  expect(await terminal.end()).toBe(0)
  const asked = terminal.seen().slice(terminal.seen().indexOf('asks:'), terminal.seen().indexOf('1  once'))
  expect(asked).toContain('rm -rf x #␛[2K␛[1A')
  expect(asked).toContain('<U+202E>gnirts')
  expect(asked).not.toMatch(/[\x1b\x07\u202e]/)
})

test('Ctrl-C at the question ends the run as elsewhere', async () => {
  const agent = await setUp([reply([call('bash', { command: 'touch made' })]), 'done'])
  const terminal = open(agent)
  await terminal.until('> ')
  terminal.type('\x03')
  expect(await terminal.end()).toBe(130)
  expect(existsSync(join(agent.dir, 'made'))).toBe(false)
})

test('with --yes, or where stdout is for a program, nobody is asked', async () => {
  const agent = await setUp((_, n) => (n % 2 === 0 ? reply([call('bash', { command: 'touch made' })]) : 'done'))
  const json = open(agent, ['--json'])
  expect(await json.end()).toBe(0)
  expect([json.seen().includes('asks:'), existsSync(join(agent.dir, 'made'))]).toEqual([false, false])
  const yes = open(agent, ['--yes'])
  expect(await yes.end()).toBe(0)
  expect([yes.seen().includes('asks:'), existsSync(join(agent.dir, 'made'))]).toEqual([false, true])
})
