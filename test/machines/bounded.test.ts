import { expect, test, vi } from 'vitest'
import { createStepper } from '../../src/machines/stepper.ts'
import { type Alphabet, WHOLE } from './alphabet.ts'
import { type Bounded, checkAll, tellBounded } from './bounded.ts'
import { withGuard } from './mutants.ts'
import { journalOf } from './starts.ts'

vi.setConfig({ testTimeout: 3_600_000 })

const stepper = createStepper()

/** So many outcomes more than here: BOUNDED_DEEPER=1 takes about four times as long. */
const DEEPER = Number(process.env.BOUNDED_DEEPER ?? 0)

/** Replies with none, one and three calls, cut and refused ones; inputs that are too long; every end of a tool. */
const OUTCOMES: Alphabet = {
  ...WHOLE,
  limits: { max_turns: 3, input_tokens: 1000 },
  replies: ['answer', 'oneCall', 'threeCalls', 'cutCall', 'refusal'],
  faults: false,
}

const CASES: Array<{ start: string; alphabet: Alphabet; depth: number }> = [
  { start: 'a new session', alphabet: OUTCOMES, depth: 12 },
  { start: 'a new session', alphabet: { ...OUTCOMES, memory: true }, depth: 11 },
  { start: 'a new session', alphabet: { ...WHOLE, secondInterrupt: true }, depth: 6 },
  { start: 'an answered session over its budget', alphabet: OUTCOMES, depth: 11 },
  { start: 'a session killed while its tools ran', alphabet: OUTCOMES, depth: 9 },
  { start: 'a session with long old results', alphabet: OUTCOMES, depth: 10 },
]

test('No sequence of outcomes, kills and restarts breaks an invariant, up to a depth', () => {
  const began = performance.now()
  const results = CASES.map(({ start, alphabet, depth }): Bounded => {
    const result = checkAll(stepper, alphabet, depth + DEEPER, journalOf(stepper, start))
    console.log(`from ${start}${alphabet.memory ? ' with memory' : ''}: ${tellBounded(result)}`)
    return result
  })
  const paths = results.reduce((sum, one) => sum + one.paths, 0)
  const depth = Math.max(...results.map((one) => one.depth))
  const states = results.reduce((sum, one) => sum + one.states, 0)
  const breaches = results.flatMap(({ breach }) => (breach === null ? [] : [breach]))
  console.log(
    `bounded check: ${paths} paths, depth up to ${depth}, ${states} states, ${breaches.length} breaches, ` +
      `${Math.round((performance.now() - began) / 1000)} s`,
  )
  expect(breaches).toEqual([])
  expect(paths).toBeGreaterThan(100_000)
})

test('A breach planted on purpose is found, and told as the shortest path to it', () => {
  const planted = createStepper(withGuard('hasOpenCalls', () => () => false))
  const result = checkAll(planted, OUTCOMES, 9)
  console.log(tellBounded(result))
  expect(result.breach).toEqual({
    message: 'a call is still open',
    path: ['loadContext prompt', 'persist saved', 'callModel tool_use thinking+text+bash', 'persist saved'],
  })
})
