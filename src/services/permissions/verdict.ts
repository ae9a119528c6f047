/** What judging a call starts from, and what it comes to before it is said how to allow it. */
import type { RuleSet } from './rules.ts'
import type { WithTree } from './shell/grammar.ts'

/** A path as the call gives it (absolute), and where it really leads. */
export interface TouchedPath {
  given: string
  real: string
}

/** A file that a shell command names. */
export interface FileTouch extends TouchedPath {
  use: 'read' | 'write'
}

/** What a call would touch, with everything looked up that deciding needs. */
export type Touch =
  | { kind: 'none'; names: string[] }
  | { kind: 'read'; paths: TouchedPath[] }
  | { kind: 'write'; paths: TouchedPath[] }
  /** `inputs`: files the command line reads through `<`. `files`: all it names, where a rule forbids or asks about files. */
  | { kind: 'execute'; command: string; inputs: TouchedPath[]; files: FileTouch[] }

export interface Policy {
  /** As a real path. */
  cwd: string
  /** The user's home directory. */
  home: string
  /** The agent's home, as a real path. */
  agentHome: string
  /** Directories outside the working directory that may be read, as real paths. */
  readable: readonly string[]
  rules: RuleSet
  /** null where no rule needs one. */
  parse: WithTree | null
}

export type Verdict =
  | { kind: 'allow'; rule?: string; source?: string }
  /** `suggested`: rules that would allow it, together; none where no rule can. */
  | { kind: 'ask'; reason: string; suggested: string[]; rule?: string; source?: string }
  | { kind: 'deny'; reason: string; rule: string; source: string }

/** @returns the sentence for the model: what would allow the call, and what to do now */
export function howToAllow(suggested: readonly string[]): string {
  const rules = suggested.map((rule) => JSON.stringify(rule)).join(', ')
  const how =
    suggested.length === 0
      ? 'the user can run again with --yes; no allow rule covers it'
      : `the user can run again with --yes, or add ${rules} to permissions.allow in their settings.json`
  return `To allow it, ${how}. Go on with what can be done without it, and say what is left.`
}
