/** What is left of a run that was killed, and how it is gone on with; test/kill has the kills themselves. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  ALL_DONE,
  brain,
  effect,
  effects,
  expectPromptOnce,
  expectTrueStory,
  latest,
  marked,
  NEW_PROMPT,
  PROMPT,
  read,
  type Scenario,
  told,
} from '../kill/scenario.ts'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const ONE: Scenario = { name: 'one call', steps: [{ calls: [effect('a')] }] }
const TWO: Scenario = { name: 'two calls', steps: [{ calls: [effect('a')] }, { calls: [effect('b')] }] }

/** A run that is killed at that point of src/run/faults.ts. */
async function killed({ run }: SetUp, point: string, args: string[] = ['-p', PROMPT]): Promise<void> {
  const end = await run(['--yes', ...args], { env: { AGENT_FAULT: `kill ${point}` } })
  expect([end.signal, end.stdout]).toEqual(['SIGKILL', ''])
}

async function idOf({ home, dir }: SetUp): Promise<string> {
  return (await latest(home, dir))?.head.session_id ?? expect.fail('no session')
}

async function until(is: () => boolean): Promise<void> {
  for (const end = Date.now() + 30_000; !is(); ) {
    if (Date.now() > end) throw new Error('it never came to be')
    await sleep(10)
  }
}

describe('agent resume <id>', () => {
  test('carries on with an unfinished turn, by a prefix of the id, from anywhere', async () => {
    const place = await setUp(brain(TWO))
    await killed(place, 'journal.append 5 after')
    const id = await idOf(place)
    const end = await place.bare(['resume', id.slice(0, 9), '--yes'])
    expect([end.code, resultOf(end).result, resultOf(end).session_id]).toEqual([0, ALL_DONE, id])
    expect(effects(place.dir)).toEqual(['toolu_a', 'toolu_b'])
    expectPromptOnce(place.model.requests.at(-1), PROMPT)
    expect(place.model.problems).toEqual([])
  })

  test('gives an answer that was written and not delivered, without asking again', async () => {
    const place = await setUp(brain(ONE))
    await killed(place, 'journal.append 7 before')
    const { entries } = (await latest(place.home, place.dir)) ?? expect.fail('no session')
    expect(entries.at(-1)?.record).toMatchObject({ type: 'reply', stop_reason: 'end_turn' })
    const before = place.model.requests.length
    const end = await place.run(['resume', await idOf(place)])
    expect([end.code, resultOf(end).result, place.model.requests.length]).toEqual([0, ALL_DONE, before])
    const again = await place.run(['resume', await idOf(place)])
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/^error: .*is finished: give a new prompt/)])
  })

  test('takes a prompt too', async () => {
    const place = await setUp(['one', 'two', 'three', 'four'])
    const { session_id } = resultOf(await place.run(['-p', 'first']))
    expect(resultOf(await place.run(['resume', session_id, '-p', 'second'])).session_id).toBe(session_id)
    expect(resultOf(await place.run(['-p', 'third', 'resume', session_id])).session_id).toBe(session_id)
    expect(place.model.requests.at(-1)?.body.messages).toHaveLength(5)
    // A -p that stands alone: the word is the prompt.
    await place.run(['-p', '--yes', 'resume'])
    expect(place.model.requests.at(-1)?.body.messages[0]?.content[0]?.text).toBe('resume')
  })

  test.each([
    ['no id', ['resume'], 'needs a session id'],
    ['an unknown id', ['resume', 'nope'], '"nope"'],
    ['two ids', ['resume', 'a', 'b'], '"b"'],
    ['another way to name a session', ['resume', 'a', '--continue'], '--continue'],
  ])('with %s is a usage error', async (_, args, culprit) => {
    const { model, run } = await setUp(['never'])
    const end = await run(args)
    expect([end.code, model.requests]).toEqual([2, []])
    expect(end.stderr.trimEnd().split('\n')).toEqual([expect.stringContaining(culprit)])
  })
})

describe('a turn that is killed again and again', () => {
  test('is gone on with each time; the prompt is there once and no effect twice', async () => {
    const steps = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ calls: [effect(id)] }))
    const place = await setUp(brain({ name: 'many', steps }))
    await killed(place, 'journal.append 5 after')
    for (const point of [
      'journal.append 1 before',
      'journal.append 1 after',
      'model.call 1 before',
      'journal.append 4 after',
    ])
      await killed(place, point, ['--continue'])
    await killed(place, 'journal.append 6 before', ['--continue', '-p', 'second'])
    await killed(place, 'journal.append 2 after', ['--continue', '-p', 'third'])
    const { entries } = (await latest(place.home, place.dir)) ?? expect.fail('no session')
    const before = place.model.requests.length
    const end = await place.run(['--yes', '--continue'])
    expect([end.code, resultOf(end).result, place.model.problems]).toEqual([0, ALL_DONE, []])
    const requests = place.model.requests.slice(before)
    expectTrueStory(entries, requests, place.dir)
    for (const prompt of [PROMPT, 'second', 'third']) expectPromptOnce(requests[0], prompt)
  })
})

describe('what a killed call is told as', () => {
  test('started: its outcome is unknown; finished: its result', async () => {
    const steps = [{ calls: [effect('a'), effect('b', 'sleep 0.2; kill -9 $PPID; sleep 1')] }]
    const place = await setUp((request) => {
      const first = request.body.messages.length === 1
      return first ? reply(steps[0]?.calls ?? []) : 'ok'
    })
    const end = await place.run(['--yes', '-p', PROMPT])
    expect(end.signal).toBe('SIGKILL')
    await place.run(['--continue', '-p', NEW_PROMPT])
    const results = told(place.model.requests)
    expect(results.get('toolu_a')).toEqual({ content: 'did toolu_a', is_error: false })
    expect(results.get('toolu_b')).toEqual({
      content: expect.stringMatching(/^Interrupted: .*outcome is unknown.*check before you do it again/),
      is_error: true,
    })
    const contents = place.model.requests.at(-1)?.body.messages.at(-1)?.content ?? []
    expect(contents.map((block) => block.tool_use_id ?? block.text)).toEqual(['toolu_a', 'toolu_b', NEW_PROMPT])
  })

  test('a batch that never began: each call never started', async () => {
    const place = await setUp(brain({ name: 'batch', steps: [{ calls: [effect('a'), effect('b')] }] }))
    await killed(place, 'tools.check 1 before')
    await place.run(['--continue', '-p', NEW_PROMPT])
    for (const id of ['toolu_a', 'toolu_b'])
      expect(told(place.model.requests).get(id)).toEqual({
        content: expect.stringMatching(/^Never started: .*Nothing of it ran/),
        is_error: true,
      })
    expect(effects(place.dir)).toEqual([])
  })
})

describe('the processes of a killed run', () => {
  const long = (marker: string): Scenario => ({
    name: 'long',
    steps: [{ calls: [effect('a', `setsid bash -c 'exec -a ${marker} sleep 300' & exec -a ${marker} sleep 300`)] }],
  })

  test('end within two seconds, the ones that have left their group too', async () => {
    const marker = `marker-${randomUUID()}`
    const place = await setUp(brain(long(marker)))
    const child = startAgent(['-C', place.dir, '--yes', '-p', PROMPT], { url: place.model.url, home: place.home })
    const end = ended(child)
    await until(() => marked(marker).length > 0)
    await sleep(200)
    child.kill('SIGKILL')
    await end
    await until(() => marked(marker).length === 0)
    const next = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect([next.code, next.stderr]).toEqual([0, ''])
  })

  test('whose watcher was killed as well are ended by the run that goes on, and no others', async () => {
    const marker = `marker-${randomUUID()}`
    const other = `other-${randomUUID()}`
    const place = await setUp(brain(long(marker)))
    const bystander = startAgent(['-C', place.dir, '--yes', '-p', PROMPT], {
      url: (await setUp(brain(long(other)))).model.url,
      home: place.home,
    })
    const bystanderEnd = ended(bystander)
    await until(() => marked(other).length > 0)
    const child = startAgent(['-C', place.dir, '--yes', '-p', PROMPT], { url: place.model.url, home: place.home })
    const end = ended(child)
    await until(() => marked(marker).length > 0)
    await sleep(200)
    for (const pid of marked('stepwright-watcher')) {
      if (read(`/proc/${pid}/stat`).includes(`) S ${child.pid} `)) process.kill(Number(pid), 'SIGKILL')
    }
    child.kill('SIGKILL')
    await end
    await sleep(300)
    const left = marked(marker).length
    expect(left).toBeGreaterThan(0)

    const next = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect(next.code).toBe(0)
    expect(next.stderr).toMatch(/^warning: The last run of this session was killed and had left \d processes running/)
    expect(marked(marker)).toEqual([])
    expect(marked(other).length).toBeGreaterThan(0)
    bystander.kill('SIGTERM')
    await bystanderEnd
  })
})

describe('a session that is resumed five times, each time with a call', () => {
  test('works each time, and nothing of the machine is in the store', async () => {
    const place = await setUp((request) => {
      const last = request.body.messages.at(-1)?.content[0]
      if (last?.type === 'tool_result') return 'ok'
      return reply([call('bash', { command: 'echo x >> log' })])
    })
    await place.run(['--yes', '-p', 'run 0'])
    for (let n = 1; n <= 5; n++) {
      const end = await place.run(['--yes', '--continue', '-p', `run ${n}`])
      expect([end.code, resultOf(end).result]).toEqual([0, 'ok'])
      if (n === 2) await killed(place, 'journal.append 4 after', ['--continue', '-p', 'killed'])
    }
    expect(place.model.problems).toEqual([])
    const { stdout } = await place.run(['sessions', 'export', await idOf(place)])
    expect(stdout).not.toMatch(/xstate|"children"|"historyValue"|"_nodes"/)
    expect(readFileSync(join(place.home, '.agent', 'sessions.sqlite'), 'latin1')).not.toContain('xstate')
  })
})
