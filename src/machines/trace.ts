/** A replay as lines: what happened, when, how long it took, what it was about; and what of the chart was visited. */
import { firstUnits } from './cut.ts'
import type { Graph, Visits } from './graph.ts'
import type { JournalRecord } from './journal.ts'
import { type ToolUseBlock, textOf, type Usage, wholeInput } from './messages.ts'
import type { Replay, Transition } from './replay.ts'
import { count } from './words.ts'

/** One line of `agent trace --json` (contract.md, 10). */
export interface TraceLine {
  n: number
  /** ISO 8601 UTC. */
  at: string
  from: string
  event: string
  to: string
  /** Milliseconds since the line before it, in the same process. */
  ms: number
  /** What the event's model calls read and wrote: whole input and output. */
  tokens?: number
  detail?: string
}

/** UTF-16 units of a detail: a line says what it was about, the records say all. */
const LONGEST_DETAIL = 200

/** @param graph where the guards of the transitions are looked up */
export function traceOf({ transitions }: Replay, graph: Graph): TraceLine[] {
  const guards = new Map(graph.transitions.map(({ id, guard }) => [id, guard]))
  return transitions.map((transition) => {
    const { n, at, from, event, to, ms, record } = transition
    const tokens = record === undefined ? 0 : tokensOf(record)
    const detail = firstUnits(detailOf(transition, guards.get(transition.transition ?? '')), LONGEST_DETAIL)
    return { n, at, from, event, to, ms, ...(tokens > 0 && { tokens }), ...(detail !== '' && { detail }) }
  })
}

/** @returns how often each state was entered and each transition taken */
export function visitsOf({ transitions }: Replay): Visits {
  const states = new Map<string, number>()
  const taken = new Map<string, number>()
  const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1)
  if (transitions.length > 0) count(states, 'loadingContext')
  for (const { from, event, to, transition } of transitions) {
    // What is only recorded does not enter its state again.
    if (from !== to || event.startsWith('xstate.')) count(states, to)
    if (transition !== null) count(taken, transition)
  }
  return { states, transitions: taken }
}

/** @returns the tokens of the model calls that a record tells of */
export function tokensOf(record: JournalRecord): number {
  switch (record.type) {
    case 'reply':
    case 'compacted':
    case 'compactionFailed':
      return sum(record.usage)
    case 'callFailed':
    case 'toolFinished':
      return record.usage === undefined ? 0 : sum(record.usage)
    case 'recalled':
    case 'remembered':
      return record.calls.reduce((all, { usage }) => all + sum(usage), 0)
    default:
      return 0
  }
}

function sum(usage: Usage): number {
  return wholeInput(usage) + usage.output_tokens
}

/** A call in short: its name and the first text of its input, which is what most tools are about. */
function callLine({ name, input }: ToolUseBlock): string {
  const about = Object.values(input).find((value) => typeof value === 'string')
  return about === undefined ? name : `${name} ${String(about)}`
}

/** The names of derived events say all but why the machine went where it did: that is the guard. */
function detailOf({ record, call, from, to }: Transition, guard: string | undefined): string {
  if (record === undefined) return guard ?? ''
  switch (record.type) {
    case 'opened':
      return record.cwd
    case 'prompt':
      return record.text
    case 'resumed':
      return record.compact === undefined ? 'carries the turn on' : 'a summary is asked for'
    case 'context':
      return `${count(record.tools.length, 'tool')}, ${count(record.system.length, 'character')}`
    case 'reply': {
      const names = record.content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []))
      const said = names.length > 0 ? names.join(', ') : textOf(record.content)
      return `${record.stop_reason ?? 'no stop reason'}: ${said}`
    }
    case 'toolStarted':
      return call === undefined ? record.id : callLine(call)
    case 'toolFinished': {
      const how = record.denied === true ? 'refused' : record.is_error ? 'failed' : 'ok'
      return `${call?.name ?? record.id}: ${how}`
    }
    case 'trimmed':
      return record.done.map(({ layer }) => layer).join(', ') || 'nothing could be written'
    case 'compacted':
      return `${record.trigger}: from ${count(record.before_tokens, 'token')} to ${count(record.summary.length, 'character')}`
    case 'recalled':
      return `${count(record.memories.length, 'memory', 'memories')}, by ${record.by}`
    case 'remembered':
      return record.problem ?? `${count(record.files.length, 'memory', 'memories')} kept`
    case 'callFailed':
    case 'compactionFailed':
    case 'fault':
      return record.message
    case 'interrupted':
      return record.reason
    case 'turnEnded':
      return from === to && guard !== undefined ? `${guard}: ${record.subtype}` : record.subtype
    default:
      return record satisfies never
  }
}
