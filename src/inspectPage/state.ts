/** What the page shows, in one place; views are told what has changed, once a frame. */
import type { IndexJson, LaneJson, StepRow } from '../services/inspect/wire.ts'

export const TABS = ['chart', 'steps', 'conversation', 'request', 'changes', 'record', 'cost'] as const
export type Tab = (typeof TABS)[number]

export interface State {
  /** The session that the page is about. */
  root: string
  /** The one that is shown: the root or a subagent's. */
  session: string
  /** The step, 0 for before the first. */
  n: number
  tab: Tab
  veil: boolean
  /** Stays at the last step while the session grows. */
  follow: boolean
  /** The step to compare with; null for the one before. */
  base: number | null
  /** By session. */
  index: ReadonlyMap<string, IndexJson>
  lanes: LaneJson[]
  running: IndexJson['running']
  searching: boolean
}

export type Change = Partial<State>
type Listener = (state: State, changed: ReadonlySet<keyof State>) => void

export class Store {
  state: State
  readonly #listeners: Listener[] = []
  #changed = new Set<keyof State>()

  constructor(state: State) {
    this.state = state
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener)
  }

  /** Tells the views of everything, for the first time. */
  begin(): void {
    this.#changed = new Set(Object.keys(this.state) as Array<keyof State>)
    requestAnimationFrame(() => this.#tell())
  }

  change(change: Change): void {
    for (const key of Object.keys(change) as Array<keyof State>) {
      if (change[key] === this.state[key]) continue
      if (this.#changed.size === 0) requestAnimationFrame(() => this.#tell())
      this.#changed.add(key)
    }
    this.state = { ...this.state, ...change }
  }

  /** Goes to a step, as near as there is one. */
  go(n: number, session: string = this.state.session): void {
    const last = rowsOf(this.state, session).length
    const to = Math.max(0, Math.min(last, Math.round(n)))
    this.change({ n: to, session, follow: this.state.follow && to === last })
  }

  #tell(): void {
    const changed = this.#changed
    this.#changed = new Set()
    for (const listener of this.#listeners) listener(this.state, changed)
  }
}

export function rowsOf(state: State, session: string = state.session): readonly StepRow[] {
  return state.index.get(session)?.rows ?? []
}

export function rowOf(state: State): StepRow | undefined {
  return rowsOf(state)[state.n - 1]
}

/** @returns the step that the shown one is compared with */
export function baseOf(state: State): number {
  return state.base ?? Math.max(0, state.n - 1)
}
