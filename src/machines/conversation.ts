/**
 * The conversation: what the journal amounts to. Plain data; `fold.ts` makes it, guards and requests read it.
 */
import type { Carried } from './carried.ts'
import type { Denial, SavedResult, TurnLimits } from './journal.ts'
import type { RecalledMemory } from './memoryRecords.ts'
import { addUsage, type Message, NO_USAGE, type Usage, type UserBlock } from './messages.ts'
import { type Round, resultsOf } from './round.ts'

export interface Session {
  session_id: string
  cwd: string
  model: string
  parent?: { session_id: string; tool_use_id: string }
}

export interface Conversation {
  session: Session | null
  /** Settled messages, alternating. The last is the assistant's, or the first and only one is a summary. */
  messages: Message[]
  /** The calls of the last reply with what became of them; settled into `messages` by the next reply. */
  round: Round
  /** The user's words that no reply has answered yet. They stay apart until the budget is checked. */
  pending: UserBlock[]
  /** The current request word for word, for a compaction in the middle of the turn. */
  request: UserBlock[]
  /** Hash of the system string and tools that the last call used. */
  context: string | null
  /** The model that the last call asked. */
  asked: string | null
  /** Whole input of the last reply, in tokens, estimated if the server does not say; 0 before one and after a compaction. */
  gauge: number
  weight: Weight
  /** Results of which the conversation shows only a part. */
  saved: Array<SavedResult & { shown: Shown }>
  /** What was left out of the middle of `messages`. */
  snip: Snip | null
  /** Skills and the todo list, for when the messages they came in are gone. */
  carried: Carried[]
  /** Of the whole session. */
  compactions: number
  /** Replies since the cheap layers last ran; null before they did and after a compaction. */
  repliesSinceTrim: number | null
  prompts: number
  firstPrompt: string
  /** The last prompts as typed, the newest last. */
  lastPrompts: string[]
  turn: Turn
}

/** How a result is shown once it is on disk. */
export type Shown = 'preview' | 'placeholder'

/** What a cut in the middle of the messages has left: how many messages are gone, where they are, and the blocks that stand for them. */
export interface Snip {
  count: number
  paths: string[]
  blocks: UserBlock[]
}

/** What the gauge does not say, in estimated tokens. */
export interface Weight {
  /** Whether the gauge was reported by the server or is itself an estimate. */
  gauge: 'none' | 'reported' | 'estimated'
  /** Added since the last reply's input, less what was taken out. */
  added: number
  /** The system string and the tools of the last call. */
  context: number
}

/** The turn under way or the last one. Counters start anew with each prompt. */
export interface Turn {
  status: 'none' | 'open' | 'answered' | 'done' | 'failed' | 'cancelled'
  limits: TurnLimits
  /** Model calls of the main loop. */
  calls: number
  /** Replies in a row whose calls could not run because the reply was not whole. */
  cutReplies: number
  text: string
  stop_reason: string | null
  usage: Usage
  api_ms: number
  denials: Denial[]
  memory: TurnMemory
  compaction: CompactionState
  /** The turn is over with the summary that a person asked for; absent in all others. */
  isCompaction?: true
  interrupted: string | null
  failure: Failure | null
}

/** What long-term memory has to do with the turn. */
export interface TurnMemory {
  isOn: boolean
  /** What goes along with each request of the turn; null before it was chosen. */
  recalled: RecalledMemory[] | null
  /** What was said, whatever was compacted since; no tool output. Empty where memory is off. */
  said: Said[]
  /** What is worth keeping of the turn was kept. */
  isKept: boolean
}

export interface Said {
  who: 'user' | 'agent'
  text: string
}

export interface Failure {
  subtype: 'error_max_turns' | 'error_during_execution' | 'error_interrupted'
  message: string
}

/**
 * What stands between the conversation and the next call: nothing, a wish of the model, or an input that was
 * too long. `reached` is the gauge of the first reply after this turn's last compaction (null before it).
 */
export interface CompactionState {
  due: { trigger: 'tool'; focus: string | null } | { trigger: 'emergency' } | null
  reached: number | null
  count: number
  emergencies: number
  /**
   * `tried`: compacted for an input that was too long, and no reply since. `failed`: still too long; the next prompt
   * finds what no reply has answered made shorter, or the session would be too long for ever.
   */
  emergency: 'none' | 'tried' | 'failed'
}

const NO_LIMITS: TurnLimits = { max_turns: Number.MAX_SAFE_INTEGER, input_tokens: Number.MAX_SAFE_INTEGER }

/** The conversation before anything was recorded. */
export const EMPTY: Conversation = Object.freeze<Conversation>({
  session: null,
  messages: [],
  round: [],
  pending: [],
  request: [],
  context: null,
  asked: null,
  gauge: 0,
  weight: { gauge: 'none', added: 0, context: 0 },
  saved: [],
  snip: null,
  carried: [],
  compactions: 0,
  repliesSinceTrim: null,
  prompts: 0,
  firstPrompt: '',
  lastPrompts: [],
  turn: newTurn('none', NO_LIMITS),
})

/** @returns a turn in which nothing has happened yet */
export function newTurn(status: Turn['status'], limits: TurnLimits): Turn {
  return {
    status,
    limits,
    calls: 0,
    cutReplies: 0,
    text: '',
    stop_reason: null,
    usage: NO_USAGE,
    api_ms: 0,
    denials: [],
    memory: { isOn: false, recalled: null, said: [], isKept: false },
    compaction: { due: null, reached: null, count: 0, emergencies: 0, emergency: 'none' },
    interrupted: null,
    failure: null,
  }
}

/** @returns the conversation with these fields: changed in place where only a fold under way holds it, else a new one */
export function changed(c: Conversation, change: Partial<Conversation>): Conversation {
  return GROWING.has(c.messages) ? Object.assign(c, change) : { ...c, ...change }
}

/** @returns the conversation with these fields of its turn */
export function withTurn(c: Conversation, change: Partial<Turn>): Conversation {
  if (!GROWING.has(c.messages)) return { ...c, turn: { ...c.turn, ...change } }
  Object.assign(c.turn, change)
  return c
}

/** The next call is so many tokens longer, by estimate. */
export function added(c: Conversation, tokens: number): Conversation {
  return changed(c, { weight: { ...c.weight, added: c.weight.added + tokens } })
}

/** @returns the conversation with what model calls of its turn came to; `ms` is the time waited for them */
export function charge(c: Conversation, usage: Usage, ms: number): Conversation {
  return withTurn(c, { usage: addUsage(c.turn.usage, usage), api_ms: c.turn.api_ms + ms })
}

/** @returns what the next request's last user message holds: results in call order first, then the user's words. */
export function unanswered(c: Conversation): UserBlock[] {
  return [...resultsOf(c.round), ...c.pending]
}

/** @returns the messages with one more; joined to the last where that has the same role, as the roles must alternate. */
export function append(messages: Message[], role: Message['role'], content: Message['content']): Message[] {
  if (content.length === 0) return messages
  const last = messages.at(-1)
  const isJoined = last?.role === role
  const message = { role, content: isJoined ? [...last.content, ...content] : content } as Message
  const rest = isJoined ? messages.length - 1 : messages.length
  if (!GROWING.has(messages)) return [...messages.slice(0, rest), message]
  messages[rest] = message
  return messages
}

/**
 * Messages of conversations that only a fold under way holds. Those change in place: copies for each of thousands of
 * records would be most of what a resume costs.
 */
const GROWING = new WeakSet<Message[]>()

/** @returns a copy that changes in place until it is settled. Its maker must hold the only reference to it. */
export function growing(c: Conversation): Conversation {
  if (GROWING.has(c.messages)) return c
  const messages = [...c.messages]
  GROWING.add(messages)
  return { ...c, messages, turn: { ...c.turn } }
}

/** @returns the conversation, which no longer changes. */
export function settled(c: Conversation): Conversation {
  GROWING.delete(c.messages)
  return c
}

/** @returns whether the last turn was left unfinished, so that it can go on without a new prompt. */
export function isUnfinished(c: Conversation): boolean {
  if (c.turn.status === 'answered') return true
  if (c.turn.status === 'done' || c.turn.status === 'none') return false
  return c.round.length > 0 || c.pending.length > 0 || c.turn.stop_reason === 'pause_turn'
}
