/** A run that is told to end by a signal, at every kind of moment: contract.md, sections 2, 3, 6 and 7. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  ALL_DONE,
  brain,
  effect,
  expectAllAnswered,
  expectPromptOnce,
  expectTrueStory,
  furnish,
  latest,
  marked,
  NEW_PROMPT,
  PROMPT,
  read,
  type Scenario,
} from '../kill/scenario.ts'
import { type Ended, ended, resultOf, startAgent } from '../support/agent.ts'
import { apiError, type CapturedRequest, call, hang, reply, type ScriptedReply } from '../support/fakeModel.ts'
import { asksForSummary, input } from './compactionSupport.ts'
import { kindOf, writeNotes } from './memorySupport.ts'
import { type SetUp, setUp } from './setUp.ts'

const CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const
type Signal = keyof typeof CODES

/** What the end may take after a signal, in milliseconds, on a machine that has other things to do. */
const PATIENCE_MS = 8000

const LONG = 'exec -a MARKER sleep 300'
/** Does not go at SIGTERM, has a child in the background and one that has left its group. */
const STUBBORN = `trap '' TERM INT HUP; setsid bash -c '${LONG}' & bash -c '${LONG}' & bash -c '${LONG}'`

const plain: Scenario = {
  name: 'two steps',
  steps: [{ calls: [effect('a')] }, { calls: [effect('b'), effect('c'), effect('d')] }],
}
const long = (command: string): Scenario => ({
  name: 'a long call beside two short ones',
  steps: [{ calls: [effect('a')] }, { calls: [effect('b'), effect('c', command), effect('d')] }],
})
const delegating = (command: string): Scenario => ({
  name: 'a subagent',
  steps: [{ calls: [call('task', { description: 'SUB' }, 'toolu_t'), effect('a')] }],
  tasks: { SUB: [{ calls: [effect('s')] }, { calls: [effect('u', command)] }] },
})
const compacting: Scenario = {
  name: 'a compaction',
  steps: [{ calls: [effect('a')], options: input(50_000) }, { calls: [effect('b')] }],
  settings: { compaction: { input_tokens: 20_000 } },
}

const remembering: Scenario = {
  name: 'memory',
  steps: [{ calls: [effect('a')] }],
  settings: { memory: { enabled: true } },
}

interface Moment {
  scenario: Scenario
  /** A reply in the place of the scenario's, null for the usual one. Told of every request. */
  instead?: (request: CapturedRequest) => ScriptedReply | null
  /** Resolves when the signal is to be sent. */
  when: (place: SetUp) => Promise<unknown>
}

/** When a request comes for which `is` holds; it gets `answer`, by default none. */
function at(scenario: Scenario, is: (request: CapturedRequest) => boolean, answer: ScriptedReply = hang()): Moment {
  let tell = (): void => {}
  const asked = new Promise<void>((resolve) => {
    tell = resolve
  })
  const instead: Moment['instead'] = (request) => {
    if (!is(request)) return null
    tell()
    return answer
  }
  return { scenario, instead, when: () => asked }
}

/** So many milliseconds after that. */
function later(moment: Moment, ms: number): Moment {
  return { ...moment, when: (place) => moment.when(place).then(() => sleep(ms)) }
}

/** When all of these effects have been there for a moment, so that their results can have been written. */
function after(scenario: Scenario, ...ids: string[]): Moment {
  const when: Moment['when'] = async ({ dir }) => {
    while (!ids.every((id) => read(join(dir, 'log')).includes(`toolu_${id}\n`))) await sleep(5)
    await sleep(100)
  }
  return { scenario, when }
}

const results = ({ body }: CapturedRequest): number =>
  body.messages.flatMap(({ content }) => content).filter((block) => block.type === 'tool_result').length
const isTopic =
  (topic: string, n: number) =>
  (request: CapturedRequest): boolean =>
    request.body.messages[0]?.content[0]?.text === topic && results(request) === n

const overloaded = apiError(529, 'overloaded_error', 'Overloaded', { 'retry-after': '20' })
const half = reply(['Half a sentence that', effect('x')], { cut: { after: 'json_delta', by: 'stall' } })

/** Moments at which a session is there. */
const BEGUN: Array<[string, () => Moment]> = [
  ['while the first reply is waited for', () => at(plain, isTopic(PROMPT, 0))],
  ['while the second reply is waited for', () => at(plain, isTopic(PROMPT, 1))],
  ['while the last reply is waited for', () => at(plain, isTopic(PROMPT, 4))],
  ['in the middle of a reply', () => later(at(plain, isTopic(PROMPT, 1), half), 80)],
  ['while it waits to try again', () => later(at(plain, isTopic(PROMPT, 1), overloaded), 80)],
  ['in a tool', () => after(long(LONG), 'b', 'c', 'd')],
  ['in a tool that has started others and ignores SIGTERM', () => after(long(STUBBORN), 'b', 'c', 'd')],
  ['while the conversation is summarised', () => at(compacting, asksForSummary)],
  ['while a subagent waits for its model', () => at(delegating('true'), isTopic('SUB', 1))],
  ["in a subagent's tool", () => after(delegating(LONG), 'u', 'a')],
  ['while memories are chosen', () => at(remembering, (request) => kindOf(request) === 'recall')],
  ['while memories are made', () => at(remembering, (request) => kindOf(request) === 'extract')],
  ["in a subagent's tool that ignores SIGTERM", () => after(delegating(STUBBORN), 'u', 'a')],
]

/** Moments that no one can hold: there may be no session yet, or the run may be over. */
const PASSING: Array<[string, () => Moment]> = [
  ...[70, 110, 150, 190, 230, 300, 380].map((ms): [string, () => Moment] => [
    `${ms} ms after the start`,
    () => ({ scenario: plain, when: () => sleep(ms) }),
  ]),
  ['between a reply and its calls', () => later(at(plain, isTopic(PROMPT, 1), reply([effect('b'), effect('c')])), 10)],
  ['at the start of a tool', () => later(at(long(LONG), isTopic(PROMPT, 1), reply([effect('c', LONG)])), 30)],
  ['between a call and the next request', () => later(at(plain, isTopic(PROMPT, 1), reply([effect('b')])), 40)],
  ['right after a summary', () => later(at(compacting, asksForSummary, 'SUMMARY: done: toolu_a'), 5)],
  ['at the end of the last reply', () => later(at(plain, isTopic(PROMPT, 4), ALL_DONE), 3)],
]

interface Stopped {
  place: SetUp
  end: Ended
  ms: number
  marker: string
}

async function stopAt({ scenario, instead, when }: Moment, signal: Signal): Promise<Stopped> {
  const marker = `marker-${randomUUID()}`
  const own = JSON.parse(JSON.stringify(scenario).replaceAll('MARKER', marker)) as Scenario
  const main = brain(own)
  const usual = (request: CapturedRequest): ScriptedReply => (kindOf(request) === 'main' ? main(request) : '[]')
  const marking = (given: ScriptedReply): ScriptedReply =>
    JSON.parse(JSON.stringify(given).replaceAll('MARKER', marker)) as ScriptedReply
  let stopped = false
  const place = await setUp((request) => {
    const other = stopped ? null : instead?.(request)
    return other == null ? usual(request) : marking(other)
  })
  furnish(place.home, own)
  if (own.settings && 'memory' in own.settings)
    writeNotes(place.dir, [{ name: 'work', description: 'the work', body: 'x' }])
  const child = startAgent(['-C', place.dir, '--yes', '-p', PROMPT], {
    url: place.model.url,
    home: place.home,
    env: { AGENT_RETRY_MS: '60000' },
  })
  const end = ended(child)
  await when(place)
  stopped = true
  const sent = performance.now()
  child.kill(signal)
  return { place, end: await end, ms: performance.now() - sent, marker }
}

/** Goes on with the session twice, and holds what the model is told to what was written and done. */
async function expectToGoOn({ model, dir, home, run }: SetUp): Promise<void> {
  const { entries } = (await latest(home, dir)) ?? expect.fail('no session')
  const first = model.requests.length
  const end = await run(['--yes', '--continue', '-p', NEW_PROMPT])
  expect([end.code, resultOf(end).result, model.problems]).toEqual([0, ALL_DONE, []])
  const requests = model.requests.slice(first).filter((request) => kindOf(request) === 'main')
  expectTrueStory(entries, requests, dir)
  expectAllAnswered(entries, requests)
  expectPromptOnce(requests[0], PROMPT)
  // The new words are not part of what is summarised first.
  expectPromptOnce(requests.at(-1), NEW_PROMPT)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  describe(`${signal} ends a run in order`, () => {
    test.each(BEGUN)('%s', async (_, moment) => {
      const { place, end, ms, marker } = await stopAt(moment(), signal)
      expect([end.code, end.signal]).toEqual([CODES[signal], null])
      const result = resultOf(end)
      expect(result).toMatchObject({ type: 'result', subtype: 'error_interrupted', is_error: true })
      expect(result.errors).toEqual([`Interrupted (${signal}). To go on: agent resume ${result.session_id}`])
      expect(end.stderr).not.toMatch(/\n\s+at /)
      expect(ms).toBeLessThan(PATIENCE_MS)
      expect(marked(marker)).toEqual([])
      expect((await latest(place.home, place.dir))?.head.session_id).toBe(result.session_id)
      await expectToGoOn(place)
    })

    test.each(PASSING)('%s, whatever it is at', async (_, moment) => {
      const { place, end, marker } = await stopAt(moment(), signal)
      expect(marked(marker)).toEqual([])
      if (end.signal !== null) {
        // Node itself was still starting: nothing was.
        expect([end.signal, end.stdout, place.model.requests]).toEqual([signal, '', []])
        return
      }
      const result = resultOf(end)
      if (result.subtype === 'success') expect([end.code, result.result]).toEqual([0, ALL_DONE])
      else expect([end.code, result.subtype]).toEqual([CODES[signal], 'error_interrupted'])
      if ((await latest(place.home, place.dir)) !== null) await expectToGoOn(place)
      else expect([end.code, place.model.requests]).toEqual([CODES[signal], []])
    })
  })
}

describe('SIGHUP', () => {
  test.each(BEGUN.slice(4, 7))('ends a run in order %s', async (_, moment) => {
    const { place, end, marker } = await stopAt(moment(), 'SIGHUP')
    expect([end.code, end.signal, resultOf(end).subtype]).toEqual([129, null, 'error_interrupted'])
    expect(marked(marker)).toEqual([])
    await expectToGoOn(place)
  })
})
