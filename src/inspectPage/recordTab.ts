/** The record that a step came with, and what the guards read after it. */
import type { StepJson, StepRow } from '../services/inspect/wire.ts'
import { longText } from './blocks.ts'
import { facts, fold, h } from './dom.ts'
import { clock, duration, eventLabel } from './format.ts'

export function recordTab({ facts: read, record, state }: StepJson, row: StepRow | undefined): HTMLElement {
  const about: Array<[string, string]> =
    row === undefined
      ? [['state', state]]
      : [
          ['event', eventLabel(row.event)],
          ['way', `${row.from} → ${row.to}`],
          ['at', clock(row.at)],
          ['since the step before', duration(row.ms) || '0 ms'],
          ...(row.took === undefined ? [] : [['the service took', duration(row.took) || '0 ms'] as [string, string]]),
        ]
  const values = Object.entries(read).map(([name, value]): [string, string] => [
    name,
    value === null ? '–' : typeof value === 'number' ? value.toLocaleString('en') : String(value),
  ])
  const none = 'This step follows from the ones before it: it has no record of its own.'
  return h(
    'div',
    'tab',
    facts(about),
    record === null
      ? h('p', 'hint', none)
      : fold('Record in the journal', true, longText(JSON.stringify(record, null, 2))),
    fold('After the step', true, facts(values)),
  )
}
