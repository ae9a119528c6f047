/** What the page asks its server for, and remembers. */
import type { Message } from '../machines/messages.ts'
import type {
  ChartJson,
  IndexJson,
  LaneJson,
  LiveJson,
  MessagesJson,
  SearchJson,
  StepJson,
} from '../services/inspect/wire.ts'

const TOKEN = new URLSearchParams(location.search).get('token') ?? ''
/** Steps and messages kept; the oldest are asked for again. */
const KEPT_STEPS = 400
const KEPT_MESSAGES = 4000

export type Veil = 'tokens' | 'all'

export class Api {
  /** Whether content is hidden; what is kept was shown under one veil only. */
  #veil: Veil = 'tokens'
  readonly #steps = new Map<string, Promise<StepJson>>()
  readonly #messages = new Map<number, Message>()
  #wanted = new Map<number, Array<(message: Message) => void>>()

  set veil(veil: Veil) {
    this.#veil = veil
    this.forget()
  }

  /** What is known of steps: after the session grew, its last steps may know more. */
  forget(): void {
    this.#steps.clear()
    this.#messages.clear()
  }

  forgetStep(session: string, n: number): void {
    this.#steps.delete(`${session} ${n}`)
  }

  index(session: string | null, from: number): Promise<IndexJson> {
    return this.#get('index', { ...(session !== null && { s: session }), from: String(from) })
  }

  chart(): Promise<ChartJson> {
    return this.#get('chart', {})
  }

  lanes(): Promise<LaneJson[]> {
    return this.#get('lanes', {})
  }

  search(session: string, q: string): Promise<SearchJson> {
    return this.#get('search', { s: session, q })
  }

  /** @returns the text of the request's body, as JSON */
  request(session: string, n: number): Promise<object> {
    return this.#get('request', { s: session, n: String(n) })
  }

  step(session: string, n: number): Promise<StepJson> {
    const key = `${session} ${n}`
    const known = this.#steps.get(key)
    if (known !== undefined) return known
    const asked = this.#get<StepJson>('step', { s: session, n: String(n) })
    asked.catch(() => this.#steps.delete(key))
    keep(this.#steps, key, asked, KEPT_STEPS)
    return asked
  }

  /** @returns a message if the page has it */
  known(number: number): Message | undefined {
    return this.#messages.get(number)
  }

  /** Asks for one message; those asked for in the same moment come in one answer. */
  message(number: number): Promise<Message> {
    const known = this.#messages.get(number)
    if (known !== undefined) return Promise.resolve(known)
    if (this.#wanted.size === 0) queueMicrotask(() => this.#fetchWanted())
    return new Promise((resolve) => {
      this.#wanted.set(number, [...(this.#wanted.get(number) ?? []), resolve])
    })
  }

  async #fetchWanted(): Promise<void> {
    const wanted = this.#wanted
    const veil = this.#veil
    this.#wanted = new Map()
    const answer = await this.#get<MessagesJson>('messages', { ids: [...wanted.keys()].join(',') })
    for (const [number, resolvers] of wanted) {
      const message = answer[number]
      if (message === undefined) continue
      if (veil === this.#veil) keep(this.#messages, number, message, KEPT_MESSAGES)
      for (const resolve of resolvers) resolve(message)
    }
  }

  /** @param onNews told when the session grew; `onLost` when the server is gone, until the next news */
  live(onNews: (news: LiveJson) => void, onLost: () => void): void {
    const source = new EventSource(`/api/live?${new URLSearchParams({ token: TOKEN })}`)
    source.addEventListener('message', ({ data }) => onNews(JSON.parse(data) as LiveJson))
    source.addEventListener('error', onLost)
  }

  async #get<T>(what: string, query: Record<string, string>): Promise<T> {
    const response = await fetch(`/api/${what}?${new URLSearchParams({ ...query, veil: this.#veil })}`, {
      headers: { 'x-inspect-token': TOKEN },
    })
    if (!response.ok) throw new Error((await response.text()).trim())
    return (await response.json()) as T
  }
}

function keep<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.set(key, value)
  if (map.size <= most) return
  for (const old of map.keys()) {
    map.delete(old)
    return
  }
}
