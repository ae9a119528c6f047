/** The statechart with what was visited up to the step that is shown, and where the machine stands there. */
import type { ChartJson } from '../services/inspect/wire.ts'
import { find } from './dom.ts'
import { rowsOf, type State } from './state.ts'

const SVG = 'http://www.w3.org/2000/svg'

interface Arrow {
  group: SVGGElement
  transitions: string[]
  /** The count of the whole arrow, and one behind each of its texts. */
  count: Element
  counts: Element[]
}

export class Chart {
  readonly #svg = find<SVGSVGElement>('#chart')
  readonly #arrows: Arrow[]
  readonly #nodes: Array<{ name: string; group: SVGGElement; count: Element }>
  /** Lengths can be measured only while the chart is in sight. */
  #isMeasured = false

  constructor(chart: ChartJson) {
    this.#arrows = chart.arrows.flatMap(({ id, transitions }) => {
      const group = this.#svg.querySelector<SVGGElement>(`[id="${CSS.escape(id)}"]`)
      if (group === null) return []
      const texts = [...group.querySelectorAll('text')]
      for (const text of texts) text.classList.add('label')
      const counts = texts.map((text) => text.appendChild(document.createElementNS(SVG, 'tspan')))
      return [{ group, transitions, counts, count: countIn(group) }]
    })
    this.#nodes = [...this.#svg.querySelectorAll<SVGGElement>('.node[id^="state-"]')].map((group) => {
      return { name: group.id.slice('state-'.length), group, count: countIn(group) }
    })
    new ResizeObserver(() => this.#measure()).observe(this.#svg)
  }

  #measure(): void {
    if (this.#isMeasured || this.#svg.clientWidth === 0) return
    this.#isMeasured = true
    for (const { group, count } of this.#arrows) place(count, middleOf(group))
    for (const { group, count } of this.#nodes) {
      const { x, y, width } = group.querySelector('path')?.getBBox() ?? group.getBBox()
      // Graphviz placed the names for its own size of type; in the page they are larger.
      for (const text of group.querySelectorAll('text')) {
        text.setAttribute('text-anchor', 'middle')
        text.setAttribute('x', String(x + width / 2))
      }
      place(count, { x: x + width / 2, y: y - 5 })
    }
  }

  render(state: State): void {
    const rows = rowsOf(state)
    const taken = new Map<string, number>()
    const entered = new Map<string, number>([['loadingContext', 1]])
    for (let at = 0; at < state.n; at++) {
      const row = rows[at]
      if (row === undefined) break
      if (row.transition !== null) taken.set(row.transition, (taken.get(row.transition) ?? 0) + 1)
      // What is only recorded does not enter its state again.
      if (row.from !== row.to || row.event.startsWith('xstate.')) entered.set(row.to, (entered.get(row.to) ?? 0) + 1)
    }
    const last = rows[state.n - 1]
    const here = last?.to ?? 'loadingContext'
    for (const { group, transitions, count, counts } of this.#arrows) {
      const each = transitions.map((one) => taken.get(one) ?? 0)
      const sum = each.reduce((a, b) => a + b, 0)
      group.classList.toggle('visited', sum > 0)
      group.classList.toggle('taken', last?.transition != null && transitions.includes(last.transition))
      group.style.setProperty('--weight', String(1.4 + Math.log2(1 + sum) * 0.5))
      count.textContent = sum > 0 ? String(sum) : ''
      for (const [i, tspan] of counts.entries()) tspan.textContent = (each[i] ?? 0) > 0 ? ` ×${each[i]}` : ''
    }
    for (const { name, group, count } of this.#nodes) {
      const times = entered.get(name) ?? 0
      group.classList.toggle('visited', times > 0)
      group.classList.toggle('here', name === here)
      count.textContent = times > 1 ? `×${times}` : ''
    }
    this.#reveal(here)
  }

  /** Where the chart is wider than its place, the state where the machine stands comes into sight. */
  #reveal(here: string): void {
    const place = this.#svg.parentElement
    const node = this.#nodes.find(({ name }) => name === here)?.group
    if (place === null || node === undefined || place.scrollWidth <= place.clientWidth) return
    const { left, width } = node.getBoundingClientRect()
    const box = place.getBoundingClientRect()
    place.scrollLeft += left + width / 2 - (box.left + box.width / 2)
  }
}

function middleOf(group: Element): { x: number; y: number } {
  const path = group.querySelector('path')
  if (path === null) return { x: 0, y: 0 }
  const { x, y } = path.getPointAtLength(path.getTotalLength() / 2)
  return { x, y: y + 6 }
}

function countIn(group: Element): Element {
  const text = document.createElementNS(SVG, 'text')
  text.setAttribute('class', 'count')
  text.setAttribute('text-anchor', 'middle')
  return group.appendChild(text)
}

function place(element: Element, { x, y }: { x: number; y: number }): void {
  element.setAttribute('x', String(x))
  element.setAttribute('y', String(y))
}
