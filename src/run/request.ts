/** What a run is asked for, as the command line or a command says it; no defaults are decided here. */

export type OutputFormat = 'text' | 'json' | 'stream-json'

/** Where the prompt comes from; `argument` is byte for byte as typed. */
export type PromptSource = { kind: 'argument'; text: string } | { kind: 'stdin' } | { kind: 'none' }

export type SessionChoice =
  | { kind: 'new' }
  | { kind: 'continue'; fork: boolean }
  | { kind: 'resume'; id: string; fork: boolean }
  /** A new session from transition `at` of another, as typed; null for its end. */
  | { kind: 'fork'; id: string; at: string | null }

export interface RunRequest {
  prompt: PromptSource
  session: SessionChoice
  /** `agent resume`: the turn is carried on here and now, at a terminal too. */
  carriesOn?: true
  yes: boolean
  model: string | null
  maxTurns: number | null
  appendSystemPrompt: string | null
  /** Where the model's replies are kept for a replay. */
  record: string | null
  /** Before each service the run waits for a command on stdin. */
  step: boolean
  /** Shell commands run between bubblewrap's walls. */
  sandbox: boolean
}

/** What holds for a run as for every command. */
export interface CommonOptions {
  /** The working directory as typed; null for the one the process stands in. */
  cwd: string | null
  /** null: by where stdout goes. */
  format: OutputFormat | null
  /** A file of settings that weighs more than all others, as typed. */
  settings: string | null
  /** Stacks of errors on stderr. */
  debug: boolean
}
