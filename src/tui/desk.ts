/** What the conversation at the terminal works with: sessions, turns, and what is known about them. Types only. */
import type { Conversation } from '../machines/conversation.ts'
import type { JournalRecord } from '../machines/journal.ts'
import type { SessionChoice } from '../run/request.ts'
import type { Approval, AskPerson, Observe, Result, SessionHead } from '../services/ports.ts'
import type { StepPort } from '../services/stepPorts.ts'

/** What begins a turn. */
export type Begin =
  | { kind: 'prompt'; text: string; extra: string | null }
  | { kind: 'resume' }
  /** The conversation is summarised, and nothing else. */
  | { kind: 'compact'; focus: string | null }

export interface TurnEnd {
  conversation: Conversation
  storeFault: string | null
  /** Why nothing was begun. */
  unloadable: string | null
}

export interface OpenTurn {
  conversation(): Conversation
  interrupt(reason: string): void
  ended: Promise<TurnEnd>
}

/** A session that is open: held by this process until it is closed. */
export interface OpenSession {
  session_id: string
  cwd: string
  /** What of it was there before it was opened; nothing where it is new. */
  past: readonly JournalRecord[]
  model(): string
  setModel(name: string): void
  /** The conversation as it is now, also within a turn. */
  conversation(): Conversation
  /** Tokens of a reply's input beyond which the conversation is summarised. */
  budget(): number
  /** USD since it was opened; null where a price is not known. */
  spent(): number | null
  branch(): Promise<string | null>
  turn(begin: Begin): Promise<OpenTurn>
  setStep(step: StepPort | null): void
  /** What the person has allowed for this session only. */
  approvals(): Approval[]
  /** Sessions of this directory, or of all, newest first; those of subagents left out. */
  sessions(all: boolean): Promise<SessionHead[]>
  close(): Promise<void>
}

export interface Eyes {
  observe: Observe
  ask: AskPerson
}

export interface Desk {
  /** The session that the command line asks for. */
  first: SessionChoice
  /** The command line asks to stop before each service. */
  isStepping: boolean
  /** Every call that would ask is approved (--yes). */
  approvesAll: boolean
  /** The user's folder of the agent. */
  home: string
  version: string
  open(choice: SessionChoice, model: string | null, eyes: Eyes): Promise<Result<OpenSession>>
  /** Runs a command of the command line, such as `trace`, as a process of its own. @returns what it printed */
  command(args: string[], cwd: string): Promise<string>
  /** Starts one that goes on until the conversation ends; the same once only. @returns its first line */
  server(args: string[], cwd: string): Promise<string>
  /** Fills in files that match what is typed after an `@`. */
  files(cwd: string): Promise<string[]>
  trust(cwd: string): { isTrusted: boolean; add(): Promise<Result<boolean>> }
  /** What ends the conversation from outside: signals. */
  whenStopped(listener: (reason: string) => void): void
  /** Sets what gives the terminal back when the process must end at once. */
  lastly(restore: () => void): void
  exitCode(): number | null
}
