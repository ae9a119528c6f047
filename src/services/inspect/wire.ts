/** What the inspector's server and its page say to each other. Types only: the page takes no code from here. */
import type { Message, ToolSpec } from '../../machines/messages.ts'

/** A line of the timeline. */
export interface StepRow {
  n: number
  /** Milliseconds since 1970. */
  at: number
  from: string
  event: string
  to: string
  /** Milliseconds since the line before it, in the same process. */
  ms: number
  /** Id of the transition in the graph; null for a restart. */
  transition: string | null
  /** What kind of record came with it; null for a derived event. */
  record: string | null
  detail: string
  /** Milliseconds that the service itself says it took. */
  took?: number
  /** Tokens of the model calls that ended here. */
  usage?: StepUsage
  /** USD; null where the model's price is not known. */
  cost?: number | null
  /** The call that a tool's record is about. */
  call?: string
  /** The event tells of a failure or a refusal. */
  bad?: true
}

export interface StepUsage {
  uncached: number
  written: number
  read: number
  output: number
}

/** A session's timeline, from row `from` on. */
export interface IndexJson {
  session: SessionJson
  from: number
  rows: StepRow[]
  of: number
  /** Where the machine stands after the last row. */
  state: string
  /** The process that holds the session. */
  running: { pid: number; host: string } | null
  /** The first transition at which recording and machine part. */
  disagreement: { n: number; message: string } | null
  warnings: string[]
}

export interface SessionJson {
  session_id: string
  cwd: string
  created: string
  used: string
  model: string
  turns: number
  first_prompt: string
  parent?: string
}

/** A subagent's session under the session that the page is about. */
export interface LaneJson {
  session_id: string
  parent: string
  /** The call it works for. */
  tool_use_id: string
  title: string
  /** Milliseconds since 1970. */
  from: number
  to: number
  state: string
  of: number
}

/** The statechart: which texts of the picture belong to which transition. */
export interface ChartJson {
  arrows: Array<{ id: string; transitions: string[] }>
  /** Transitions that are recorded in every state, by their event. */
  anywhere: Array<{ event: string; transitions: string[] }>
}

/** Messages by number, as the server numbers them; each number stands for one content for good. */
export type MessagesJson = Record<number, Message>

/** What a request was, in parts that the page knows or fetches by number. */
export interface RequestParts {
  /** `sent`: got the reply of this step; `next`: is under way; `wouldBe`: would be sent now. */
  kind: 'sent' | 'next' | 'wouldBe' | 'summary'
  model: string
  /** null where the journal does not say. */
  max_tokens: number | null
  system: string
  tools: ToolSpec[]
  messages: number[]
}

/** All that a step has beside its row. */
export interface StepJson {
  n: number
  state: string
  /** The conversation as it would be sent. */
  messages: number[]
  facts: Record<string, string | number | boolean | null>
  /** The record that came with the step, as the journal has it. */
  record: unknown
  /** null before there was a context, or where what was sent is not kept. */
  request: RequestParts | null
  /** Hash of the system string and tools in effect. */
  context: string | null
}

export interface SearchJson {
  hits: Array<{ n: number; where: string; before: string; match: string; after: string }>
  /** More were found than are listed. */
  more: boolean
}

/** Sent whenever something changed: how many rows each session on the page has, and who holds the first. */
export interface LiveJson {
  counts: Record<string, number>
  running: { pid: number; host: string } | null
}
