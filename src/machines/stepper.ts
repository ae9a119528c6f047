/**
 * The statechart without its services, one pure step at a time: what replay, traces and exhaustive checks run.
 *
 * An invoke's `onDone` and `onError` are transitions like any others once nothing is started, so the machine is
 * rebuilt from its own config with them in place of the invokes. That is 20 times faster than xstate's
 * `getMicrosteps`, which makes an actor for every step, and it tells which transition was taken. Pure.
 */
import { type ActorScope, type AnyStateMachine, createActor, createMachine, type SnapshotFrom } from 'xstate'
import { type AgentMachine, agentMachine } from './agent.ts'
import type { AgentContext, AgentInput } from './agentSetup.ts'
import { eventNameOf, transitionId } from './graph.ts'
import type { StateName } from './journal.ts'

/** An event as the machine receives it: one of `AgentEvent`, or a service's end as xstate names it. */
export interface MachineEvent {
  type: string
  [key: string]: unknown
}

/** Where a machine without services stands. Plain data apart from xstate's own fields. */
export interface Standing {
  state: StateName
  status: 'active' | 'done'
  context: AgentContext
  /** xstate's snapshot, to go on from. */
  snapshot: unknown
}

/** One transition taken; an event that ends in a choice takes several, `always` among them. */
export interface Microstep {
  from: StateName
  event: string
  to: StateName
  /** Its id in `graphOf(machine)`. */
  transition: string
}

export interface Stepper {
  start(input: AgentInput): Standing
  /** Takes the event; no microstep where the state does not know it or its guard says no. */
  step(from: Standing, event: MachineEvent): { standing: Standing; microsteps: Microstep[] }
}

/** @param machine the agent's machine, or one changed on purpose by a test */
export function createStepper(machine: AnyStateMachine = agentMachine): Stepper {
  const bare = withoutInvokes(machine)
  let microsteps: Microstep[] = []
  let at: StateName = 'loadingContext'
  const actor = createActor(bare, {
    input: { conversation: null },
    inspect: (event) => {
      if (event.type !== '@xstate.microstep') return
      const to = (event.snapshot as SnapshotFrom<AgentMachine>).value
      for (const taken of event._transitions) {
        microsteps.push({ from: at, event: eventNameOf(taken), to, transition: transitionId(taken, at) })
      }
      at = to
    },
  })
  const scope: ActorScope<never, never> = {
    self: actor as never,
    id: '',
    sessionId: '',
    system: actor.system as never,
    logger: () => {},
    defer: () => {},
    emit: () => {},
    stopChild: () => {},
    actionExecutor: () => {},
  }
  return {
    start: (input) => standingOf(bare.getInitialSnapshot(scope as never, input)),
    step(from, event) {
      microsteps = []
      at = from.state
      const snapshot = bare.transition(from.snapshot as never, event, scope as never)
      return { standing: standingOf(snapshot), microsteps }
    },
  }
}

function standingOf(snapshot: unknown): Standing {
  const { value, status, context } = snapshot as SnapshotFrom<AgentMachine>
  return { state: value, status: status === 'active' ? 'active' : 'done', context, snapshot }
}

interface StateConfig {
  on?: Record<string, unknown>
  invoke?: { id: string; onDone: unknown; onError: unknown }
}

function withoutInvokes(machine: AnyStateMachine): AnyStateMachine {
  const config = machine.config as { states: Record<string, StateConfig> }
  const states = Object.entries(config.states).map(([name, { invoke, ...state }]) => {
    if (invoke === undefined) return [name, state]
    const ends = {
      [`xstate.done.actor.${invoke.id}`]: invoke.onDone,
      [`xstate.error.actor.${invoke.id}`]: invoke.onError,
    }
    return [name, { ...state, on: { ...ends, ...state.on } }]
  })
  return createMachine({ ...config, states: Object.fromEntries(states) } as never, machine.implementations as never)
}
