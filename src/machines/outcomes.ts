/**
 * What each service ends in. The machine, the services, the tests and replay share these unions: a service
 * answers with one of them for everything that can be expected, and throws only for bugs.
 */

import type { Conversation } from './conversation.ts'
import type {
  CallFailedRecord,
  CompactedRecord,
  CompactionFailedRecord,
  ContextRecord,
  NewEntry,
  OpenedRecord,
  PromptRecord,
  ReplyRecord,
  ResumedRecord,
  ToolFinishedRecord,
  ToolStartedRecord,
  TrimmedRecord,
} from './journal.ts'
import type { RecalledRecord, RememberedRecord } from './memoryRecords.ts'
import type { ToolUseBlock } from './messages.ts'

/** `loadContext`: the prompt with what it mentions (after `opened` in a new session), or why the run cannot begin. */
export type LoadOutcome =
  | { kind: 'loaded'; records: [OpenedRecord, PromptRecord] | [PromptRecord] | [ResumedRecord] }
  | { kind: 'unloadable'; message: string }

/** `callModel`: a reply, or a record of why there is none. */
export type CallOutcome = { kind: 'replied'; record: ReplyRecord } | { kind: 'callFailed'; record: CallFailedRecord }

/** `compact`: the summary that becomes the conversation, or why the conversation stays. */
export type CompactOutcome =
  | { kind: 'compacted'; record: CompactedRecord }
  | { kind: 'compactionFailed'; record: CompactionFailedRecord }

/** `recall`: the memories of the turn. */
export type RecallOutcome = { kind: 'recalled'; record: RecalledRecord }

/** `remember`: what was kept of the turn. */
export type RememberOutcome = { kind: 'remembered'; record: RememberedRecord }

/** `trim`: what the cheap layers did. */
export type TrimOutcome = { kind: 'trimmed'; record: TrimmedRecord }

/** `runTools` reports each call by events and ends when every open call has a result. */
export type ToolsOutcome = { kind: 'ran' }

/** `persist`: how many of the given entries are dealt with; `unsaved` where the store cannot be written; the run then goes on and says so at its end. */
export type PersistOutcome = { kind: 'saved'; entries: number } | { kind: 'unsaved'; entries: number; message: string }

/** Events that services send while they work; each is in the journal before it is sent. */
export type ServiceEvent =
  | { type: 'contextRead'; record: ContextRecord }
  | { type: 'toolStarted'; record: ToolStartedRecord }
  | { type: 'toolFinished'; record: ToolFinishedRecord }

/** What a person or the operating system sends. */
export type UserEvent = { type: 'interrupt'; reason: string }

export type AgentEvent = ServiceEvent | UserEvent

/** Sends an event to the machine that started the service. */
export type Report = (event: ServiceEvent) => void

export interface LoadInput {
  conversation: Conversation
}
export interface RecallInput {
  conversation: Conversation
}
export interface RememberInput {
  conversation: Conversation
}
export interface CallInput {
  conversation: Conversation
  report: Report
}
export interface TrimInput {
  conversation: Conversation
}
export interface CompactInput {
  conversation: Conversation
  trigger: CompactedRecord['trigger']
  report: Report
}
export interface ToolsInput {
  conversation: Conversation
  /** The calls without a result, in the order of the reply. */
  calls: ToolUseBlock[]
  report: Report
}
export interface PersistInput {
  entries: NewEntry[]
  conversation: Conversation
}

/** The services of the machine: what each is started with, and what it ends in. Whatever is said of each derives from this. */
export interface Services {
  loadContext: { input: LoadInput; output: LoadOutcome }
  recall: { input: RecallInput; output: RecallOutcome }
  remember: { input: RememberInput; output: RememberOutcome }
  persist: { input: PersistInput; output: PersistOutcome }
  callModel: { input: CallInput; output: CallOutcome }
  trim: { input: TrimInput; output: TrimOutcome }
  compact: { input: CompactInput; output: CompactOutcome }
  runTools: { input: ToolsInput; output: ToolsOutcome }
}

export type ServiceName = keyof Services
