/**
 * The kill matrix: all of it with `npm run test:kill`, every third case in each run of the tests
 * (AGENT_KILL_PART: every so-manieth, 1 for all).
 */
import { afterAll, describe, expect, test } from 'vitest'
import { type Kill, killAndResume, RESUMES, type Resume, SCENARIOS, SUICIDES } from './matrix.ts'
import type { Scenario } from './scenario.ts'

const PART = Number(process.env.AGENT_KILL_PART ?? 3)
/** Cases at a time. */
const LANES = 2
/** A journal is never so long here: a run that has not ended by then never will. */
const MOST = 80
const PATIENCE_MS = 600_000

let kills = 0
let failures = 0
let cases = 0

/** One case. @returns whether the run was killed there; true for a case that is left out */
async function check(scenario: Scenario, kill: Kill, resume: Resume): Promise<boolean> {
  if (cases++ % PART !== 0) return true
  try {
    const killed = await killAndResume(scenario, kill, resume)
    if (killed) kills += 1
    return killed
  } catch (error) {
    failures += 1
    const what = `${scenario.name}, ${JSON.stringify(kill)}, then ${resume}`
    throw new Error(`${what}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** Does the work for n = first, first + 1, … in lanes, until it returns false in each. */
async function untilNotKilled(work: (n: number) => Promise<boolean>, first: number): Promise<void> {
  let n = first
  const lane = async (): Promise<void> => {
    while (await work(n++)) expect(n, 'the run never ends by itself').toBeLessThan(MOST)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

describe.each(RESUMES)('then resumed %s, the session tells what happened', (resume) => {
  describe.each(SCENARIOS)('$name: killed', (scenario) => {
    test.each(['before', 'after'])(
      '%s each record',
      async (when) => {
        await untilNotKilled(
          (n) => check(scenario, { kind: 'fault', spec: `kill journal.append ${n} ${when}` }, resume),
          1,
        )
      },
      PATIENCE_MS,
    )

    test(
      'while each reply is waited for, and in the middle of it',
      async () => {
        for (const answer of ['none', 'half'] as const)
          await untilNotKilled((n) => check(scenario, { kind: 'request', n, answer }, resume), 0)
      },
      PATIENCE_MS,
    )
  })

  test.each(SUICIDES)('killed $name, after its effect', async (scenario) => {
    for (let times = 0; times < 2; times++) await check(scenario, { kind: 'tool' }, resume)
  })

  test.each([
    ['context.expandPrompt 1 before', 0],
    ['context.expandPrompt 1 after', 0],
    ['context.read 1 before', 4],
    ['context.read 2 after', 4],
    ['tools.check 2 after', 2],
    ['permissions.settle 1 after', 2],
    ['outputs.saveResult 1 before', 2],
    ['outputs.saveResult 1 after', 2],
    ['outputs.writeTranscript 1 before', 4],
    ['outputs.writeTranscript 1 after', 4],
    ['model.call 1 after', 3],
    ['notes.list 1 before', 5],
    ['notes.add 1 before', 5],
    ['notes.add 1 after', 5],
    ['outputs.saveResult 1 before', 6],
    ['outputs.saveResult 1 after', 6],
    ['outputs.saveResult 2 before', 6],
  ])('killed at %s', async (point, at) => {
    const scenario = SCENARIOS[at] ?? expect.fail('no such scenario')
    cases = 0
    expect(await check(scenario, { kind: 'fault', spec: `kill ${point}` }, resume)).toBe(true)
  })
})

afterAll(() => {
  console.log(`kill matrix: ${kills} kills, ${failures} failures${PART === 1 ? '' : ` (one case in ${PART})`}`)
})
