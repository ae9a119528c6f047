/** The inspector's page: what it knows, what it shows, and how both keep up with the session. */
import { messageOf } from '../machines/errorText.ts'
import type { LiveJson } from '../services/inspect/wire.ts'
import { Api } from './api.ts'
import { Chart } from './chart.ts'
import { Detail } from './detail.ts'
import { find } from './dom.ts'
import { Head } from './head.ts'
import { listenForKeys } from './keys.ts'
import { Lanes } from './lanes.ts'
import { Search } from './search.ts'
import { rowsOf, type State, Store, TABS, type Tab } from './state.ts'
import { Strip } from './strip.ts'
import { Timeline } from './timeline.ts'

/** Rows at the end of what is known that are asked for again: a step may be told in other words once more is known. */
const AGAIN = 3

const api = new Api()

async function begin(): Promise<void> {
  const [index, chart, lanes] = await Promise.all([api.index(null, 0), api.chart(), api.lanes()])
  const root = index.session.session_id
  const wanted = new URLSearchParams(location.hash.slice(1))
  const isRunning = index.running !== null
  const store = new Store({
    root,
    session: root,
    n: index.rows.length,
    tab: TABS.find((tab) => tab === wanted.get('tab')) ?? 'conversation',
    veil: false,
    follow: isRunning,
    base: null,
    index: new Map([[root, index]]),
    lanes,
    running: index.running,
    searching: false,
  })
  show(store, new Chart(chart))
  keepUp(store)
  listenForKeys(store)
  store.listen((state) => remember(state))
  store.begin()
  await Promise.all(lanes.map(({ session_id }) => takeIndex(store, session_id)))
  const n = Number(wanted.get('n'))
  const session = wanted.get('s') ?? root
  if (wanted.has('n') && store.state.index.has(session)) {
    store.change({ follow: false })
    store.go(n, session)
  }
}

/** Every view is told of every change, and looks whether it concerns it. */
function show(store: Store, chart: Chart): void {
  const timeline = new Timeline(store)
  const strip = new Strip(store)
  const lanes = new Lanes(store)
  const head = new Head(store)
  const detail = new Detail(store, api)
  const search = new Search(store, api)
  let isVeiled = store.state.veil
  store.listen((state, changed) => {
    if (state.veil !== isVeiled) {
      isVeiled = state.veil
      api.veil = isVeiled ? 'all' : 'tokens'
      void reload(store)
    }
    // First: what is not in sight cannot be measured.
    document.body.dataset.tab = state.tab
    timeline.render(state, changed)
    strip.render(state, changed)
    lanes.render(state, changed)
    head.render(state)
    chart.render(state)
    search.render(state, changed)
    detail.render(state, changed)
  })
}

async function reload(store: Store): Promise<void> {
  const sessions = [...store.state.index.keys()]
  const [lanes, ...indexes] = await Promise.all([api.lanes(), ...sessions.map((id) => api.index(id, 0))])
  store.change({ lanes, index: new Map(indexes.map((index) => [index.session.session_id, index])) })
}

function keepUp(store: Store): void {
  let last: Promise<void> = Promise.resolve()
  api.live(
    (news) => {
      document.body.classList.remove('lost')
      last = last.then(() => take(store, news)).catch(() => {})
    },
    () => document.body.classList.add('lost'),
  )
}

async function take(store: Store, { counts, running }: LiveJson): Promise<void> {
  const { index } = store.state
  const grown = Object.keys(counts).filter((id) => counts[id] !== index.get(id)?.rows.length)
  const isNew = grown.some((id) => !index.has(id))
  await Promise.all(grown.map((id) => takeIndex(store, id)))
  if (isNew || grown.some((id) => id !== store.state.root)) store.change({ lanes: await api.lanes() })
  store.change({ running })
  if (store.state.follow) store.go(rowsOf(store.state).length)
}

/** Reads what a session has more than the page knows. */
async function takeIndex(store: Store, id: string): Promise<void> {
  const known = rowsOf(store.state, id)
  const from = Math.max(0, known.length - AGAIN)
  const index = await api.index(id, from)
  for (let n = from; n <= index.of; n++) api.forgetStep(id, n)
  const rows = [...known.slice(0, from), ...index.rows]
  store.change({ index: new Map(store.state.index).set(id, { ...index, rows }) })
}

/** In the address, so that a reload comes back to the same place. */
function remember({ session, root, n, tab, follow }: State): void {
  const place = new URLSearchParams({
    ...(session !== root && { s: session }),
    ...(!follow && { n: String(n) }),
    tab: tab satisfies Tab,
  })
  history.replaceState(null, '', `#${place}`)
}

begin().catch((error: unknown) => {
  const notice = find('#notice')
  notice.textContent = `The session could not be shown: ${messageOf(error)}`
  notice.hidden = false
})
