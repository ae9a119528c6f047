/** What the session cost, call by call, and how much of it came from the prompt cache. */
import type { StepRow, StepUsage } from '../services/inspect/wire.ts'
import { facts, h } from './dom.ts'
import { duration, many, money, percent, tokens } from './format.ts'
import { rowsOf, type State, type Store } from './state.ts'

export interface Total extends StepUsage {
  cost: number | null
  calls: number
}

const NOTHING: Total = { uncached: 0, written: 0, read: 0, output: 0, cost: 0, calls: 0 }

/** @returns the sums up to and with step n */
export function totalOf(rows: readonly StepRow[], n: number): Total {
  return rows.slice(0, n).reduce((sum, { usage, cost = 0, record }) => {
    if (usage === undefined) return sum
    return {
      uncached: sum.uncached + usage.uncached,
      written: sum.written + usage.written,
      read: sum.read + usage.read,
      output: sum.output + usage.output,
      cost: sum.cost === null || cost === null ? null : sum.cost + cost,
      calls: sum.calls + (record === 'toolFinished' ? 0 : 1),
    }
  }, NOTHING)
}

const inputOf = ({ uncached, written, read }: StepUsage): number => uncached + written + read

const LEGEND = {
  read: 'read from the cache',
  written: 'written to the cache',
  uncached: 'neither',
  output: 'output',
} as const

export class CostTab {
  readonly #totals = h('div', '')
  readonly #calls = h('div', 'costs')
  readonly element = h('div', 'tab', this.#totals, legend(), this.#calls)

  constructor(store: Store) {
    this.element.addEventListener('click', (event) => {
      const row = (event.target as Element).closest<HTMLElement>('[data-n]')
      if (row !== null) store.go(Number(row.dataset.n))
    })
  }

  show(state: State, changed: ReadonlySet<keyof State>): void {
    const total = totalOf(rowsOf(state), state.n)
    this.#totals.replaceChildren(
      facts([
        ['up to this step', `${money(total.cost)}, ${many(total.calls, 'model call')}`],
        ['input', `${tokens(inputOf(total))} tokens`],
        ['of it from the cache', `${tokens(total.read)} (${percent(total.read, inputOf(total)) || '0 %'})`],
        ['written to the cache', tokens(total.written)],
        ['output', `${tokens(total.output)} tokens`],
      ]),
    )
    if ((['index', 'session', 'tab'] as const).some((key) => changed.has(key))) this.#list(state)
    for (const line of this.#calls.children)
      line.classList.toggle('later', Number((line as HTMLElement).dataset.n) > state.n)
  }

  #list(state: State): void {
    const paid = rowsOf(state).filter(({ usage }) => usage !== undefined)
    const most = Math.max(1, ...paid.map(({ usage }) => (usage === undefined ? 0 : inputOf(usage) + usage.output)))
    let sum: number | null = 0
    const lines = paid.map((row) => {
      sum = sum === null || row.cost == null ? null : sum + row.cost
      return lineOf(row, most, sum)
    })
    const none = h('p', 'hint', 'No model call has ended yet.')
    this.#calls.replaceChildren(...(paid.length === 0 ? [none] : [headOf(), ...lines]))
  }
}

function legend(): HTMLElement {
  const kinds = ['read', 'written', 'uncached', 'output'] as const
  return h('div', 'legend', ...kinds.map((kind) => h('span', `key ${kind}`, LEGEND[kind])))
}

function headOf(): HTMLElement {
  return h(
    'div',
    'cost head',
    ...['step', 'tokens', 'cached', 'in', 'out', 'time', 'cost', 'sum'].map((name) => h('span', '', name)),
  )
}

function lineOf(row: StepRow, most: number, sum: number | null): HTMLElement {
  const usage = row.usage ?? { uncached: 0, written: 0, read: 0, output: 0 }
  const bar = h(
    'span',
    'bar',
    ...(['read', 'written', 'uncached', 'output'] as const).map((kind) => {
      const part = h('i', kind)
      part.style.width = `${(100 * usage[kind]) / most}%`
      return part
    }),
  )
  const what = row.record === 'toolFinished' ? 'subagent' : row.record === 'reply' ? '' : (row.record ?? '')
  const line = h(
    'button',
    'cost',
    h('span', 'n', String(row.n)),
    bar,
    h('span', '', percent(usage.read, inputOf(usage))),
    h('span', '', tokens(inputOf(usage))),
    h('span', '', tokens(usage.output)),
    h('span', '', duration(row.took ?? row.ms)),
    h('span', '', row.cost === undefined ? '' : money(row.cost)),
    h('span', '', sum === null ? '' : money(sum)),
  )
  line.type = 'button'
  line.title = what === '' ? row.detail : `${what}: ${row.detail}`
  line.dataset.n = String(row.n)
  return line
}
