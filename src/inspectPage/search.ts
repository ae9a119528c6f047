/** Search in the records of the session that is shown. */
import type { Api } from './api.ts'
import { button, find, h } from './dom.ts'
import { many } from './format.ts'
import type { State, Store } from './state.ts'

/** At once, not with the next frame: what is typed next belongs there. */
export function openSearch(store: Store): void {
  store.change({ searching: true, ...(document.body.dataset.tab !== 'steps' && isNarrow() && { tab: 'steps' }) })
  showSearch(true)
  find<HTMLInputElement>('#search input').select()
}

function showSearch(isOpen: boolean): void {
  find('#search').hidden = !isOpen
  find('#steps').hidden = isOpen
}

/** Where one thing is in sight at a time, search takes the place of the steps. */
function isNarrow(): boolean {
  return matchMedia('(max-width: 899px)').matches
}

export class Search {
  readonly #input = find<HTMLInputElement>('#search input')
  readonly #found = find('#found')
  readonly #hits = find('#hits')
  #asked = 0

  constructor(
    private readonly store: Store,
    private readonly api: Api,
  ) {
    this.#input.addEventListener('input', () => void this.#ask())
    find('#search form').addEventListener('submit', (event) => {
      event.preventDefault()
      this.#hits.querySelector('button')?.focus()
    })
    find('#search form button').addEventListener('click', () => store.change({ searching: false }))
    find('#open-search').addEventListener('click', () => openSearch(store))
    this.#hits.addEventListener('keydown', (event) => this.#move(event))
  }

  render({ searching, n }: State, changed: ReadonlySet<keyof State>): void {
    if (changed.has('searching')) showSearch(searching)
    if (searching && (changed.has('veil') || changed.has('session') || changed.has('index'))) void this.#ask()
    for (const hit of this.#hits.children)
      hit.classList.toggle('selected', (hit as HTMLElement).dataset.n === String(n))
  }

  async #ask(): Promise<void> {
    const asked = ++this.#asked
    const words = this.#input.value
    const { session } = this.store.state
    const { hits, more } = words.trim() === '' ? { hits: [], more: false } : await this.api.search(session, words)
    if (asked !== this.#asked) return
    this.#found.textContent =
      words.trim() === '' ? '' : more ? `more than ${hits.length} steps` : many(hits.length, 'step')
    this.#hits.replaceChildren(
      ...hits.map(({ n, where, before, match, after }) => {
        const hit = button('hit', '', () => this.store.go(n))
        hit.dataset.n = String(n)
        hit.append(
          h('span', 'n', String(n)),
          h('span', 'where', where),
          h('span', 'snippet', before, h('mark', '', match), after),
        )
        return hit
      }),
    )
  }

  /** Up and down between the hits. */
  #move(event: KeyboardEvent): void {
    const hit = document.activeElement
    const next =
      event.key === 'ArrowDown'
        ? hit?.nextElementSibling
        : event.key === 'ArrowUp'
          ? (hit?.previousElementSibling ?? this.#input)
          : null
    if (!(next instanceof HTMLElement)) return
    event.preventDefault()
    next.focus()
    if (next.dataset.n !== undefined) next.click()
  }
}
