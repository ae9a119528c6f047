/** What stands above and below: whose session it is, what it came to, how far it is, and the switches. */
import { totalOf } from './costTab.ts'
import { find, h } from './dom.ts'
import { clock, duration, eventLabel, many, money, percent, tokens } from './format.ts'
import { rowOf, rowsOf, type State, type Store } from './state.ts'

export class Head {
  readonly #follow = find('#follow')
  readonly #veil = find('#veil')

  constructor(store: Store) {
    this.#follow.addEventListener('click', () => {
      const follow = !store.state.follow
      store.change({ follow })
      if (follow) store.go(rowsOf(store.state).length)
    })
    this.#veil.addEventListener('click', () => store.change({ veil: !store.state.veil }))
    find('#back').addEventListener('click', () => store.go(store.state.n - 1))
    find('#forth').addEventListener('click', () => store.go(store.state.n + 1))
    find('#enlarge').addEventListener('click', () => document.body.classList.toggle('large'))
  }

  render(state: State): void {
    const index = state.index.get(state.session)
    if (index === undefined) return
    const rows = rowsOf(state)
    const row = rowOf(state)
    const { session, disagreement, warnings } = index
    const lane = state.lanes.find(({ session_id }) => session_id === state.session)
    const title = session.first_prompt === '' ? 'A session without a prompt' : session.first_prompt
    find('#title h1').textContent = lane === undefined ? title : `Subagent: ${title}`
    find('#title p').textContent = `${session.session_id.slice(0, 8)} · ${session.model} · ${session.cwd}`
    document.title = `${title.slice(0, 60)} · agent inspect`
    const total = totalOf(rows, rows.length)
    const input = total.uncached + total.written + total.read
    find('#totals').replaceChildren(
      h('span', `state s-${index.state}`, state.running !== null ? 'running' : index.state),
      h('span', '', many(rows.length, 'step')),
      h('span', 'used', `${tokens(input)} in, ${tokens(total.output)} out`),
      h('span', 'wide', `${percent(total.read, input) || '0 %'} from the cache`),
      h('span', '', money(total.cost)),
    )
    this.#follow.textContent = state.running !== null ? 'Live' : 'Follow'
    this.#follow.setAttribute('aria-pressed', String(state.follow))
    this.#follow.classList.toggle('live', state.running !== null)
    this.#veil.setAttribute('aria-pressed', String(state.veil))
    find('#position').textContent = `${state.n} / ${rows.length}`
    find('#here').replaceChildren(
      h('span', `dot s-${row?.to ?? 'loadingContext'}`),
      h('b', '', row === undefined ? 'Before the first step' : `${row.from} → ${row.to}`),
      h('span', '', row === undefined ? '' : eventLabel(row.event)),
      h(
        'span',
        'when',
        row === undefined ? '' : [clock(row.at), duration(row.ms)].filter((one) => one !== '').join(' · +'),
      ),
    )
    const notes = [
      ...(disagreement === null
        ? []
        : [`From step ${disagreement.n} on the machine does not follow the recording. ${disagreement.message}`]),
      ...warnings,
    ]
    const notice = find('#notice')
    notice.textContent = notes.join(' ')
    notice.hidden = notes.length === 0
  }
}
