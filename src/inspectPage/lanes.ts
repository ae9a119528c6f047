/** Subagents below the strip, each where its task was at work; on the strip's own scale. */
import type { LaneJson, StepRow } from '../services/inspect/wire.ts'
import { find, h } from './dom.ts'
import { many } from './format.ts'
import { rowsOf, type State, type Store } from './state.ts'

export class Lanes {
  readonly #place = find('#lanes')

  constructor(private readonly store: Store) {
    this.#place.addEventListener('click', (event) => {
      const lane = (event.target as Element).closest<HTMLElement>('[data-session]')
      if (lane === null) return
      const session = lane.dataset.session ?? ''
      const { state } = this.store
      // The main lane leads back to where its task was given.
      const n = session === state.root ? stepOfTask(state) : rowsOf(state, session).length
      this.store.go(n, session)
    })
  }

  render(state: State, changed: ReadonlySet<keyof State>): void {
    const { lanes, root } = state
    this.#place.hidden = lanes.length === 0
    if (lanes.length === 0 || !['index', 'lanes', 'session'].some((key) => changed.has(key as keyof State))) return
    const main = rowsOf(state, root)
    const whole = { session_id: root, parent: '', title: 'main', state: '', depth: 0, from: 0, to: 1, of: main.length }
    const all = [whole, ...lanes.map((lane) => ({ ...lane, ...spanOf(lane, main), depth: depthOf(lane, lanes) }))]
    this.#place.replaceChildren(
      ...all.map((lane) => {
        const bar = h('span', `span s-${lane.state}`)
        bar.style.left = `${lane.from * 100}%`
        bar.style.width = `max(8px, ${(lane.to - lane.from) * 100}%)`
        const name = h('span', 'name', lane.title)
        const element = h('button', 'lane', name, h('span', 'track', bar), h('span', 'of', many(lane.of, 'step')))
        element.type = 'button'
        element.dataset.session = lane.session_id
        element.setAttribute('aria-current', String(lane.session_id === state.session))
        element.style.setProperty('--depth', String(lane.depth))
        element.title = lane.state === '' ? 'The session itself' : `${lane.title} (${lane.state})`
        return element
      }),
    )
  }
}

/** Between the steps of the main session at whose times the lane began and ended, as parts of the whole. */
function spanOf(lane: LaneJson, main: readonly StepRow[]): { from: number; to: number } {
  const given = main.findIndex(({ call, record }) => record === 'toolStarted' && call === lane.tool_use_id)
  const answered = main.findIndex(({ call, record }) => record === 'toolFinished' && call === lane.tool_use_id)
  const of = Math.max(1, main.length)
  return { from: Math.max(0, given) / of, to: (answered < 0 ? of : answered + 1) / of }
}

function depthOf(lane: LaneJson, lanes: LaneJson[]): number {
  const parent = lanes.find(({ session_id }) => session_id === lane.parent)
  return parent === undefined ? 1 : 1 + depthOf(parent, lanes)
}

function stepOfTask(state: State): number {
  const lane = state.lanes.find(({ session_id }) => session_id === state.session)
  const main = rowsOf(state, state.root)
  const given = main.find(({ call, record }) => record === 'toolStarted' && call === lane?.tool_use_id)
  return given?.n ?? main.length
}
