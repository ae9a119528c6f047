/**
 * The journal: what happened in a session, one record an event, append-only.
 *
 * A record holds an outcome (a reply, a tool's result), never what can be derived from earlier ones (a
 * request). `conversation.ts` folds records into the conversation; `replay.ts` folds them through the machine.
 */
import type { AssistantBlock, ImageBlock, TextBlock, ToolSpec, Usage } from './messages.ts'

/** Raised when a record's meaning changes; an entry of a higher version is not read (contract.md, 6). */
export const JOURNAL_VERSION = 1

/** The states of the statechart, as entries, traces and diagrams name them. */
export type StateName =
  | 'loadingContext'
  | 'persisting'
  | 'checkingBudget'
  | 'compacting'
  | 'calling'
  | 'runningTool'
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
  | CompactedRecord
  | CompactionFailedRecord
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
}

/** An unfinished turn is carried on without a new prompt. */
export interface ResumedRecord {
  type: 'resumed'
  cwd: string
  limits: TurnLimits
}

/** What bounds a turn. Recorded, so that a replay decides as the run did whatever the settings say by then. */
export interface TurnLimits {
  /** Model calls of the main loop. */
  max_turns: number
  /** Whole input of a reply, in tokens, beyond which the next call is a compaction. */
  input_tokens: number
}

/** What requests carry beside the conversation; recorded when it changes, so that any request can be shown again. */
export interface ContextRecord {
  type: 'context'
  hash: string
  model: string
  system: string
  tools: ToolSpec[]
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
}

/** A model call that brought no reply. */
export interface CallFailedRecord {
  type: 'callFailed'
  reason: 'too_long' | 'api_error'
  message: string
  /** HTTP status; absent where there was no answer. */
  status?: number
  ms: number
}

/** The conversation starts anew from `summary`, keeping the last `kept` messages word for word. */
export interface CompactedRecord {
  type: 'compacted'
  trigger: 'budget' | 'tool' | 'emergency'
  summary: string
  kept: number
  transcript: string | null
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

const RECORD_TYPES: ReadonlySet<string> = new Set<JournalRecord['type']>([
  'opened',
  'prompt',
  'resumed',
  'context',
  'reply',
  'toolStarted',
  'toolFinished',
  'callFailed',
  'compacted',
  'compactionFailed',
  'interrupted',
  'fault',
  'turnEnded',
])

export type ParsedEntry =
  | { kind: 'entry'; entry: JournalEntry }
  | { kind: 'newer'; version: number }
  | { kind: 'damaged'; reason: string }

/**
 * Reads one stored entry.
 * @param text the JSON text of the entry as the store holds it
 * @param seq the place it was found at; an entry that says another is damaged
 */
export function parseEntry(text: string, seq: number): ParsedEntry {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'damaged', reason: 'it is not JSON' }
  }
  if (value === null || typeof value !== 'object') return { kind: 'damaged', reason: 'it is not an object' }
  const entry = value as Partial<JournalEntry>
  if (typeof entry.v === 'number' && entry.v > JOURNAL_VERSION) return { kind: 'newer', version: entry.v }
  if (entry.v !== JOURNAL_VERSION) return { kind: 'damaged', reason: 'it has no version' }
  if (entry.seq !== seq) return { kind: 'damaged', reason: `it says it is number ${String(entry.seq)}` }
  if (typeof entry.at !== 'string' || typeof entry.in !== 'string')
    return { kind: 'damaged', reason: 'it has no time or state' }
  const record = entry.record as { type?: unknown } | undefined
  if (typeof record?.type !== 'string' || !RECORD_TYPES.has(record.type)) {
    return { kind: 'damaged', reason: `its record type ${JSON.stringify(record?.type)} is unknown` }
  }
  return { kind: 'entry', entry: entry as JournalEntry }
}
