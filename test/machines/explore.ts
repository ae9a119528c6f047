/** Paths through the machine, made from the machine itself by `xstate/graph`. */
import type { SnapshotFrom } from 'xstate'
import { getAdjacencyMap, getShortestPaths, getSimplePaths } from 'xstate/graph'
import { type AgentMachine, agentMachine } from '../../src/machines/agent.ts'
import type { Conversation } from '../../src/machines/conversation.ts'
import type { MachineEvent } from '../../src/machines/stepper.ts'
import { type Alphabet, enabledEvents, type View } from './alphabet.ts'
import { type Choice, kindOf } from './show.ts'
import { stateKey } from './stateKey.ts'

type Snapshot = SnapshotFrom<AgentMachine>
export type Path = Choice[]

/** @returns a snapshot as the alphabet sees it; what the store was given stands in its service's own snapshot */
export function viewOf(snapshot: Snapshot): View {
  const { persist } = snapshot.children
  const input = (persist?.getSnapshot() as { input?: { entries: unknown[] } } | undefined)?.input
  return { state: snapshot.value, context: snapshot.context, handed: input?.entries.length ?? 0 }
}

function options(conversation: Conversation, alphabet: Alphabet) {
  return {
    input: { conversation },
    events: (snapshot: Snapshot) => enabledEvents(viewOf(snapshot), alphabet) as never,
    serializeState: (snapshot: Snapshot) => stateKey(viewOf(snapshot)),
    serializeEvent: (event: unknown) => JSON.stringify(event),
    stopWhen: (snapshot: Snapshot) => snapshot.status !== 'active',
  }
}

/** A step of the library holds the state after its event; the first one is the event that starts the machine. */
function choicesOf(steps: ReadonlyArray<{ state: Snapshot; event: unknown }>, alphabet: Alphabet): Path {
  return steps.slice(1).map(({ event }, i) => {
    const before = steps[i]?.state as Snapshot
    const kind = kindOf(event as MachineEvent)
    const kinds = enabledEvents(viewOf(before), alphabet).map(kindOf)
    if (kinds.filter((one) => one === kind).length !== 1) throw new Error(`${kind} is not one of ${kinds.join(', ')}`)
    return { place: kinds.indexOf(kind), kind }
  })
}

/** @returns for every final state that can be told apart the shortest path to it */
export function shortestPaths(conversation: Conversation, alphabet: Alphabet): Path[] {
  const toState = (snapshot: Snapshot) => snapshot.status !== 'active'
  return getShortestPaths(agentMachine, { ...options(conversation, alphabet), toState }).map(({ steps }) =>
    choicesOf(steps, alphabet),
  )
}

/** @returns every path to a final state that visits no state twice */
export function simplePaths(conversation: Conversation, alphabet: Alphabet): Path[] {
  const toState = (snapshot: Snapshot) => snapshot.status !== 'active'
  return getSimplePaths(agentMachine, { ...options(conversation, alphabet), toState }).map(({ steps }) =>
    choicesOf(steps, alphabet),
  )
}

interface Node {
  /** Shortest path to it. */
  path: Path
  /** The edge that leads to a final state on the shortest way; null in a final state. */
  onward: Edge | null
  edges: Edge[]
}

interface Edge extends Choice {
  to: string
  taken: boolean
}

export interface Cover {
  states: number
  edges: number
  /** Complete paths that together take every edge. */
  paths: Path[]
}

/** @returns complete paths, each as many new edges as it finds on its way, until every edge of the state graph is taken */
export function coverEdges(conversation: Conversation, alphabet: Alphabet): Cover {
  const { nodes, first } = nodesOf(conversation, alphabet)
  const paths: Path[] = []
  for (const node of nodes.values()) {
    for (const edge of node.edges) {
      if (!edge.taken) paths.push([...walkTo(nodes, first, node), ...walkOn(nodes, edge)])
    }
  }
  const edges = [...nodes.values()].reduce((sum, node) => sum + node.edges.length, 0)
  return { states: nodes.size, edges, paths }
}

function walkTo(nodes: Map<string, Node>, first: string, { path }: Node): Path {
  let at = first
  for (const { place } of path) {
    const edge = nodes.get(at)?.edges[place]
    if (edge === undefined) throw new Error('a path left the graph')
    edge.taken = true
    at = edge.to
  }
  return path
}

function walkOn(nodes: Map<string, Node>, begun: Edge): Path {
  const path: Path = []
  for (let edge: Edge | null = begun; edge !== null; ) {
    edge.taken = true
    path.push(edge)
    const node: Node | undefined = nodes.get(edge.to)
    edge = node?.edges.find((one) => !one.taken) ?? node?.onward ?? null
  }
  return path
}

function nodesOf(conversation: Conversation, alphabet: Alphabet): { nodes: Map<string, Node>; first: string } {
  const nodes = new Map<string, Node>()
  for (const [key, { transitions }] of adjacent(conversation, alphabet)) {
    // The map keeps the order in which the alphabet gave the events.
    const edges = transitions.map(({ event, state }, place): Edge => {
      return { place, kind: kindOf(event), to: stateKey(viewOf(state)), taken: false }
    })
    nodes.set(key, { path: [], onward: null, edges })
  }
  const [first = ''] = nodes.keys()
  setPaths(nodes, first)
  setOnward(nodes)
  return { nodes, first }
}

interface Adjacent {
  transitions: Array<{ event: MachineEvent; state: Snapshot }>
}

function adjacent(conversation: Conversation, alphabet: Alphabet): Array<[string, Adjacent]> {
  const map = getAdjacencyMap(agentMachine, options(conversation, alphabet))
  return Object.entries(map).map(([key, { transitions }]) => {
    return [key, { transitions: Object.values(transitions) as unknown as Adjacent['transitions'] }]
  })
}

/** The map comes in breadth-first order, so the first edge that reaches a node ends a shortest path to it. */
function setPaths(nodes: Map<string, Node>, first: string): void {
  const reached = new Set([first])
  for (const node of nodes.values()) {
    for (const edge of node.edges) {
      const target = nodes.get(edge.to)
      if (target === undefined || reached.has(edge.to)) continue
      reached.add(edge.to)
      target.path = [...node.path, edge]
    }
  }
}

function setOnward(nodes: Map<string, Node>): void {
  const into = new Map<string, Array<{ from: string; edge: Edge }>>()
  for (const [from, { edges }] of nodes) {
    for (const edge of edges) into.set(edge.to, [...(into.get(edge.to) ?? []), { from, edge }])
  }
  const queue = [...nodes].filter(([, { edges }]) => edges.length === 0).map(([key]) => key)
  for (const key of queue) {
    for (const { from, edge } of into.get(key) ?? []) {
      const node = nodes.get(from)
      if (node === undefined || node.onward !== null) continue
      node.onward = edge
      queue.push(from)
    }
  }
}
