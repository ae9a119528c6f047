/** The right side: one of five looks at the step that is shown. */
import { messageOf } from '../machines/errorText.ts'
import type { Api } from './api.ts'
import { ChangesTab } from './changesTab.ts'
import { CostTab } from './costTab.ts'
import { button, find, h } from './dom.ts'
import { MessageList } from './messageList.ts'
import { recordTab } from './recordTab.ts'
import { RequestTab } from './requestTab.ts'
import { baseOf, rowOf, type State, type Store, TABS, type Tab } from './state.ts'

const NAMES: Record<Tab, string> = {
  chart: 'Chart',
  steps: 'Steps',
  conversation: 'Conversation',
  request: 'Request',
  changes: 'Changes',
  record: 'Record',
  cost: 'Cost',
}

export class Detail {
  readonly #scroller = find('#detail')
  readonly #store: Store
  readonly #api: Api
  readonly #request: RequestTab
  readonly #changes: ChangesTab
  readonly #cost: CostTab
  #conversation: MessageList
  /** What was asked for last: an answer that comes later than a newer question is of no use. */
  #asked = 0

  constructor(store: Store, api: Api) {
    this.#store = store
    this.#api = api
    this.#request = new RequestTab(api, this.#scroller)
    this.#changes = new ChangesTab(store, api, this.#scroller)
    this.#cost = new CostTab(store)
    this.#conversation = new MessageList(api, this.#scroller)
    const tabs = TABS.map((tab) => {
      const one = button(`to-${tab}`, NAMES[tab], () =>
        store.change({ tab, ...(tab === 'steps' && { searching: false }) }),
      )
      one.dataset.tab = tab
      one.setAttribute('role', 'tab')
      return one
    })
    find('#tabs').append(...tabs)
  }

  render(state: State, changed: ReadonlySet<keyof State>): void {
    for (const tab of find('#tabs').children)
      tab.setAttribute('aria-selected', String((tab as HTMLElement).dataset.tab === state.tab))
    const isOther = changed.has('n') || changed.has('session') || changed.has('tab') || changed.has('veil')
    if (isOther || changed.has('base') || changed.has('index')) void this.#show(state, changed)
  }

  async #show(state: State, changed: ReadonlySet<keyof State>): Promise<void> {
    const asked = ++this.#asked
    const { tab, session, n } = state
    try {
      if (changed.has('veil') || changed.has('session')) {
        this.#conversation = new MessageList(this.#api, this.#scroller)
        this.#request.reset()
      }
      if (tab === 'cost') {
        this.#cost.show(state, changed)
        return this.#put(this.#cost.element, changed)
      }
      const [step, base] = await Promise.all([
        this.#api.step(session, n),
        this.#api.step(session, tab === 'changes' ? Math.min(baseOf(state), lastOf(state)) : Math.max(0, n - 1)),
      ])
      if (asked !== this.#asked) return
      switch (tab) {
        case 'request':
          this.#request.show(session, step)
          return this.#put(this.#request.element, changed)
        case 'changes':
          this.#changes.show(state, base, step)
          return this.#put(this.#changes.element, changed)
        case 'record':
          return this.#put(recordTab(step, rowOf(state)), changed)
        default: {
          const before = new Set(base.messages)
          const fresh = new Set(step.messages.filter((number) => !before.has(number)))
          const filled = this.#conversation.show(step.messages, fresh)
          const isEmpty = step.messages.length === 0
          this.#put(isEmpty ? h('p', 'hint', 'The conversation is empty here.') : this.#conversation.element, changed)
          const isMoved = (['n', 'session', 'tab', 'veil'] as const).some((key) => changed.has(key))
          if (!isMoved) return
          this.#conversation.reveal()
          await filled
          if (asked === this.#asked) this.#conversation.reveal()
        }
      }
    } catch (error) {
      if (asked === this.#asked) this.#put(h('p', 'hint', messageOf(error)), changed)
    }
  }

  #put(element: HTMLElement, changed: ReadonlySet<keyof State>): void {
    if (this.#scroller.firstElementChild !== element) this.#scroller.replaceChildren(element)
    if (changed.has('tab') || changed.has('session')) this.#scroller.scrollTop = 0
    this.#scroller.dataset.n = String(this.#store.state.n)
  }
}

function lastOf(state: State): number {
  return state.index.get(state.session)?.rows.length ?? 0
}
