/** The statechart as Mermaid and DOT text. Pure. */
import type { Graph, GraphState, GraphTransition, Visits } from './graph.ts'
import { ALWAYS } from './graph.ts'

/** @returns an event as people read it: `callModel done`, `callModel failed`, `interrupt` */
export function eventLabel(event: string): string {
  const actor = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event)
  if (actor === null) return event
  return `${actor[2]} ${actor[1] === 'done' ? 'done' : 'failed'}`
}

/** @returns a transition on one line: its event, its guard, and how often it was taken */
function transitionLabel({ id, event, guard }: GraphTransition, visits?: Visits): string {
  const name = event === ALWAYS ? '' : eventLabel(event)
  const label = [name, guard === undefined ? '' : `[${guard}]`].filter((part) => part !== '').join(' ')
  const count = visits?.transitions.get(id) ?? 0
  return `${label === '' ? 'else' : label}${count > 0 ? ` ×${count}` : ''}`
}

/** The transitions between two states, which one arrow of the picture stands for. */
export interface Arrow {
  /** Unique, fit for an XML id. */
  id: string
  from: string
  to: string
  transitions: GraphTransition[]
}

/** @returns the arrows of the picture; events that every state only records stand in a note instead (`anywhereOf`) */
export function arrowsOf(graph: Graph): Arrow[] {
  const arrows = new Map<string, Arrow>()
  for (const transition of graph.transitions) {
    if (transition.scope === 'anywhere') continue
    const { from, to } = transition
    const id = `${from}-${to}`
    const arrow = arrows.get(id) ?? { id, from, to, transitions: [] }
    arrow.transitions.push(transition)
    arrows.set(id, arrow)
  }
  return [...arrows.values()]
}

/** @returns the events that every waiting state records without leaving it, each with how often it came */
export function anywhereOf(graph: Graph, visits?: Visits): string[] {
  const counts = new Map<string, number>()
  for (const { id, event, scope } of graph.transitions) {
    if (scope === 'anywhere') counts.set(event, (counts.get(event) ?? 0) + (visits?.transitions.get(id) ?? 0))
  }
  return [...counts].map(([event, count]) => (count > 0 ? `${event} ×${count}` : event))
}

/** @returns the line under the picture */
export function anywhereLabel(graph: Graph, visits?: Visits): string {
  return `recorded in every state: ${anywhereOf(graph, visits).join(', ')}`
}

/** @param graph the whole graph, or a part of it */
export function toMermaid(graph: Graph, visits?: Visits): string {
  const { states, initial } = graph
  const named = (kind: GraphState['kind']) => states.filter((state) => state.kind === kind).map(({ name }) => name)
  const isWhole = states.some(({ name }) => name === initial) && named('final').length > 0
  const anywhere = anywhereOf(graph, visits)
  const lines = [
    'stateDiagram-v2',
    ...(isWhole ? [`  [*] --> ${initial}`] : ['  direction LR']),
    ...named('choice').map((name) => `  state ${name} <<choice>>`),
    ...arrowsOf(graph).flatMap(({ from, to, transitions }) =>
      transitions.map((transition) => `  ${from} --> ${to} : ${transitionLabel(transition, visits)}`),
    ),
    ...named('final').map((name) => `  ${name} --> [*]`),
  ]
  if (anywhere.length > 0) {
    const recorded = anywhere.map((event) => `    ${event}`)
    lines.push(`  note right of ${initial}`, '    Recorded wherever it comes:', ...recorded, '  end note')
  }
  if (visits) {
    const visited = states.filter(({ name, kind }) => kind !== 'choice' && visits.states.has(name))
    lines.push('  classDef visited fill:#dbeafe,stroke:#2563eb,color:#1e3a8a')
    lines.push(...visited.map(({ name }) => `  class ${name} visited`))
  }
  return `${lines.join('\n')}\n`
}

/**
 * @returns the graph for Graphviz. Nodes have the id `state-<name>` and arrows the id of `arrowsOf`, with a text for
 *   each transition in its order, so that a page can mark them in the SVG made of it.
 */
export function toDot(graph: Graph, visits?: Visits): string {
  const names = (kind: GraphState['kind']) =>
    graph.states.filter((state) => state.kind === kind).map(({ name }) => name)
  const arrows = arrowsOf(graph)
  const lines = [
    'digraph agent {',
    '  graph [rankdir=LR nodesep=0.4 ranksep=1 bgcolor=transparent fontname="Arial" fontsize=11 labelloc=b labeljust=l]',
    `  graph [label="${anywhereLabel(graph, visits)}"]`,
    '  node [shape=box style=rounded fontname="Arial" fontsize=14 margin="0.32,0.1"]',
    '  edge [fontname="Arial" fontsize=11 arrowsize=0.8]',
    '  start [shape=point width=0.14 id=start class=start]',
    `  start -> ${graph.initial} [id="start-${graph.initial}"]`,
    ...graph.states.map((state) => dotNode(state, arrows, visits)),
    ...arrows.map((arrow) => dotArrow(arrow, visits)),
    `  { rank=same; ${names('final').join('; ')} }`,
    '}',
  ]
  return `${lines.join('\n')}\n`
}

function dotNode({ name, kind, service }: GraphState, arrows: Arrow[], visits?: Visits): string {
  // A hub is drawn large, so that its arrows end apart.
  const ends = arrows.filter(({ from, to }) => from === name || to === name).length
  const size = `height=${(0.2 * ends).toFixed(1)} width=${(0.17 * ends).toFixed(1)}`
  const count = visits?.states.get(name) ?? 0
  const title = `<b>${name}</b>${count > 0 ? ` ×${count}` : ''}`
  const runs = service === null ? '' : `<br/><font point-size="11">${service}</font>`
  const shape = kind === 'final' ? ' peripheries=2' : kind === 'choice' ? ' style="rounded,dashed"' : ''
  return `  ${name} [id="state-${name}" class=${kind} ${size} label=<${title}${runs}>${shape}${markOf(count, visits)}]`
}

function dotArrow({ id, from, to, transitions }: Arrow, visits?: Visits): string {
  const label = transitions.map((transition) => `${transitionLabel(transition, visits)}\\l`).join('')
  const count = transitions.reduce((sum, transition) => sum + (visits?.transitions.get(transition.id) ?? 0), 0)
  return `  ${from} -> ${to} [id="${id}" label="${label}"${markOf(count, visits)}]`
}

/** Visited is drawn strong, the rest pale; without a session nothing is marked. */
function markOf(count: number, visits?: Visits): string {
  if (visits === undefined) return ''
  return count > 0 ? ' color="#2563eb" penwidth=2' : ' color="#9ca3af" fontcolor="#6b7280"'
}
