/**
 * The signatures of the services, one section a folder; those of tools and output in files of their own. Folders do not import each other: they share these
 * types and the pure ones of `src/machines`, and `provide.ts` joins them.
 */
import type { CallFailedRecord, JournalEntry, NewEntry, PromptRecord, ReplyRecord } from '../machines/journal.ts'
import type { Message, ToolResultBlock, ToolSpec, ToolUseBlock } from '../machines/messages.ts'
import type { Observe } from './outputPorts.ts'
import type { Result } from './result.ts'
import type { CallEffect, Spool, ToolResult } from './toolPorts.ts'

export type * from './outputPorts.ts'
export type * from './result.ts'
export type * from './toolPorts.ts'

/** What begins a turn: new words, the wish to carry on with an unfinished one, or the wish for a summary and nothing else. */
export type Begin =
  | { kind: 'prompt'; text: string; extra: string | null }
  | { kind: 'resume' }
  | { kind: 'compact'; focus: string | null }

// ---- context/ : what the agent knows before a call -------------------------------------------------------

/** The part of a request that is not conversation. `hash` names it in the journal. */
export interface RequestContext {
  hash: string
  system: string
  tools: ToolSpec[]
}

export interface ContextPort {
  /** Expands a prompt as typed into the blocks the model gets (mentions, piped stdin). */
  expandPrompt(text: string, extra: string | null): Promise<PromptRecord['blocks']>
  /** The system string and the tools from the real state now; the very same object while nothing changed. */
  read(): Promise<RequestContext>
}

// ---- model/ : one call -----------------------------------------------------------------------------------

export interface ModelRequest {
  model: string
  max_tokens: number
  system: string
  tools: ToolSpec[]
  messages: Message[]
  /** Absent in normal calls: a changed choice throws away the cached messages. */
  tool_choice?: { type: 'none' }
  /** What the reply must look like, for servers that know it. */
  output_config?: { format: { type: 'json_schema'; schema: Record<string, unknown> } }
}

export type ModelOutcome = { kind: 'replied'; record: ReplyRecord } | { kind: 'callFailed'; record: CallFailedRecord }

export interface ModelPort {
  /**
   * One model call with its retries.
   * @param options `maxRetries` caps the retries by number, for side calls; the time that they may take is capped anyway
   * @returns a whole reply, or the failure that remained after the retries; throws only for bugs and when `signal` aborts
   */
  call(
    request: ModelRequest,
    options: { signal: AbortSignal; observe: Observe; maxRetries?: number },
  ): Promise<ModelOutcome>
}

// ---- skills/ : knowledge in folders, loaded on demand ------------------------------------------------------

export interface SkillsPort {
  /**
   * Looks for skills as they are now; the same content while nothing changed.
   * @returns what the system prompt lists, sorted and within bounds, and a note on what had to be cut
   */
  read(): Promise<{ entries: Array<{ name: string; description: string }>; note: string }>
  /** Whether the last look found any. */
  any(): boolean
  /** Real paths of the directories of those the last look found, for the model to read files in. */
  directories(): string[]
  /** The whole text of a skill, looked up by its name in what is found now. */
  load(name: string): Promise<ToolResult>
}

// ---- permissions/ ----------------------------------------------------------------------------------------

/** The rule a decision rests on, and the file it stands in; absent where it rests on none. */
interface Grounds {
  rule?: string
  source?: string
  /** Of a call that touches paths: each as given (absolute), and where it led when it was decided. */
  paths?: ReadonlyArray<{ given: string; real: string }>
}

export type Decision = Grounds &
  (
    | { kind: 'allow' }
    /** `suggested`: rules that together would allow it, none where no rule can. */
    | { kind: 'ask'; reason: string; howToAllow: string; suggested: string[] }
    | { kind: 'deny'; reason: string; howToAllow: string }
  )

/** What a person is asked. Texts are as they came: to be made printable before they are shown. */
export interface Question {
  tool: string
  /** The call itself, for showing what it would change. */
  call?: ToolUseBlock
  /** The command, the paths, or the input: what would be done, in full. */
  subject: string
  reason: string
  /** Rules that `always` adds to the user's settings; none where no rule can say it. */
  rules: string[]
}

export type Answer = { kind: 'once' } | { kind: 'session' } | { kind: 'always' } | { kind: 'no'; why: string | null }

/** Asks a person. Rejects when `signal` aborts. */
export type AskPerson = (question: Question, signal: AbortSignal) => Promise<Answer>

export interface PermissionPort {
  /** What the rules say, `--yes` counted in. Nobody is asked. */
  decide(call: ToolUseBlock, effect: CallEffect): Promise<Decision>
  /** The same, and where it asks and there is a person, what the person says; else it stays `ask`: a refusal. */
  settle(call: ToolUseBlock, effect: CallEffect, signal: AbortSignal): Promise<Decision>
  /** @returns whether a rule forbids reading this file (absolute path): searches leave it out */
  hides(path: string): boolean
  /** What a person has allowed for this session only, in the order in which they did. */
  approvals(): Approval[]
}

/** What holds until the session is closed: a rule, or, where no rule can say it, the very same call again. */
export type Approval = { kind: 'rule'; rule: string } | { kind: 'call'; call: ToolUseBlock }

// ---- store/ ----------------------------------------------------------------------------------------------

/** What the list of sessions shows, kept as the head of each session (the commit point of its journal). */
export interface SessionHead {
  v: number
  session_id: string
  cwd: string
  created: string
  used: string
  model: string
  /** Entries committed: `0 … count-1`. */
  count: number
  turns: number
  first_prompt: string
  /** Whole input of the last reply in tokens. */
  gauge: number
  parent?: string
}

export interface LoadedSession {
  head: SessionHead
  entries: JournalEntry[]
  /** Sentences about damaged or newer records; the entries are the intact prefix. */
  warnings: string[]
}

export interface SessionOwner {
  pid: number
  host: string
}

/** What a run says of its session besides the entries; the store keeps `count`, `created`, `used` itself. */
export type HeadUpdate = Pick<SessionHead, 'cwd' | 'model' | 'turns' | 'first_prompt' | 'gauge'> & { parent?: string }

/** The one writer of a session. Entries get their `seq`, `at` and version here. */
export interface Journal {
  /** Writes entries, then the head as the commit point. Rejects with StoreError where it cannot be written. */
  append(entries: NewEntry[], head: HeadUpdate): Promise<JournalEntry[]>
  /** Gives the session free for other writers. */
  release(): Promise<void>
}

export interface StorePort {
  /** Takes the session's lock; refused with the owner's pid while another process holds it. */
  hold(session_id: string): Promise<Result<Journal>>
  load(session_id: string): Promise<LoadedSession | null>
  /** The head alone: whether a session has grown, for little. */
  head(session_id: string): Promise<SessionHead | null>
  /** The process that holds the session now; null where none does. */
  owner(session_id: string): Promise<SessionOwner | null>
  /** The most recently used top-level session of this directory (a real path). */
  latest(cwd: string): Promise<SessionHead | null>
  /** Newest first; of one directory, or all of them. Subagents' sessions included. */
  list(cwd: string | null): Promise<SessionHead[]>
  /** Ids that begin with `prefix`, for commands that take a unique prefix. */
  find(prefix: string): Promise<string[]>
  remove(session_id: string): Promise<boolean>
  close(): Promise<void>
}

// ---- compaction/ : what leaves the conversation and can be looked up again -----------------------------------

export interface OpenSpool extends Spool {
  /** Closes the file. @returns null where nothing came or it could not be written */
  end(): Spooled | null
}

/** `leftOut`: bytes beyond what one file takes, which are not in it. */
export interface Spooled {
  path: string
  bytes: number
  leftOut: number
}

/** Files under `.task_outputs`; paths are relative to the working directory. A failed write says why. */
export interface TaskOutputsPort {
  /** A file for the output of a call while it comes. */
  spool(id: string): OpenSpool
  /** Writes a whole result, its text and its images. @returns the paths, the text's first */
  saveResult(id: string, content: ToolResultBlock['content']): Promise<Result<string[]>>
  /** Writes messages to a new file, the `n`-th of the session or the next free number. @returns its path */
  writeTranscript(session_id: string, n: number, messages: Message[]): Promise<Result<string>>
  /** Adds messages to the session's file of what was left out. @returns its path */
  appendSnipped(session_id: string, messages: Message[]): Promise<Result<string>>
}
