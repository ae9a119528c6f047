import { expect, test, vi } from 'vitest'
import { agentMachine } from '../../src/machines/agent.ts'
import { createStepper } from '../../src/machines/stepper.ts'
import { type Alphabet, WHOLE } from './alphabet.ts'
import { firstBreach, guardMutants, type Mutant, type Start, transitionMutants } from './mutants.ts'
import { journalOf } from './starts.ts'

vi.setConfig({ testTimeout: 600_000 })

const stepper = createStepper()

/** The smallest alphabets that reach every transition. */
const SMALL: Alphabet = { ...WHOLE, replies: ['answer', 'oneCall', 'twoCalls', 'compact', 'refusal'] }
const FEW: Alphabet = { ...WHOLE, replies: ['answer', 'oneCall'] }
const STARTS: Start[] = [
  { journal: [], alphabet: SMALL },
  { journal: [], alphabet: { ...FEW, memory: true } },
  { journal: journalOf(stepper, 'a session with long old results'), alphabet: FEW },
]

function survivors(mutants: Mutant[]): string[] {
  return mutants.filter(({ machine }) => firstBreach(machine, STARTS) === null).map(({ name }) => name)
}

test('The machine as it is breaks no invariant from these starts', () => {
  expect(firstBreach(agentMachine, STARTS)).toBeNull()
})

test('A fault in any guard is found: negated, always true, always false', () => {
  const mutants = guardMutants()
  const left = survivors(mutants)
  console.log(`faults in guards: ${mutants.length}, found: ${mutants.length - left.length}`)
  expect(left).toEqual([])
})

test('A transition that leads to any other state is found, and so is one that leaves out an action', () => {
  const mutants = transitionMutants()
  const left = survivors(mutants)
  const of = (kind: Mutant['kind']) => mutants.filter((one) => one.kind === kind).length
  console.log(
    `transitions led elsewhere: ${of('target')}, actions left out: ${of('action')}, found: ${mutants.length - left.length}`,
  )
  expect(left).toEqual([])
})
