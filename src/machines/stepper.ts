/**
 * The statechart without its services, one pure step at a time: what replay, traces and exhaustive checks run.
 *
 * xstate's own `transition` makes an actor for each step, and costs five times what it takes to read a record; so
 * the machine's transitions, guards and assignments are compiled once into a table and walked here. Whatever of
 * xstate the table does not know is refused when it is compiled, and the path tests hold every step of it to the
 * real actor's, whole context and all (docs/decisions/0014-stepper.md). Pure.
 */
import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate'
import { agentMachine } from './agent.ts'
import type { AgentContext, AgentInput } from './agentSetup.ts'
import { eventNameOf, transitionId } from './graph.ts'
import type { StateName } from './journal.ts'

/** An event as the machine receives it: one of `AgentEvent`, or a service's end as xstate names it. */
export interface MachineEvent {
  type: string
  [key: string]: unknown
}

/** Where a machine without services stands. */
export interface Standing {
  state: StateName
  status: 'active' | 'done'
  context: AgentContext
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

interface Args {
  context: AgentContext
  event: MachineEvent
}

type Params = unknown | ((args: Args) => unknown)
type Guard = (args: Args, params: unknown) => boolean
type Assignment = (args: Args, params: unknown) => Partial<AgentContext>

interface Candidate {
  microstep: Microstep
  isEnabled(args: Args): boolean
  assign: Array<(args: Args) => Partial<AgentContext>>
}

interface Row {
  isFinal: boolean
  on: ReadonlyMap<string, Candidate[]>
  always: Candidate[]
}

/**
 * @param machine the agent's machine, or one changed on purpose by a test
 * @throws where the machine uses something of xstate that is not walked here
 */
export function createStepper(machine: AnyStateMachine = agentMachine): Stepper {
  const table = tableOf(machine)
  const initial = String(machine.root.initial.target[0]?.key) as StateName
  const rowOf = (state: StateName): Row => {
    const row = table.get(state)
    if (row === undefined) throw new Error(`the machine has no state ${state}`)
    return row
  }
  return {
    start: (input) => ({ state: initial, status: 'active', context: machine.config.context({ input }) }),
    step(from, event) {
      const microsteps: Microstep[] = []
      let { state, context } = from
      const take = (candidates: readonly Candidate[]): boolean => {
        const args = { context, event }
        const taken = candidates.find((candidate) => candidate.isEnabled(args))
        if (taken === undefined) return false
        for (const assign of taken.assign) context = { ...context, ...assign({ context, event }) }
        state = taken.microstep.to
        microsteps.push(taken.microstep)
        return true
      }
      if (!rowOf(state).isFinal && take(rowOf(state).on.get(event.type) ?? [])) {
        while (take(rowOf(state).always)) if (microsteps.length > MOST) throw new Error('the machine runs in circles')
      }
      return { standing: { state, status: rowOf(state).isFinal ? 'done' : 'active', context }, microsteps }
    },
  }
}

/** Transitions that one event can set off, well above the longest chain of choices. */
const MOST = 100

function tableOf(machine: AnyStateMachine): Map<StateName, Row> {
  const anywhere = machine.root.transitions
  const rows = Object.values(machine.states).map((node): [StateName, Row] => {
    if (node.type !== 'atomic' && node.type !== 'final') throw new Error(`${node.key} is a ${node.type} state`)
    if (node.entry.length + node.exit.length + node.after.length > 0) throw new Error(`${node.key} does more than wait`)
    const state = node.key as StateName
    const compile = (definition: AnyTransitionDefinition) => candidateOf(definition, state, machine)
    const events = new Set([...node.transitions.keys(), ...anywhere.keys()])
    // The state's own transitions come first; what is declared for every state applies where none of them does.
    const on = [...events].map((event): [string, Candidate[]] => [
      event,
      [...(node.transitions.get(event) ?? []), ...(anywhere.get(event) ?? [])].map(compile),
    ])
    return [state, { isFinal: node.type === 'final', on: new Map(on), always: (node.always ?? []).map(compile) }]
  })
  return new Map(rows)
}

function candidateOf(definition: AnyTransitionDefinition, from: StateName, machine: AnyStateMachine): Candidate {
  const { guards, actions } = machine.implementations as unknown as {
    guards: Record<string, Guard>
    actions: Record<string, { type?: string; assignment?: Assignment }>
  }
  const to = (definition.target?.[0]?.key ?? from) as StateName
  const guard = definition.guard === undefined ? null : referenceOf(definition.guard)
  const test = guard === null ? null : known(guards[guard.type], guard.type)
  return {
    microstep: { from, event: eventNameOf(definition), to, transition: transitionId(definition, from) },
    isEnabled: (args) => test === null || test(args, resolved(guard?.params, args)),
    assign: definition.actions.map((action) => {
      const { type, params } = referenceOf(action)
      const assignment = known(actions[type]?.assignment, type)
      return (args: Args) => assignment(args, resolved(params, args))
    }),
  }
}

/** A guard or an action by name, with or without parameters: the only form the machine uses. */
function referenceOf(reference: unknown): { type: string; params?: Params } {
  if (typeof reference === 'string') return { type: reference }
  const { type, params } = reference as { type?: unknown; params?: Params }
  if (typeof type !== 'string') throw new Error('a guard or an action of the machine has no name')
  return { type, params }
}

function known<T>(found: T | undefined, name: string): T {
  if (typeof found !== 'function') throw new Error(`${name} is neither a guard nor an assignment of the machine`)
  return found
}

function resolved(params: Params, args: Args): unknown {
  return typeof params === 'function' ? params(args) : params
}
