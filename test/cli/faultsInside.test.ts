/** Bugs of our own: a throw in any service, or where nobody catches it, still ends in a result, in time. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SCENARIOS } from '../kill/matrix.ts'
import {
  ALL_DONE,
  brain,
  effect,
  effects,
  furnish,
  latest,
  NEW_PROMPT,
  PROMPT,
  type Scenario,
} from '../kill/scenario.ts'
import { type Ended, resultOf, temporaryDirectory } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { kindOf, writeNotes } from './memorySupport.ts'
import { setUp } from './setUp.ts'

const scenario = (name: string): Scenario => SCENARIOS.find((one) => one.name === name) ?? expect.fail(name)
const ONE = scenario('one call')

function expectOneLine(end: Ended): void {
  expect(end.stderr).not.toMatch(/Unhandled|\n\s+at |node:internal/)
  expect(end.stdout.trimEnd().split('\n')).toHaveLength(1)
}

describe('a service that throws', () => {
  /** Where, in which scenario, and whether the turn has begun by then. */
  const points: Array<[string, Scenario, boolean]> = [
    ['context.expandPrompt 1 before', ONE, false],
    ['context.read 1 before', ONE, true],
    ['context.read 2 after', ONE, true],
    ['model.call 1 before', ONE, true],
    ['model.call 2 after', ONE, true],
    ['tools.check 1 before', ONE, true],
    ['permissions.settle 1 before', ONE, true],
    ['outputs.saveResult 1 before', scenario('two rounds with a large result'), true],
    ['outputs.writeTranscript 1 before', scenario('a compaction'), true],
    ['model.call 2 before', scenario('a compaction'), true],
  ]
  test.each(points)('%s: an error in the result, and the session goes on', async (point, of, begun) => {
    const place = await setUp(brain(of))
    furnish(place.home, of)
    const end = await place.run(['--yes', '-p', PROMPT], { env: { AGENT_FAULT: `throw ${point}` } })
    expectOneLine(end)
    const result = resultOf(end)
    expect([end.code, result.is_error, result.subtype]).toEqual([begun ? 1 : 2, true, 'error_during_execution'])
    expect(result.errors).toEqual([expect.stringContaining('AGENT_FAULT: ')])
    const session = await latest(place.home, place.dir)
    if (!begun) return expect(session).toBeNull()
    expect(session?.entries.at(-1)?.record).toMatchObject({ type: 'turnEnded', status: 'failed' })
    const next = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect([next.code, resultOf(next).result, place.model.problems]).toEqual([0, ALL_DONE, []])
    expect(new Set(effects(place.dir)).size).toBe(effects(place.dir).length)
  })

  test.each([
    ['journal.append 1 before', 0],
    ['journal.append 4 before', 3],
  ])('%s: the run goes on unsaved, and says so', async (point, kept) => {
    const place = await setUp(brain(ONE))
    const end = await place.run(['--yes', '-p', PROMPT], { env: { AGENT_FAULT: `throw ${point}` } })
    expectOneLine(end)
    expect([end.code, resultOf(end).result, resultOf(end).is_error]).toEqual([1, ALL_DONE, true])
    expect(resultOf(end).errors?.[0]).toMatch(/^The session could not be saved: /)
    expect((await latest(place.home, place.dir))?.entries.length ?? 0).toBe(kept === 0 ? 0 : kept + 1)
  })

  test.each(['notes.list 1 before', 'notes.add 1 before'])('%s: memory never fails the turn', async (point) => {
    const of = scenario('memory')
    const main = brain(of)
    const note = { name: 'n', type: 'user', description: 'd', body: 'b' }
    const place = await setUp((request) => {
      const kind = kindOf(request)
      return kind === 'main' ? main(request) : kind === 'extract' ? JSON.stringify([note]) : '[]'
    })
    furnish(place.home, of)
    writeNotes(place.dir, [{ name: 'work', description: 'the work', body: 'x' }])
    const end = await place.run(['--yes', '-p', PROMPT], { env: { AGENT_FAULT: `throw ${point}` } })
    expectOneLine(end)
    expect([end.code, resultOf(end).result]).toEqual([0, ALL_DONE])
  })

  test('in a subagent is an error result of its call', async () => {
    const of = scenario('a subagent')
    const place = await setUp(brain(of))
    // The first call is the parent's own.
    const end = await place.run(['--yes', '-p', PROMPT], { env: { AGENT_FAULT: 'throw model.call 2 before' } })
    expectOneLine(end)
    expect([end.code, resultOf(end).result, place.model.problems]).toEqual([0, ALL_DONE, []])
  })
})

describe('an error that nobody caught', () => {
  /** Code that runs in the agent's process some time after its start. */
  function loaded(code: string): NodeJS.ProcessEnv {
    const file = join(temporaryDirectory(), 'fault.cjs')
    writeFileSync(file, `if (process.argv.includes('-p')) setTimeout(() => { ${code} }, 600)`)
    return { NODE_OPTIONS: `--require ${file}` }
  }

  test.each([
    ['a throw in a timer', "throw new Error('boom')"],
    ['a rejected promise', "void Promise.reject(new Error('boom'))"],
  ])('%s: the run ends in order, with a result, its children too', async (_, code) => {
    const long: Scenario = { name: 'long', steps: [{ calls: [effect('a')] }, { calls: [effect('b', 'sleep 30')] }] }
    const place = await setUp((request) =>
      JSON.stringify(request.body.messages).includes(NEW_PROMPT) ? ALL_DONE : brain(long)(request),
    )
    const end = await place.run(['--yes', '-p', PROMPT], { env: loaded(code) })
    expectOneLine(end)
    expect([end.code, resultOf(end).is_error]).toEqual([1, true])
    expect(resultOf(end).errors?.[0]).toContain('internal error: boom')
    const next = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect([next.code, place.model.problems]).toEqual([0, []])
  })
})

describe('a tool that throws', () => {
  test('is an error result like any other', async () => {
    const place = await setUp((request) =>
      request.body.messages.length === 1
        ? reply([
            call('read_file', { path: 'a\0b' }, 'r'),
            call('glob', { pattern: '['.repeat(5000) }, 'g'),
            call('bash', { command: 'a\0b' }, 'b'),
          ])
        : ALL_DONE,
    )
    const end = await place.run(['--yes', '-p', PROMPT])
    expectOneLine(end)
    expect([end.code, resultOf(end).result, place.model.problems]).toEqual([0, ALL_DONE, []])
  })
})
