/** The machine with one deliberate fault: a guard that decides otherwise, a transition that leads elsewhere. */
import { type AnyStateMachine, createMachine } from 'xstate'
import { agentMachine } from '../../src/machines/agent.ts'
import type { NewEntry } from '../../src/machines/journal.ts'
import { createStepper, type Stepper } from '../../src/machines/stepper.ts'
import { type Alphabet, enabledEvents } from './alphabet.ts'
import { breachOf } from './invariants.ts'
import { showEvent } from './show.ts'
import { stateKey } from './stateKey.ts'
import { advance, begin, type World } from './world.ts'

export interface Mutant {
  name: string
  kind: 'guard' | 'target' | 'action'
  machine: AnyStateMachine
}

type Guard = (args: unknown, params: unknown) => boolean

/** @returns the machine with this guard replaced */
export function withGuard(name: string, change: (guard: Guard) => Guard): AnyStateMachine {
  const guards = agentMachine.implementations.guards as unknown as Record<string, Guard>
  const guard = guards[name]
  if (guard === undefined) throw new Error(`no guard ${name}`)
  return agentMachine.provide({ guards: { [name]: change(guard) } as never })
}

/** @returns each guard negated, always true and always false */
export function guardMutants(): Mutant[] {
  return Object.keys(agentMachine.implementations.guards).flatMap((name): Mutant[] => [
    { name: `${name} is negated`, kind: 'guard', machine: withGuard(name, (g) => (args, params) => !g(args, params)) },
    { name: `${name} is always true`, kind: 'guard', machine: withGuard(name, () => () => true) },
    { name: `${name} is always false`, kind: 'guard', machine: withGuard(name, () => () => false) },
  ])
}

/** @returns each transition led to each other state, and each with one of its actions left out */
export function transitionMutants(): Mutant[] {
  const states = Object.keys(agentMachine.config.states ?? {})
  const count = transitionsIn(copyOf(agentMachine.config)).length
  return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
    const original = transitionsIn(copyOf(agentMachine.config))[at] as Place
    const { target, actions } = original.transition
    const redirected = states.filter((state) => target !== undefined && state !== target)
    const all = actions === undefined ? [] : [actions].flat()
    return [
      ...redirected.map((state) =>
        mutant(at, `${original.name} leads to ${state}`, 'target', (t) => ({ ...t, target: state })),
      ),
      ...all.map((action, i) =>
        mutant(at, `${original.name} leaves out ${nameOf(action)}`, 'action', (t) => ({
          ...t,
          actions: all.filter((_, n) => n !== i),
        })),
      ),
    ]
  })
}

function nameOf(action: unknown): string {
  return typeof action === 'string' ? action : (action as { type: string }).type
}

interface Transition {
  target?: string
  actions?: unknown
}

interface Place {
  name: string
  transition: Transition
  replace(transition: Transition): void
}

type Config = Record<string, unknown>

function mutant(
  at: number,
  name: string,
  kind: Mutant['kind'],
  change: (transition: Transition) => Transition,
): Mutant {
  const config = copyOf(agentMachine.config) as Config
  const place = transitionsIn(config)[at] as Place
  place.replace(change(place.transition))
  return { name, kind, machine: createMachine(config as never, agentMachine.implementations as never) }
}

/** A copy of plain objects and lists; functions stay. */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)])) as T
}

/** Every transition of the config, in a fixed order, however it is written. */
function transitionsIn(config: unknown): Place[] {
  const { on = {}, states = {} } = config as { on?: Config; states?: Record<string, Config> }
  return [
    ...placesIn('anywhere', on),
    ...Object.entries(states).flatMap(([state, node]) => {
      const invoke = node.invoke as Config | undefined
      return [
        ...placesIn(state, (node.on ?? {}) as Config),
        ...(invoke === undefined ? [] : placesIn(state, invoke, ['onDone', 'onError'])),
        ...placesIn(state, node, ['always']),
      ]
    }),
  ]
}

function placesIn(state: string, holder: Config, keys = Object.keys(holder)): Place[] {
  return keys.flatMap((key) => {
    const value = holder[key]
    if (value === undefined) return []
    if (!Array.isArray(value)) {
      const replace = (transition: Transition) => {
        holder[key] = transition
      }
      return [{ name: `${state} ${key}`, transition: normal(value), replace }]
    }
    return value.map((one: unknown, i) => {
      const replace = (transition: Transition) => {
        value[i] = transition
      }
      return { name: `${state} ${key} ${i + 1}`, transition: normal(one), replace }
    })
  })
}

function normal(transition: unknown): Transition {
  return typeof transition === 'string' ? { target: transition } : (transition as Transition)
}

export interface Start {
  journal: NewEntry[]
  alphabet: Alphabet
}

/** @returns the first broken invariant of a machine on its own state graph, with the shortest path to it; null for none */
export function firstBreach(machine: AnyStateMachine, starts: Start[]): string | null {
  let stepper: Stepper
  try {
    stepper = createStepper(machine)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  for (const start of starts) {
    const breach = breachFrom(stepper, start)
    if (breach !== null) return breach
  }
  return null
}

function breachFrom(stepper: Stepper, { journal, alphabet }: Start): string | null {
  const first = begin(stepper, journal)
  const seen = new Set([stateKey(first)])
  const queue: Array<{ world: World; path: string }> = [{ world: first, path: '' }]
  for (const { world, path } of queue) {
    for (const event of enabledEvents(world, alphabet)) {
      const way = `${path} > ${showEvent(event)}`
      const told = stepped(stepper, world, event)
      if (typeof told === 'string') return `${told} after ${way}`
      const key = stateKey(told)
      if (seen.has(key)) continue
      seen.add(key)
      queue.push({ world: told, path: way })
    }
  }
  return null
}

/** A fault may also make a step impossible: an exception is as good as a breach. */
function stepped(stepper: Stepper, world: World, event: Parameters<typeof advance>[2]): World | string {
  try {
    const next = advance(stepper, world, event)
    return breachOf(world, event, next) ?? next.world
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
