/** `agent fork <id> --at <k> [-p …]` (contract.md, section 10). */
import { expect, test } from 'vitest'
import type { JournalEntry } from '../../src/machines/journal.ts'
import { call, reply } from '../support/fakeModel.ts'
import { atTerminal, HAS_TERMINAL } from '../support/pty.ts'
import { type SetUp, setUp } from './setUp.ts'

/** Two rounds of tools, the first with parallel calls: 20 transitions and more. */
const ROUNDS = [
  reply(['Looking.', call('bash', { command: 'echo one' }), call('bash', { command: 'echo two' })]),
  reply([call('write_file', { path: 'a.txt', content: 'a' })]),
  reply('Done.'),
]

interface Fork {
  session_id: string
  forked_from: string
  at: number
}

async function exported({ bare }: SetUp, id: string): Promise<JournalEntry[]> {
  const { stdout } = await bare(['sessions', 'export', id])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JournalEntry)
}

async function recorded(): Promise<SetUp & { id: string; of: number }> {
  let n = 0
  const it = await setUp(() => ROUNDS[n++] ?? reply('Went on.'))
  const first = await it.run(['--yes', '-p', 'Begin.'])
  const id = (JSON.parse(first.stdout) as { session_id: string }).session_id
  const trace = await it.bare(['trace', id, '--json'])
  return { ...it, id, of: trace.stdout.trim().split('\n').length }
}

test('a fork at every transition goes on with a valid request, and its source stays as it is', async () => {
  const it = await recorded()
  expect(it.of).toBeGreaterThanOrEqual(20)
  const before = (await it.bare(['sessions', 'export', it.id])).stdout
  const outcomes: unknown[] = []
  for (let k = 1; k <= it.of; k++) {
    const forked = await it.bare(['fork', it.id, '--at', String(k), '--json'])
    const fork = JSON.parse(forked.stdout) as Fork
    const went = await it.bare(['--yes', '-r', fork.session_id, '-p', `Go on from ${k}.`])
    outcomes.push({
      from: fork.forked_from,
      at: fork.at,
      fork: forked.code,
      went: went.code,
      problems: it.model.problems,
    })
    const last = it.model.requests.at(-1)?.body.messages.at(-1)
    expect(JSON.stringify(last)).toContain(`Go on from ${k}.`)
  }
  expect(outcomes).toEqual(
    Array.from({ length: it.of }, (_, i) => ({ from: it.id, at: i + 1, fork: 0, went: 0, problems: [] })),
  )
  expect((await it.bare(['sessions', 'export', it.id])).stdout).toBe(before)
}, 300_000)

test('a fork holds the records of the beginning, and says where it comes from', async () => {
  const it = await recorded()
  const source = await exported(it, it.id)
  // The reply whose calls are still open.
  const k = 5
  const fork = JSON.parse((await it.bare(['fork', it.id, '--at', String(k), '--json'])).stdout) as Fork
  const records = (await exported(it, fork.session_id)).map(({ record }) => record)
  const [opened, ...rest] = source.slice(0, records.length).map(({ record }) => record)
  expect(records.at(-1)?.type).toBe('reply')
  expect(records).toEqual([
    { ...opened, session_id: fork.session_id, forked_from: { session_id: it.id, at: records.length } },
    ...rest,
  ])
})

test('calls that were open where the fork was cut never started there', async () => {
  const it = await recorded()
  const fork = await it.bare(['fork', it.id.slice(0, 8), '--at', '5'])
  await it.bare(['--yes', '-r', fork.stdout.trim(), '-p', 'And now?'])
  const results = it.model.requests.at(-1)?.body.messages.at(-1)?.content ?? []
  const told = results.map(({ type, is_error, content }) => ({ type, is_error, content }))
  expect(told.slice(0, 2)).toEqual([
    { type: 'tool_result', is_error: true, content: expect.stringMatching(/^Never started: /) },
    { type: 'tool_result', is_error: true, content: expect.stringMatching(/^Never started: /) },
  ])
})

test('an unfinished fork can be carried on without a prompt: its calls run then', async () => {
  const it = await recorded()
  const fork = await it.bare(['fork', it.id, '--at', '6'])
  const went = await it.bare(['--yes', '-r', fork.stdout.trim()])
  expect(went.code).toBe(0)
  expect(it.model.problems).toEqual([])
})

test('with -p the prompt runs in the fork, and the result says where it was cut', async () => {
  const it = await recorded()
  const end = await it.bare(['fork', it.id, '--at', '5', '--yes', '-p', '--help me'])
  const result = JSON.parse(end.stdout) as Record<string, unknown>
  expect(end.code).toBe(0)
  expect(result).toMatchObject({ type: 'result', result: 'Went on.', forked_from: it.id, at: 5 })
  expect(result.session_id).not.toBe(it.id)
  const list = JSON.parse((await it.run(['sessions', '--json'])).stdout) as Array<{ session_id: string; cwd: string }>
  expect(list.map(({ session_id, cwd }) => ({ session_id, cwd }))).toEqual([
    { session_id: result.session_id, cwd: it.dir },
    { session_id: it.id, cwd: it.dir },
  ])
})

test('without --at the fork is of the whole session', async () => {
  const it = await recorded()
  const fork = JSON.parse((await it.bare(['fork', it.id, '--json'])).stdout) as Fork
  expect(fork).toEqual({ session_id: expect.any(String), forked_from: it.id, at: it.of })
  expect((await exported(it, fork.session_id)).length).toBe((await exported(it, it.id)).length)
})

test('what is no transition, no session or no argument ends with 2 and one sentence', async () => {
  const it = await recorded()
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await it.bare(['fork', ...args])
    return { code, stdout, stderr: stderr.trim() }
  }
  const range = (typed: string) =>
    `agent: --at is the number of a transition, from 1 to ${it.of}, not "${typed}": agent trace ${it.id} lists them.`
  expect(await said(it.id, '--at', '0')).toEqual({ code: 2, stdout: '', stderr: range('0') })
  expect(await said(it.id, '--at', `${it.of + 1}`)).toEqual({ code: 2, stdout: '', stderr: range(`${it.of + 1}`) })
  expect(await said(it.id, '--at', '-1')).toEqual({ code: 2, stdout: '', stderr: range('-1') })
  expect(await said(it.id, '--at', 'x')).toEqual({ code: 2, stdout: '', stderr: range('x') })
  expect((await said('ffffffff', '--at', '1')).stderr).toMatch(/^agent: Unknown session "ffffffff"/)
  expect((await said()).stderr).toBe('agent: fork needs a session id; agent sessions --all lists them.')
  expect((await said(it.id, '--at')).stderr).toBe('agent: --at needs a value: --at <k>.')
  expect((await said(it.id, '--continue', '-p', 'x')).stderr).toBe(
    'agent: --continue does not belong to agent fork, but to a run: agent -p "<prompt>".',
  )
  expect((await said('ffffffff', '--at', '1', '-p', 'x')).code).toBe(2)
  expect((await it.run(['sessions', '--json'])).stdout.match(/session_id/g)).toHaveLength(1)
})

test.skipIf(!HAS_TERMINAL)('at a terminal it says how to go on; stdout is the bare id', async () => {
  const it = await recorded()
  const screen = atTerminal(['fork', it.id, '--at', '3'], { home: it.home })
  expect(await screen.end()).toBe(0)
  const [id, hint] = screen.seen().split('\r\n')
  expect(hint).toMatch(new RegExp(`^To go on from there: .+ -r ${id}$`))
  const piped = await it.bare(['fork', it.id, '--at', '3'])
  expect(piped).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\w-]{36}\n$/), stderr: '' })
})
