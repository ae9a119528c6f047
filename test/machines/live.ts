/**
 * Runs a path against the real actor with scripted services, in step with the pure machine: after every event both
 * must stand in the same state with the same context, and every invariant must hold.
 */
import { isDeepStrictEqual } from 'node:util'
import { createActor, fromPromise } from 'xstate'
import { type AgentActor, type AgentMachine, agentMachine } from '../../src/machines/agent.ts'
import { transitionId } from '../../src/machines/graph.ts'
import type { NewEntry } from '../../src/machines/journal.ts'
import type { Report } from '../../src/machines/outcomes.ts'
import type { MachineEvent, Microstep, Stepper } from '../../src/machines/stepper.ts'
import { type Alphabet, enabledEvents } from './alphabet.ts'
import type { Path } from './explore.ts'
import { breachOf, refolded } from './invariants.ts'
import { kindOf, showEvent } from './show.ts'
import { advance, begin, type World } from './world.ts'

/** What all runs together have exercised. */
export class Coverage {
  readonly states = new Set<string>()
  readonly transitions = new Set<string>()
  /** `isDone: true`, `isDone: false`, … */
  readonly guards = new Set<string>()
}

export interface LiveRun {
  /** The first thing that was not as it must be. */
  problem: string | null
  microsteps: Microstep[]
  world: World
}

/** The service under way: what it was given, and how it ends. */
interface Service {
  id: string
  input: { report?: Report; entries?: NewEntry[] }
  signal: AbortSignal
  resolve(output: unknown): void
  reject(error: unknown): void
}

type Guards = Record<string, (args: unknown, params: unknown) => boolean>

/** What happens in a run: the next event, a problem that makes it impossible, or null at its end. */
export type Script = (world: World) => { event: MachineEvent } | { problem: string } | null

/** @returns the script of a path that was found over the same alphabet */
export function scriptOf(path: Path, alphabet: Alphabet): Script {
  let at = 0
  return (world) => {
    const choice = path[at++]
    if (choice === undefined) return null
    const event = enabledEvents(world, alphabet)[choice.place]
    return event !== undefined && kindOf(event) === choice.kind
      ? { event }
      : { problem: `the state key merges too much: no ${choice.kind} here` }
  }
}

/** Runs scripts one after the other; making the machine is what costs most. */
export class Rig {
  readonly coverage = new Coverage()
  readonly #stepper: Stepper
  readonly #machine: AgentMachine
  #service: Service | null = null

  constructor(stepper: Stepper) {
    this.#stepper = stepper
    const ids = Object.keys(agentMachine.implementations.actors)
    this.#machine = agentMachine.provide({
      actors: Object.fromEntries(ids.map((id) => [id, this.#scripted(id)])) as never,
      guards: watched(agentMachine.implementations.guards as never, this.coverage) as never,
    })
  }

  /** @param journal what the run begins on top of */
  async run(journal: NewEntry[], script: Script): Promise<LiveRun> {
    let world = begin(this.#stepper, journal)
    const actor = this.#start(world)
    const microsteps: Microstep[] = []
    const taken: string[] = []
    const end = (problem: string | null): LiveRun => {
      actor.stop()
      const told = problem === null ? null : `${problem}\n  after ${taken.join('\n        ')}`
      return { problem: told, microsteps, world }
    }
    for (let next = script(world); next !== null; next = script(world)) {
      if ('problem' in next) return end(next.problem)
      const { event } = next
      const before = world
      taken.push(showEvent(event))
      const working = this.#service
      const refused = deliver(actor, working, event, before)
      if (refused !== null) return end(refused)
      await new Promise(setImmediate)
      const step = advance(this.#stepper, before, event)
      world = step.world
      microsteps.push(...step.microsteps)
      const breach =
        breachOf(before, event, step) ?? difference(actor, world) ?? abandoned(working, this.#service, event)
      if (breach !== null) return end(breach)
    }
    return end(refolded(world))
  }

  #scripted(id: string) {
    return fromPromise<never, never>(
      ({ input, signal }) =>
        new Promise((resolve, reject) => {
          this.#service = { id, input, signal, resolve: resolve as Service['resolve'], reject }
        }),
    )
  }

  #start(world: World): AgentActor {
    const { states, transitions } = this.coverage
    let at: string = world.state
    const actor = createActor(this.#machine, {
      input: { conversation: world.context.conversation },
      inspect: (event) => {
        if (event.type !== '@xstate.microstep' || event.actorRef !== actor) return
        for (const taken of event._transitions) transitions.add(transitionId(taken, at))
        at = String((event.snapshot as { value?: unknown }).value)
        states.add(at)
      },
    })
    this.#service = null
    actor.start()
    states.add(at)
    return actor as AgentActor
  }
}

function watched(guards: Guards, coverage: Coverage): Guards {
  return Object.fromEntries(
    Object.entries(guards).map(([name, guard]) => [
      name,
      (args, params) => {
        const answer = guard(args, params)
        coverage.guards.add(`${name}: ${answer}`)
        return answer
      },
    ]),
  )
}

/** Makes the event happen the way it happens in a run. @returns why it cannot */
function deliver(actor: AgentActor, working: Service | null, event: MachineEvent, before: World): string | null {
  if (event.type === 'interrupt') {
    actor.send(event as never)
    return null
  }
  const [, how, id] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event.type) ?? []
  if (id === undefined) {
    // A service that was stopped can still have a report under way; it goes to the same machine.
    const report = working?.input.report ?? ((late: never) => actor.send(late))
    report(event as never)
    return null
  }
  if (working?.id !== id) return `${id} is expected to work, but ${working?.id ?? 'nothing'} does`
  if (id === 'persist' && !isDeepStrictEqual(working.input.entries, before.context.unsaved.slice(0, before.handed))) {
    return 'the store was given other entries than those that were unsaved'
  }
  if (how === 'done') working.resolve(event.output)
  else working.reject(event.error)
  return null
}

function difference(actor: AgentActor, { state, context }: World): string | null {
  const live = actor.getSnapshot()
  if (live.value !== state) return `the actor stands in ${String(live.value)}, the pure machine in ${state}`
  return isDeepStrictEqual(live.context, context) ? null : 'the actor and the pure machine have different contexts'
}

/** A service that an interrupt took the machine away from is told to stop. */
function abandoned(before: Service | null, now: Service | null, event: MachineEvent): string | null {
  if (event.type !== 'interrupt' || before === null || before === now) return null
  return before.signal.aborted ? null : `${before.id} was left by an interrupt and not told to stop`
}
