/** What the inspector knows of a session and of the subagents under it, and how it keeps up with them. */
import type { LoadedSession, SessionHead, StorePort } from '../ports.ts'
import { createNumbering } from './numbering.ts'
import { bodyOf, requestAt } from './requests.ts'
import { type PriceOf, rowsOf } from './rows.ts'
import { search } from './search.ts'
import { stepOf } from './steps.ts'
import { type Veil, veiled, veiledText } from './veil.ts'
import { type SessionView, viewOf } from './view.ts'
import type { IndexJson, LaneJson, LiveJson, MessagesJson, SearchJson, SessionJson, StepJson } from './wire.ts'

export interface InspectorOptions {
  store: StorePort
  /** The session that the page is about. */
  session_id: string
  priceOf: PriceOf
}

export interface Inspector {
  /** @returns the timeline from row `from` on; null for a session that is not on this page */
  index(id: string, from: number, veil: Veil): IndexJson | null
  lanes(veil: Veil): LaneJson[]
  step(id: string, n: number, veil: Veil): StepJson | null
  /** @returns the body of the step's request as it went over the wire */
  body(id: string, n: number, veil: Veil): object | null
  messages(numbers: number[], veil: Veil): MessagesJson
  search(id: string, words: string, veil: Veil): SearchJson | null
  /** Reads what has come since. @returns null where nothing has changed */
  poll(): Promise<LiveJson | null>
  now(): LiveJson
}

/** @returns null where there is no such session */
export async function createInspector({ store, session_id, priceOf }: InspectorOptions): Promise<Inspector | null> {
  const views = new Map<string, SessionView>()
  const numbering = createNumbering()
  let running: LiveJson['running'] = null

  const take = (loaded: LoadedSession): SessionView => {
    const id = loaded.head.session_id
    const view = viewOf(loaded, views.get(id) ?? null)
    views.set(id, view)
    return view
  }
  const refresh = async (head: SessionHead): Promise<boolean> => {
    const before = views.get(head.session_id)
    if (before !== undefined && before.head.count === head.count) return false
    const loaded = await store.load(head.session_id)
    if (loaded !== null) take(loaded)
    return loaded !== null
  }
  const poll = async (): Promise<boolean> => {
    const owner = await store.owner(session_id)
    const holds = owner === null ? null : { pid: owner.pid, host: owner.host }
    let isNew = holds?.pid !== running?.pid
    running = holds
    const head = await store.head(session_id)
    if (head !== null && (await refresh(head))) isNew = true
    // Only a session that gives tasks has others under it; finding them means to look at every head.
    if ([...views.values()].some(givesTasks)) {
      for (const child of under(session_id, await store.list(null))) if (await refresh(child)) isNew = true
    }
    return isNew
  }
  const now = (): LiveJson => ({
    counts: Object.fromEntries([...views].map(([id, view]) => [id, view.replay.transitions.length])),
    running,
  })

  const first = await store.load(session_id)
  if (first === null) return null
  take(first)
  await poll()

  return {
    index: (id, from, veil) => {
      const view = views.get(id)
      if (view === undefined) return null
      const { replay, warnings, head } = view
      const rows = rowsOf(replay, head.model, priceOf, from)
      return {
        session: sessionOf(head, veil),
        from,
        rows: rows.map((row) => ({ ...row, detail: veiledText(row.detail, veil) })),
        of: replay.transitions.length,
        state: replay.state,
        running: id === session_id ? running : null,
        disagreement: replay.disagreement && { n: replay.disagreement.n, message: replay.disagreement.message },
        warnings: [...warnings],
      }
    },
    lanes: (veil) =>
      [...views.values()]
        .filter(({ head }) => head.parent !== undefined && head.session_id !== session_id)
        .map((view) => laneOf(view, veil)),
    step: (id, n, veil) => {
      const view = views.get(id)
      if (view === undefined || n > view.replay.transitions.length) return null
      return stepOf(view, n, numbering, veil)
    },
    body: (id, n, veil) => {
      const view = views.get(id)
      const request = view === undefined ? null : requestAt(view, n)
      if (request === null) return null
      const { system, messages } = request
      return bodyOf({ ...request, system: veiledText(system, veil), messages: veiled(messages, veil) })
    },
    messages: (numbers, veil) =>
      Object.fromEntries(
        numbers.flatMap((number) => {
          const message = numbering.messageOf(number)
          return message === undefined ? [] : [[number, veiled(message, veil)]]
        }),
      ),
    search: (id, words, veil) => {
      const view = views.get(id)
      return view === undefined ? null : search(view, words, veil)
    },
    poll: async () => ((await poll()) ? now() : null),
    now,
  }
}

/** @returns the heads of the sessions under one, whatever their depth, in the order in which they began */
function under(root: string, heads: SessionHead[]): SessionHead[] {
  const ids = new Set([root])
  const found: SessionHead[] = []
  for (let size = 0; size < ids.size; ) {
    size = ids.size
    for (const head of heads) {
      if (head.parent === undefined || !ids.has(head.parent) || ids.has(head.session_id)) continue
      ids.add(head.session_id)
      found.push(head)
    }
  }
  return found.toSorted((a, b) => (a.created < b.created ? -1 : 1))
}

function givesTasks({ replay }: SessionView): boolean {
  return replay.transitions.some(({ call }) => call?.name === 'task')
}

function sessionOf({ v: _, count: __, gauge: ___, ...head }: SessionHead, veil: Veil): SessionJson {
  return { ...head, cwd: veiledText(head.cwd, veil), first_prompt: veiledText(head.first_prompt, veil) }
}

function laneOf({ head, entries, replay }: SessionView, veil: Veil): LaneJson {
  const opened = entries[0]?.record
  return {
    session_id: head.session_id,
    parent: head.parent ?? '',
    tool_use_id: opened?.type === 'opened' ? (opened.parent?.tool_use_id ?? '') : '',
    title: veiledText(head.first_prompt.slice(0, 200), veil),
    from: Date.parse(head.created),
    to: Date.parse(head.used),
    state: replay.state,
    of: replay.transitions.length,
  }
}
