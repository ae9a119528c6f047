/**
 * The statechart as data: what a walk over the machine's own nodes finds. Diagrams, coverage and overlays are made
 * from this, so none of them can say anything the machine does not do. Pure.
 */
import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate'

/** `waiting` for a service, a `choice` that is left at once, or `final`. */
export interface GraphState {
  name: string
  kind: 'waiting' | 'choice' | 'final'
  description: string
  /** Id of the service that the state runs; null where it runs none. */
  service: string | null
}

export interface GraphTransition {
  /** Unique: state, event and place among the candidates, as `transitionId` makes it. */
  id: string
  from: string
  /** As the machine names it (`xstate.done.actor.callModel`); `always` where none is needed. */
  event: string
  guard?: string
  /** The same as `from` for an event that is only recorded. */
  to: string
  /** `anywhere`: declared once for every state. */
  scope: 'state' | 'anywhere'
  kind: TransitionKind
}

/** What kind of thing makes the machine move. */
export type TransitionKind = 'outcome' | 'fault' | 'interrupt' | 'choice' | 'report'

export interface Graph {
  initial: string
  states: GraphState[]
  transitions: GraphTransition[]
}

/** How often a session visited each state (by name) and took each transition (by id). */
export interface Visits {
  states: ReadonlyMap<string, number>
  transitions: ReadonlyMap<string, number>
}

/** The event's name of a transition that needs none. */
export const ALWAYS = 'always'

/** @returns the machine's states and transitions, in the order of their declaration */
export function graphOf(machine: AnyStateMachine): Graph {
  const nodes = Object.values(machine.states)
  const states = nodes.map(
    (node): GraphState => ({
      name: node.key,
      kind: node.type === 'final' ? 'final' : (node.always?.length ?? 0) > 0 ? 'choice' : 'waiting',
      description: node.description ?? '',
      service: node.invoke[0]?.id ?? null,
    }),
  )
  const anywhere = [...machine.root.transitions.values()].flat()
  const transitions = nodes.flatMap((node, at) => {
    const own = [...[...node.transitions.values()].flat(), ...(node.always ?? [])]
    const inherited = states[at]?.kind === 'waiting' ? anywhere : []
    return [...own, ...inherited].map((definition) => transitionOf(definition, node.key))
  })
  return { initial: String(initialKey(machine)), states, transitions }
}

/**
 * @param definition a transition of a machine, as its nodes and its inspection events have it
 * @param from the state it is taken in (it may be declared above it)
 */
export function transitionId(definition: AnyTransitionDefinition, from: string): string {
  const { source, eventType } = definition
  const candidates = eventType === '' ? source.always : source.transitions.get(eventType)
  const declared = source.parent === undefined ? '*' : ''
  return `${from}|${eventNameOf(definition)}|${declared}${candidates?.indexOf(definition) ?? -1}`
}

/** @returns the event of a transition as the machine names it, `always` where none is needed */
export function eventNameOf({ eventType }: AnyTransitionDefinition): string {
  return eventType === '' ? ALWAYS : String(eventType)
}

function transitionOf(definition: AnyTransitionDefinition, from: string): GraphTransition {
  const guard = guardNameOf(definition)
  const event = eventNameOf(definition)
  const anywhere = definition.source.parent === undefined
  return {
    id: transitionId(definition, from),
    from,
    event,
    ...(guard !== null && { guard }),
    to: definition.target?.[0]?.key ?? from,
    scope: anywhere ? 'anywhere' : 'state',
    kind: anywhere ? 'report' : kindOf(event),
  }
}

function guardNameOf({ guard }: AnyTransitionDefinition): string | null {
  if (guard === undefined) return null
  return typeof guard === 'string' ? guard : String((guard as { type?: unknown }).type ?? 'inline')
}

function kindOf(event: string): TransitionKind {
  if (event === ALWAYS) return 'choice'
  if (event.startsWith('xstate.error.')) return 'fault'
  return event.startsWith('xstate.done.') ? 'outcome' : 'interrupt'
}

function initialKey(machine: AnyStateMachine): string | undefined {
  return machine.root.initial.target[0]?.key
}

/** The graph as `agent graph --format json` prints it (contract.md, 10); with a session, how often each was visited. */
export interface GraphJson {
  states: string[]
  transitions: Array<{ from: string; event: string; guard?: string; to: string; count?: number }>
  visits?: Record<string, number>
}

/** @param visits of a session: adds how often each state and each transition was visited */
export function toJson(graph: Graph, visits?: Visits): GraphJson {
  return {
    states: graph.states.map((state) => state.name),
    transitions: graph.transitions.map(({ id, from, event, guard, to }) => ({
      from,
      event,
      ...(guard !== undefined && { guard }),
      to,
      ...(visits && { count: visits.transitions.get(id) ?? 0 }),
    })),
    ...(visits && {
      visits: Object.fromEntries(graph.states.map(({ name }) => [name, visits.states.get(name) ?? 0])),
    }),
  }
}
