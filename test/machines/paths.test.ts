import { describe, expect, test, vi } from 'vitest'
import { agentMachine } from '../../src/machines/agent.ts'
import { EMPTY } from '../../src/machines/conversation.ts'
import { fold } from '../../src/machines/fold.ts'
import { graphOf } from '../../src/machines/graph.ts'
import { createStepper } from '../../src/machines/stepper.ts'
import { type Alphabet, WHOLE } from './alphabet.ts'
import { coverEdges, type Path, shortestPaths, simplePaths } from './explore.ts'
import { Rig, scriptOf } from './live.ts'
import { replayProblem, traceProblem } from './replayed.ts'
import type { REPLIES } from './replies.ts'
import { journalOf, STARTS } from './starts.ts'

// Thousands of runs a test, however busy the machine is.
vi.setConfig({ testTimeout: 600_000 })

const stepper = createStepper()
const rig = new Rig(stepper)

/** More calls at once add no transition and no guard: the walks and the bounded check have them. */
const MANY: ReadonlyArray<keyof typeof REPLIES> = ['threeCalls', 'compactAndCall']
const FROM_NEW: Alphabet = { ...WHOLE, replies: WHOLE.replies.filter((kind) => !MANY.includes(kind)) }
/** What a restored session can meet that a new one cannot happens early; the rest is the same machine. */
const FROM_OLD: Alphabet = { ...WHOLE, replies: ['answer', 'twoCalls', 'compact', 'pause'] }
const WITH_MEMORY: Alphabet = { ...WHOLE, memory: true, replies: ['answer', 'oneCall', 'cutText', 'refusal'] }
const SIMPLE: Alphabet = {
  limits: { max_turns: 2, input_tokens: 1000 },
  replies: ['answer', 'compact'],
  faults: false,
  memory: false,
  result: 'out',
  secondInterrupt: false,
}

async function runAll(paths: Path[], alphabet: Alphabet, start: string): Promise<string[]> {
  const journal = journalOf(stepper, start)
  const problems: string[] = []
  for (const path of paths) {
    const { problem, world, microsteps } = await rig.run(journal, scriptOf(path, alphabet))
    const unfinished = world.standing.status === 'active' ? 'the path does not end in a final state' : null
    const told =
      problem ??
      unfinished ??
      replayProblem(stepper, world.recorded.slice(0, world.kept)) ??
      traceProblem(stepper, world, journal.length, microsteps)
    if (told !== null) problems.push(told)
  }
  return problems.slice(0, 5)
}

const CASES: Array<[string, string, Alphabet]> = [
  ...Object.keys(STARTS).map((start): [string, string, Alphabet] => {
    return [start, start, start === 'a new session' ? FROM_NEW : FROM_OLD]
  }),
  ['a new session with memory', 'a new session', WITH_MEMORY],
  ['an answered session with memory', 'an answered session', WITH_MEMORY],
]

describe.each(CASES)('From %s', (name, start, alphabet) => {
  const journal = journalOf(stepper, start)
  const conversation = journal.length === 0 ? EMPTY : fold(journal.map((entry) => entry.record))

  test('the actor follows every shortest path to every final state, and every invariant holds, and its replay agrees', async () => {
    const paths = shortestPaths(conversation, alphabet)
    expect(await runAll(paths, alphabet, start)).toEqual([])
    expect(paths.length).toBeGreaterThan(20)
    console.log(`${name}: ${paths.length} shortest complete paths`)
  })

  test('the actor takes every edge of the state graph on a complete path, and every invariant holds, and its replay agrees', async () => {
    const { states, edges, paths } = coverEdges(conversation, alphabet)
    expect(await runAll(paths, alphabet, start)).toEqual([])
    console.log(`${name}: ${paths.length} complete paths take all ${edges} edges between ${states} states`)
  })
})

test('The actor follows every simple complete path over a small alphabet, and its replay agrees', async () => {
  const paths = simplePaths(EMPTY, SIMPLE)
  expect(await runAll(paths, SIMPLE, 'a new session')).toEqual([])
  expect(paths.length).toBeGreaterThan(100)
  console.log(`${paths.length} simple complete paths over a small alphabet`)
})

test('These paths visit every state, take every transition, and see every guard say yes and no', () => {
  const { states, transitions } = graphOf(agentMachine)
  const { coverage } = rig
  // What every state only records is declared once, so it is covered once.
  const declared = (id: string) => (id.includes('|*') ? id.slice(id.indexOf('|')) : id)
  const wanted = new Set(transitions.map(({ id }) => declared(id)))
  const taken = new Set([...coverage.transitions].map(declared))
  const guards = new Set(transitions.flatMap(({ guard }) => (guard === undefined ? [] : [guard])))
  const answers = [...guards].flatMap((guard) => [`${guard}: true`, `${guard}: false`])

  console.log(
    `covered: ${coverage.states.size} of ${states.length} states, ${taken.size} of ${wanted.size} transitions, ` +
      `${coverage.guards.size} of ${answers.length} guard answers`,
  )
  expect(coverage.states).toEqual(new Set(states.map((state) => state.name)))
  expect(taken).toEqual(wanted)
  expect(coverage.guards).toEqual(new Set(answers))
  expect(guards).toEqual(new Set(Object.keys(agentMachine.implementations.guards)))
})
