/**
 * Runs a path against the real actor with scripted services, in step with the pure machine: after every event both
 * must stand in the same state with the same context, and every invariant must hold.
 */
import { isDeepStrictEqual } from 'node:util'
import { createActor, fromPromise } from 'xstate'
import { type AgentActor, agentMachine } from '../../src/machines/agent.ts'
import { transitionId } from '../../src/machines/graph.ts'
import type { NewEntry } from '../../src/machines/journal.ts'
import type { Report } from '../../src/machines/outcomes.ts'
import type { MachineEvent, Microstep, Stepper } from '../../src/machines/stepper.ts'
import { type Alphabet, enabledEvents, kindOf, showEvent } from './alphabet.ts'
import type { Path } from './explore.ts'
import { breachOf, refolded } from './invariants.ts'
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

export interface Script {
  journal: NewEntry[]
  path: Path
  alphabet: Alphabet
}

export async function runLive(
  stepper: Stepper,
  { journal, path, alphabet }: Script,
  coverage = new Coverage(),
): Promise<LiveRun> {
  let world = begin(stepper, journal)
  const { actor, service } = startActor(world, coverage)
  const microsteps: Microstep[] = []
  const taken: string[] = []
  const fail = (why: string): LiveRun => {
    actor.stop()
    return { problem: `${why}\n  after ${taken.join('\n        ')}`, microsteps, world }
  }
  for (const { place, kind } of path) {
    const before = world
    const event = enabledEvents(before, alphabet)[place]
    if (event === undefined || kindOf(event) !== kind) return fail(`the state key merges too much: no ${kind} here`)
    taken.push(showEvent(event))
    const working = service()
    const refused = deliver(actor, working, event, before)
    if (refused !== null) return fail(refused)
    await new Promise(setImmediate)
    const next = advance(stepper, before, event)
    world = next.world
    microsteps.push(...next.microsteps)
    const breach = breachOf(before, event, next) ?? difference(actor, world) ?? abandoned(working, service(), event)
    if (breach !== null) return fail(breach)
  }
  actor.stop()
  return { problem: refolded(world), microsteps, world }
}

function startActor(world: World, coverage: Coverage): { actor: AgentActor; service: () => Service | null } {
  let current: Service | null = null
  let at: string = world.state
  const scripted = (id: string) =>
    fromPromise<never, never>(
      ({ input, signal }) =>
        new Promise((resolve, reject) => {
          current = { id, input, signal, resolve: resolve as Service['resolve'], reject }
        }),
    )
  const ids = Object.keys(agentMachine.implementations.actors)
  const machine = agentMachine.provide({
    actors: Object.fromEntries(ids.map((id) => [id, scripted(id)])) as never,
    guards: watched(agentMachine.implementations.guards as never, coverage) as never,
  })
  const actor = createActor(machine, {
    input: { conversation: world.context.conversation },
    inspect: (event) => {
      if (event.type !== '@xstate.microstep' || event.actorRef !== actor) return
      const to = (event.snapshot as { value?: unknown }).value
      for (const taken of event._transitions) coverage.transitions.add(transitionId(taken, at))
      at = String(to)
      coverage.states.add(at)
    },
  })
  actor.start()
  coverage.states.add(at)
  return { actor: actor as AgentActor, service: () => current }
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
