/** The timeline: a row a transition, with what it took and what it cost. */

import { agentMachine } from '../../machines/agent.ts'
import { type Graph, graphOf } from '../../machines/graph.ts'
import { anywhereOf, arrowsOf } from '../../machines/graphText.ts'
import type { JournalRecord } from '../../machines/journal.ts'
import { addUsage, NO_USAGE, type Usage } from '../../machines/messages.ts'
import type { Replay, Transition } from '../../machines/replay.ts'
import { traceOf } from '../../machines/trace.ts'
import type { ChartJson, StepRow, StepUsage } from './wire.ts'

/** @returns the cost of one model call in USD, null where the price is not known */
export type PriceOf = (model: string, usage: Usage) => number | null

const GRAPH: Graph = graphOf(agentMachine)

/** @param from rows before this one (from 0) are left out */
export function rowsOf(replay: Replay, model: string, priceOf: PriceOf, from: number): StepRow[] {
  const part = { ...replay, transitions: replay.transitions.slice(from) }
  return traceOf(part, GRAPH).map(({ detail = '', at, n, from: left, event, to, ms }, i) => {
    const transition = part.transitions[i] as Transition
    const { record } = transition
    const took = record === undefined ? undefined : tookOf(record)
    const usage = record === undefined ? NO_USAGE : usageOf(record)
    const has = usage !== NO_USAGE
    return {
      n,
      at: Date.parse(at),
      from: left,
      event,
      to,
      ms,
      transition: transition.transition,
      record: record?.type ?? null,
      detail,
      ...(took !== undefined && { took }),
      ...(has && { usage: shortUsage(usage), cost: priceOf(record?.type === 'reply' ? record.model : model, usage) }),
      ...(transition.call && { call: transition.call.id }),
      ...(isBad(transition) && { bad: true as const }),
    }
  })
}

/** @returns which texts of the picture belong to which transition */
export function chartOf(): ChartJson {
  const anywhere = new Map(anywhereOf(GRAPH).map((event): [string, string[]] => [event, []]))
  for (const { id, event, scope } of GRAPH.transitions) if (scope === 'anywhere') anywhere.get(event)?.push(id)
  return {
    arrows: arrowsOf(GRAPH).map(({ id, transitions }) => ({ id, transitions: transitions.map((one) => one.id) })),
    anywhere: [...anywhere].map(([event, transitions]) => ({ event, transitions })),
  }
}

function tookOf(record: JournalRecord): number | undefined {
  switch (record.type) {
    case 'reply':
    case 'callFailed':
    case 'toolFinished':
    case 'compacted':
    case 'compactionFailed':
      return Math.round(record.ms)
    case 'recalled':
    case 'remembered':
      return record.calls.length === 0 ? undefined : Math.round(record.calls.reduce((sum, { ms }) => sum + ms, 0))
    default:
      return undefined
  }
}

function usageOf(record: JournalRecord): Usage {
  switch (record.type) {
    case 'reply':
    case 'compacted':
    case 'compactionFailed':
      return record.usage
    case 'toolFinished':
    case 'callFailed':
      return record.usage ?? NO_USAGE
    case 'recalled':
    case 'remembered':
      return record.calls.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE)
    default:
      return NO_USAGE
  }
}

function shortUsage(usage: Usage): StepUsage {
  return {
    uncached: usage.input_tokens,
    written: usage.cache_creation_input_tokens,
    read: usage.cache_read_input_tokens,
    output: usage.output_tokens,
  }
}

function isBad({ event, record, to }: Transition): boolean {
  if (event.startsWith('xstate.error.') || to === 'failed' || to === 'cancelled') return true
  if (record === undefined) return false
  if (record.type === 'toolFinished') return record.is_error
  if (record.type === 'turnEnded') return record.subtype !== 'success'
  return ['callFailed', 'compactionFailed', 'fault', 'interrupted'].includes(record.type)
}
