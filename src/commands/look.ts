/** What the commands share that look at a session: where they write, how they find it, and its replay. */
import type { Writable } from 'node:stream'
import picocolors from 'picocolors'
import { type Replay, replay } from '../machines/replay.ts'
import { oneSession, unknownSession } from '../run/session.ts'
import { wantsColor } from '../services/output/index.ts'
import { createSink } from '../services/output/sink.ts'
import type { LoadedSession, Result, StorePort } from '../services/ports.ts'
import { printable, printableLine } from '../services/text.ts'

export interface LookDeps {
  store: StorePort
  stdout: Writable
  stderr: Writable
  stdoutIsTty: boolean
  /** Where it is none, what to do next is not said: a script reads there. By default false. */
  stderrIsTty?: boolean
  /** NO_COLOR, FORCE_COLOR and TERM are read. */
  env: NodeJS.ProcessEnv
  /** The terminal's width, in columns, or what COLUMNS says where there is none; by default 80. */
  columns?: number
}

/** @returns where a command of this process writes */
export function ownStreams(): Omit<LookDeps, 'store'> {
  const { stdout, stderr, env } = process
  const columns = stdout.columns || Number.parseInt(env.COLUMNS ?? '', 10)
  const width = columns >= 20 ? { columns } : {}
  return { stdout, stderr, env, stdoutIsTty: stdout.isTTY === true, stderrIsTty: stderr.isTTY === true, ...width }
}

/** Where a command writes: results to stdout, sentences to stderr. */
export interface Out {
  print(line: string): void
  /** A sentence for the person, made harmless for a terminal. */
  tell(message: string): void
  /** Why nothing or not all was done, as `tell`, with the program's name before it. */
  fail(message: string): void
  /** What a person may do next; on stderr, and only where that is a terminal. */
  hint(message: string): void
  colors: ReturnType<typeof picocolors.createColors>
  columns: number
}

/**
 * Runs a command's work and waits until all is written.
 * @returns the exit code of the work; 1 where stdout could not be written
 */
export async function withOut(
  deps: Omit<LookDeps, 'store'>,
  work: (out: Out) => number | Promise<number>,
): Promise<number> {
  const stdout = createSink(deps.stdout, () => {})
  const stderr = createSink(deps.stderr, () => {})
  const tell = (message: string): void => stderr.write(`${printable(message)}\n`)
  const code = await work({
    print: (line) => stdout.write(`${line}\n`),
    tell,
    fail: (message) => tell(`agent: ${message}`),
    hint: (message) => deps.stderrIsTty === true && tell(message),
    colors: picocolors.createColors(wantsColor(deps.stdoutIsTty, deps.env)),
    columns: deps.columns ?? 80,
  })
  await stdout.flush()
  const gone = stdout.gone()
  const failed = gone?.kind === 'failed'
  if (failed) stderr.write(`agent: The output could not be written to stdout (${printableLine(gone.message)}).\n`)
  await stderr.flush()
  return failed ? 1 : code
}

export interface Looked {
  session: LoadedSession
  replay: Replay
}

/**
 * Finds a session by its id or the first part of it, and folds it through the machine. A session that is running is
 * read as far as it has come.
 * @param command as it is named in a message
 */
export async function lookAt(
  store: StorePort,
  prefix: string,
  command: string,
  out: Pick<Out, 'tell'>,
): Promise<Result<Looked>> {
  const found = await findSession(store, prefix, command)
  if (!found.ok) return found
  const session = await store.load(found.value)
  if (session === null) return { ok: false, message: unknownSession(found.value) }
  for (const warning of session.warnings) out.tell(`warning: ${warning}`)
  return { ok: true, value: { session, replay: replay(session.entries) } }
}

/** @returns the sentence about a recording that the machine does not follow */
export function disagreementOf({ disagreement }: Replay): string | null {
  if (disagreement === null) return null
  return `The recording and the machine disagree at transition ${disagreement.n}. ${disagreement.message}`
}

/** @returns the one session whose id is `prefix` or begins with it; `command` is named where there is no prefix. */
export async function findSession(store: StorePort, prefix: string, command: string): Promise<Result<string>> {
  if (prefix === '') {
    return { ok: false, message: `\`agent ${command}\` needs the id of a session, or the first part of it.` }
  }
  return oneSession(store, prefix)
}
