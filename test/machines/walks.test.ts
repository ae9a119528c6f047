import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { agentMachine } from '../../src/machines/agent.ts'
import { graphOf } from '../../src/machines/graph.ts'
import { createStepper } from '../../src/machines/stepper.ts'
import { type Alphabet, enabledEvents, WHOLE } from './alphabet.ts'
import { breachOf, refolded } from './invariants.ts'
import { Rig } from './live.ts'
import { replayProblem, traceProblem } from './replayed.ts'
import { showEvent } from './show.ts'
import { advance, begin, crash, type World } from './world.ts'

vi.setConfig({ testTimeout: 600_000 })

const stepper = createStepper()

/** Several turns, tool rounds, compactions and errors in one session, some of its processes killed. */
const alphabets = fc.record({
  max_turns: fc.integer({ min: 1, max: 8 }),
  always: fc.boolean(),
  memory: fc.boolean(),
  long: fc.boolean(),
})
type Choices = typeof alphabets extends fc.Arbitrary<infer T> ? T : never

function alphabetOf({ max_turns, always, memory, long }: Choices): Alphabet {
  const limits = { max_turns, input_tokens: 1000, ...(always && { always }) }
  return {
    ...WHOLE,
    limits,
    memory,
    askedSummaries: true,
    secondInterrupt: true,
    result: long ? 'line '.repeat(80) : 'out',
  }
}

/** Each number is one step: what it picks depends on where the session stands, so shrinking makes sessions shorter. */
const picks = (maxLength: number) =>
  fc.noBias(fc.array(fc.nat({ max: 9_999 }), { minLength: 1, maxLength, size: 'max' }))

/** Most steps go well: a walk of coin tosses would hardly ever come to a second round. */
function pickEvent(world: World, alphabet: Alphabet, pick: number) {
  const events = enabledEvents(world, alphabet)
  const usual = events.filter(({ type }) => !type.startsWith('xstate.error.') && type !== 'interrupt')
  const likely = pick % 8 !== 0 && usual.length > 0 ? usual : events
  return likely[Math.floor(pick / 8) % likely.length]
}

const isKilled = (pick: number) => pick % 61 === 1

test('Every invariant holds on random walks through many rounds, turns and restarts', () => {
  const count = { sessions: 0, runs: 0, steps: 0, rounds: 0 }
  const taken = new Set<string>()
  fc.assert(
    fc.property(alphabets, picks(240), (choices, numbers) => {
      const alphabet = alphabetOf(choices)
      const told: string[] = []
      let world = begin(stepper)
      count.sessions++
      for (const pick of numbers) {
        if (world.standing.status === 'done' || isKilled(pick)) {
          world = crash(stepper, world)
          told.push('(a new process)')
          count.runs++
          continue
        }
        const event = pickEvent(world, alphabet, pick)
        if (event === undefined) throw new Error(`nothing can happen in ${world.state}`)
        told.push(showEvent(event))
        const next = advance(stepper, world, event)
        const breach = breachOf(world, event, next)
        if (breach !== null) throw new Error(`${breach}\n  after ${told.join('\n        ')}`)
        count.steps++
        for (const { transition, to } of next.microsteps) {
          taken.add(transition)
          if (to === 'runningTool') count.rounds++
        }
        world = next.world
      }
      const problem = refolded(world) ?? replayProblem(stepper, world.recorded.slice(0, world.kept))
      if (problem !== null) throw new Error(`${problem}\n  after ${told.join('\n        ')}`)
    }),
    { numRuns: 600 },
  )
  const transitions = graphOf(agentMachine).transitions.filter(({ scope }) => scope === 'state')
  const covered = transitions.filter(({ id }) => taken.has(id)).length
  console.log(
    `random walks: ${count.sessions} sessions, ${count.runs} restarts, ${count.steps} steps, ${count.rounds} rounds ` +
      `of tools, ${covered} of ${transitions.length} transitions`,
  )
  expect(count.rounds).toBeGreaterThan(count.sessions)
  expect(count.steps).toBeGreaterThan(count.sessions * 20)
})

test('The actor, its replay and the fold agree on 300 random walks', async () => {
  const rig = new Rig(stepper)
  const count = { sessions: 0, runs: 0, steps: 0 }
  await fc.assert(
    fc.asyncProperty(alphabets, picks(120), async (choices, numbers) => {
      const alphabet = alphabetOf(choices)
      const left = [...numbers]
      let journal: World['recorded'] = []
      count.sessions++
      while (left.length > 0) {
        const { problem, world, microsteps } = await rig.run(journal, (at) => {
          const pick = left.shift()
          if (pick === undefined || isKilled(pick) || at.standing.status === 'done') return null
          const event = pickEvent(at, alphabet, pick)
          return event === undefined ? null : { event }
        })
        count.runs++
        count.steps += microsteps.length
        const before = journal.length
        journal = world.recorded.slice(0, world.kept)
        const ended = world.standing.status === 'done'
        const told =
          problem ??
          replayProblem(stepper, journal) ??
          (ended ? traceProblem(stepper, world, before, microsteps) : null)
        if (told !== null) throw new Error(told)
      }
    }),
    { numRuns: 300 },
  )
  console.log(`random walks of the actor: ${count.sessions} sessions, ${count.runs} runs, ${count.steps} transitions`)
})
