/** The list of steps. Only what is in sight is in the document: a session may have thousands. */
import type { StepRow } from '../services/inspect/wire.ts'
import { find, h } from './dom.ts'
import { duration, eventLabel, tokens } from './format.ts'
import { baseOf, rowsOf, type State, type Store } from './state.ts'

/** As style.css has it, in pixels. */
const ROW = 30
/** Rows above and below the visible ones. */
const MORE = 12

export class Timeline {
  readonly #list = find('#rows')
  readonly #scroller = find('#steps')
  readonly #window = find('#window')
  readonly #drawn = new Map<number, HTMLElement>()
  #session = ''

  constructor(store: Store) {
    this.#scroller.addEventListener('scroll', () => this.#draw(store.state), { passive: true })
    new ResizeObserver(() => this.#draw(store.state)).observe(this.#scroller)
    this.#window.addEventListener('click', (event) => {
      const row = (event.target as Element).closest<HTMLElement>('[data-n]')
      if (row === null) return
      const n = Number(row.dataset.n)
      if ((event as MouseEvent).shiftKey) store.change({ base: n })
      else store.go(n)
    })
  }

  render(state: State, changed: ReadonlySet<keyof State>): void {
    if (state.session !== this.#session) this.#clear()
    this.#session = state.session
    if (changed.has('index') || changed.has('session')) {
      this.#list.style.height = `${rowsOf(state).length * ROW}px`
      for (const [n, element] of this.#drawn) {
        if (element.dataset.told !== toldOf(rowsOf(state)[n - 1])) this.#remove(n)
      }
    }
    if (changed.has('n') || changed.has('session') || changed.has('tab')) this.#reveal(state.n)
    this.#draw(state)
  }

  /** Scrolls as little as need be. */
  #reveal(n: number): void {
    const top = (n - 1) * ROW
    const { scrollTop, clientHeight } = this.#scroller
    if (clientHeight === 0) return
    if (top < scrollTop + ROW) this.#scroller.scrollTop = Math.max(0, top - ROW * 3)
    else if (top + ROW > scrollTop + clientHeight - ROW) this.#scroller.scrollTop = top - clientHeight + ROW * 4
  }

  #draw(state: State): void {
    const rows = rowsOf(state)
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / ROW) - MORE)
    const last = Math.min(rows.length, Math.ceil((this.#scroller.scrollTop + this.#scroller.clientHeight) / ROW) + MORE)
    for (const n of this.#drawn.keys()) if (n <= first || n > last) this.#remove(n)
    for (let at = first; at < last; at++) {
      const row = rows[at]
      if (row === undefined) continue
      const element = this.#drawn.get(row.n) ?? this.#add(row)
      element.classList.toggle('selected', row.n === state.n)
      element.classList.toggle('base', row.n === baseOf(state) && state.base !== null)
    }
  }

  #add(row: StepRow): HTMLElement {
    const element = elementOf(row)
    this.#drawn.set(row.n, element)
    this.#window.append(element)
    return element
  }

  #remove(n: number): void {
    this.#drawn.get(n)?.remove()
    this.#drawn.delete(n)
  }

  #clear(): void {
    for (const n of [...this.#drawn.keys()]) this.#remove(n)
    this.#scroller.scrollTop = 0
  }
}

/** What of a row can change: a step is told in other words once more is known, or content is hidden. */
function toldOf(row: StepRow | undefined): string {
  return row === undefined ? '' : `${row.record} ${row.to} ${row.detail}`
}

function elementOf(row: StepRow): HTMLElement {
  const { usage } = row
  const used = usage === undefined ? 0 : usage.uncached + usage.written + usage.read + usage.output
  const chip = h('span', 'chip', row.from === row.to ? row.to : `${row.from} → ${row.to}`)
  const element = h(
    'div',
    `row${row.record === null ? ' derived' : ''}${row.bad ? ' bad' : ''}`,
    h('span', 'n', String(row.n)),
    h('span', `dot s-${row.to}`),
    h('span', 'event', eventLabel(row.event)),
    h('span', 'about', row.detail === '' ? chip.textContent : row.detail),
    h('span', 'tokens', used === 0 ? '' : tokens(used)),
    h('span', 'ms', duration(row.ms)),
  )
  element.dataset.n = String(row.n)
  element.dataset.told = toldOf(row)
  element.title = `${row.from} → ${row.to}`
  element.style.transform = `translateY(${(row.n - 1) * ROW}px)`
  return element
}
