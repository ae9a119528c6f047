/** All steps at once, to scrub through: tokens above, time below, the states between them. */
import type { StepRow } from '../services/inspect/wire.ts'
import { find } from './dom.ts'
import { baseOf, rowsOf, type State, type Store } from './state.ts'

/** Height of the band of states, in pixels. */
const BAND = 8

export class Strip {
  readonly #canvas = find<HTMLCanvasElement>('#strip canvas')
  readonly #scrub = find('#scrub')
  readonly #cursor = find('#cursor')
  readonly #mark = find('#mark')

  constructor(private readonly store: Store) {
    new ResizeObserver(() => this.#paint(store.state)).observe(this.#scrub)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint(store.state))
    this.#scrub.addEventListener('pointerdown', (event) => {
      this.#scrub.setPointerCapture(event.pointerId)
      this.#scrub.focus({ preventScroll: true })
      this.#to(event)
    })
    this.#scrub.addEventListener('pointermove', (event) => {
      if (this.#scrub.hasPointerCapture(event.pointerId)) this.#to(event)
    })
  }

  render(state: State, changed: ReadonlySet<keyof State>): void {
    if (changed.has('index') || changed.has('session')) this.#paint(state)
    const of = rowsOf(state).length
    this.#scrub.setAttribute('aria-valuemin', '0')
    this.#scrub.setAttribute('aria-valuemax', String(of))
    this.#scrub.setAttribute('aria-valuenow', String(state.n))
    this.#place(this.#cursor, state.n, of)
    this.#place(this.#mark, baseOf(state), of)
    this.#mark.hidden = state.base === null
  }

  #place(element: HTMLElement, n: number, of: number): void {
    const width = this.#scrub.clientWidth
    element.style.transform = `translateX(${of === 0 ? 0 : ((n - 0.5) / of) * width}px)`
  }

  #to(event: PointerEvent): void {
    const box = this.#scrub.getBoundingClientRect()
    const of = rowsOf(this.store.state).length
    this.store.go(Math.ceil(((event.clientX - box.left) / box.width) * of))
  }

  #paint(state: State): void {
    const rows = rowsOf(state)
    const { clientWidth: width, clientHeight: height } = this.#scrub
    const scale = devicePixelRatio
    this.#canvas.width = width * scale
    this.#canvas.height = height * scale
    const context = this.#canvas.getContext('2d')
    if (context === null || rows.length === 0) return
    context.scale(scale, scale)
    const colors = colorsOf(rows)
    const middle = Math.round((height - BAND) * 0.55)
    const most = { tokens: Math.max(1, ...rows.map(tokensOf)), ms: Math.max(1, ...rows.map(({ ms }) => ms)) }
    const column = width / rows.length
    const gap = column > 4 ? 1 : 0
    for (const [i, row] of rows.entries()) {
      const x = i * column
      const wide = Math.max(column - gap, 0.75)
      const up = Math.sqrt(tokensOf(row) / most.tokens) * (middle - 4)
      const down = Math.sqrt(row.ms / most.ms) * (height - middle - BAND - 3)
      context.fillStyle = colors.get('--tokens') ?? ''
      context.fillRect(x, middle - up, wide, up)
      context.fillStyle = colors.get('--time') ?? ''
      context.fillRect(x, middle + BAND, wide, down)
      context.fillStyle = colors.get(row.bad ? '--bad' : `--s-${row.to}`) ?? ''
      context.fillRect(x, middle, Math.max(column, 1), BAND)
    }
    this.render(state, new Set())
  }
}

function tokensOf({ usage }: StepRow): number {
  return usage === undefined ? 0 : usage.uncached + usage.written + usage.read + usage.output
}

function colorsOf(rows: readonly StepRow[]): Map<string, string> {
  const style = getComputedStyle(document.documentElement)
  const names = new Set(['--tokens', '--time', '--bad', ...rows.map(({ to }) => `--s-${to}`)])
  return new Map([...names].map((name) => [name, style.getPropertyValue(name)]))
}
