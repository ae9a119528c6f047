/**
 * The journal: what happened in a session, one record an event, append-only.
 *
 * A record holds an outcome (a reply, a tool's result), never what can be derived from earlier ones (a
 * request). `conversation.ts` folds records into the conversation; `replay.ts` folds them through the machine.
 */
import type { RecalledRecord, RememberedRecord } from './memoryRecords.ts'
import type { AssistantBlock, ImageBlock, TextBlock, ToolSpec, Usage } from './messages.ts'

/** Raised when a record's meaning changes; an entry of a higher version is not read (contract.md, 6). */
export const JOURNAL_VERSION = 1

/** The states of the statechart, as entries, traces and diagrams name them. */
export type StateName =
  | 'loadingContext'
  | 'recalling'
  | 'persisting'
  | 'checkingBudget'
  | 'trimming'
  | 'compacting'
  | 'calling'
  | 'runningTool'
  | 'remembering'
  | 'done'
  | 'failed'
  | 'cancelled'

/** A record with its place: `seq` counts from 0, `at` is ISO 8601 UTC, `in` the state its event arrived in. */
export interface JournalEntry {
  v: number
  seq: number
  at: string
  in: StateName
  record: JournalRecord
}

/** An entry before the store has given it its place. */
export type NewEntry = Pick<JournalEntry, 'in' | 'record'>

export type JournalRecord =
  | OpenedRecord
  | PromptRecord
  | ResumedRecord
  | ContextRecord
  | ReplyRecord
  | ToolStartedRecord
  | ToolFinishedRecord
  | CallFailedRecord
  | TrimmedRecord
  | CompactedRecord
  | CompactionFailedRecord
  | RecalledRecord
  | RememberedRecord
  | InterruptedRecord
  | FaultRecord
  | TurnEndedRecord

/** First record of every session. `parent` links a subagent's session to the call that made it. */
export interface OpenedRecord {
  type: 'opened'
  session_id: string
  cwd: string
  model: string
  parent?: { session_id: string; tool_use_id: string }
  forked_from?: { session_id: string; at: number }
}

/** A turn begins. `text` is the prompt byte for byte as typed, `blocks` what the model gets for it (mentions too). */
export interface PromptRecord {
  type: 'prompt'
  text: string
  blocks: Array<TextBlock | ImageBlock>
  cwd: string
  limits: TurnLimits
  /** Long-term memory is on for this turn. */
  memory?: true
}

/** A turn without a new prompt: an unfinished one is carried on, or the conversation is summarised and nothing else. */
export interface ResumedRecord {
  type: 'resumed'
  cwd: string
  limits: TurnLimits
  memory?: true
  /** The person asked for a summary, with what it is to be about. */
  compact?: { focus: string | null }
}

/** What bounds a turn. Recorded, so that a replay decides as the run did whatever the settings say by then. */
export interface TurnLimits {
  /** Model calls of the main loop. */
  max_turns: number
  /** Whole input of a reply, in tokens, beyond which the next call is a compaction. */
  input_tokens: number
  /** The cheap layers run before every call, not only under pressure. */
  always?: boolean
}

/** What requests carry beside the conversation; recorded when it changes, so that any request can be shown again. */
export interface ContextRecord {
  type: 'context'
  hash: string
  model: string
  /** Most tokens of a reply; absent in journals from before it was recorded. */
  max_tokens?: number
  system: string
  tools: ToolSpec[]
  /** The server refused the thinking of earlier replies: from here on it is left out. */
  without_thinking?: true
}

/** A whole reply. `incomplete` says why none of its calls may run (contract.md, 4). `ms` is the call's duration. */
export interface ReplyRecord {
  type: 'reply'
  id: string
  model: string
  content: AssistantBlock[]
  stop_reason: string | null
  usage: Usage
  /** False where the server reported no usage: the gauge then keeps its last value. */
  measured: boolean
  ms: number
  incomplete?: Incomplete
}

/** Why a reply's calls must not run: a sentence for the model, and where one is broken, which and how. */
export interface Incomplete {
  reason: string
  broken?: Array<{ id: string; problem: string }>
}

/** Written before the tool runs: from here on its effects may exist. */
export interface ToolStartedRecord {
  type: 'toolStarted'
  id: string
}

/** Written as soon as the tool has ended, before the model or the machine sees the result. */
export interface ToolFinishedRecord {
  type: 'toolFinished'
  id: string
  content: string | Array<TextBlock | ImageBlock>
  is_error: boolean
  ms: number
  /** Permission was refused; nothing ran. */
  denied?: boolean
  /** Model calls the tool itself made (subagents), summed. */
  usage?: Usage
  api_ms?: number
  /** What was refused to the subagent; absent where nothing was. */
  denials?: Denial[]
  /** Where the whole result is if `content` is only its beginning; none of them where it could not be written. */
  saved?: string[]
}

/** A call that was refused for lack of permission. */
export interface Denial {
  tool_name: string
  tool_use_id: string
  tool_input: unknown
}

/** Where the whole of a result is: paths relative to the working directory, its text first, then its images. */
export interface SavedResult {
  id: string
  paths: string[]
}

/** What one cheap layer did; the messages that `middle` left out are in the file `path`. */
export type TrimStep =
  | { layer: 'large' | 'old'; results: SavedResult[] }
  | { layer: 'middle'; from: number; to: number; path: string }

/** The cheap layers ran once; `done` is empty where nothing could be written. */
export interface TrimmedRecord {
  type: 'trimmed'
  done: TrimStep[]
}

/** A model call that brought no reply. */
export interface CallFailedRecord {
  type: 'callFailed'
  reason: 'too_long' | 'api_error'
  message: string
  /** HTTP status; absent where there was no answer. */
  status?: number
  /** Of a reply that ended where the model's window did: it is paid for. */
  usage?: Usage
  ms: number
}

/**
 * The conversation starts anew from `summary`, keeping the last `kept` messages word for word; the results in
 * `shortened` show only their beginning from now on.
 */
export interface CompactedRecord {
  type: 'compacted'
  trigger: 'budget' | 'tool' | 'emergency'
  summary: string
  kept: number
  shortened?: SavedResult[]
  /** The file with the whole conversation, relative to the working directory; null where it could not be written. */
  transcript: string | null
  /** Input of the last call that was answered, in tokens. */
  before_tokens: number
  usage: Usage
  ms: number
}

/** A compaction that changed nothing: the history stays as it is. */
export interface CompactionFailedRecord {
  type: 'compactionFailed'
  trigger: CompactedRecord['trigger']
  message: string
  usage: Usage
  ms: number
}

/** A person or a signal asked the run to stop. */
export interface InterruptedRecord {
  type: 'interrupted'
  reason: string
}

/** A service threw: a bug of ours or of the machine it runs on, not an outcome. */
export interface FaultRecord {
  type: 'fault'
  service: string
  message: string
}

/** The turn is over. The one record that the machine derives itself from the others. `message` explains a failure to the user. */
export interface TurnEndedRecord {
  type: 'turnEnded'
  status: 'done' | 'failed' | 'cancelled'
  subtype: 'success' | 'error_max_turns' | 'error_during_execution' | 'error_interrupted'
  message?: string
}
