/** The signatures of `tools/`; part of `ports.ts`. */
import type { Denial } from '../machines/journal.ts'
import type { ImageBlock, TextBlock, ToolSpec, ToolUseBlock, Usage } from '../machines/messages.ts'

/** What a tool gives back. `content` is what the model reads; an error says how to do it right. */
export type ToolResult = (
  | { kind: 'ok'; content: string | Array<TextBlock | ImageBlock> }
  | { kind: 'error'; content: string }
) & { delegated?: Delegated }

/** What the model calls of a subagent came to: they count as the run's own. `api_ms`: milliseconds of waiting for the model. */
export interface Delegated {
  usage: Usage
  api_ms: number
  denials: Denial[]
}

/** One task for a subagent, and the id of the call that hands it on. */
export interface Task {
  description: string
  id: string
  signal: AbortSignal
}

/** Does a task to its end. @returns its answer, or an error that says how far it came */
export type RunTask = (task: Task) => Promise<ToolResult>

/** What the agent knows of a file by having read or written it. */
export type SeenFile =
  /** SHA-256 (hex) of the whole content. */
  | { kind: 'content'; hash: string }
  /** Too large to hash: device, inode, size and times of the file. */
  | { kind: 'version'; version: string }
  /** Seen by an earlier process of the session at that time (ms since 1970): any later change is someone else's. */
  | { kind: 'time'; at: number }

/**
 * By real path. It guards writes against changes made by others. One a conversation: a subagent has its own, so that
 * what it changes is news to its parent.
 */
export type SeenFiles = Map<string, SeenFile>

/** Takes the whole of an output that is too long to be held in memory. It never throws. */
export interface Spool {
  write(text: string): void
}

/** What tools may touch. One object a run. */
export interface ToolEnv {
  cwd: string
  signal: AbortSignal
  /** Environment for child processes: the caller's without our keys. */
  childEnv: NodeJS.ProcessEnv
  /** Id of the call that runs; the registry sets it. */
  id?: string
  /** Kept by the file tools; a new Map() at the start of a conversation. */
  seen: SeenFiles
  /** Of this call; a file is made with the first write. */
  spool?: Spool
  /** Whether a rule forbids reading this file (absolute path): searches leave it out. Absent: none is. */
  hides?(path: string): boolean
  /** What shell commands are started with: a program and its arguments. Absent: nothing. */
  sandbox?: readonly string[]
  /** Where each path of this call led when the call was allowed; absent: nobody looked. */
  approved?: ReadonlyMap<string, string>
}

/** How a call may disturb others: calls that share a `key` run in call order; one without comes after writes before it. */
export interface CallPlan {
  key: string | null
}

/** What a call would touch, for permissions: paths are absolute, as given (not yet resolved through symlinks). */
export type CallEffect =
  | { kind: 'read'; paths: string[] }
  | { kind: 'write'; paths: string[] }
  | { kind: 'execute'; command: string }
  | { kind: 'none' }

export type CheckedCall =
  | { kind: 'ready'; effect: CallEffect; plan: CallPlan; run(env: ToolEnv): Promise<ToolResult> }
  /** Unknown tool or bad input: answered with this text as an error result. */
  | { kind: 'invalid'; content: string }

export interface ToolsPort {
  /** The tools as sent now, in a fixed order. */
  specs(): ToolSpec[]
  /** Loads the tool's code if need be and checks the input by the schema that is sent. */
  check(call: ToolUseBlock, cwd: string): Promise<CheckedCall>
}
