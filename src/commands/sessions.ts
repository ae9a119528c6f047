/** `agent sessions [--all] [--json]`, `agent sessions show|export|rm <id>` (contract.md, section 6). */
import { realpath } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import picocolors from 'picocolors'
import { oneSession, unknownSession } from '../run/session.ts'
import { wantsColor } from '../services/output/index.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import { createSink, type Sink } from '../services/output/sink.ts'
import type { LoadedSession, Result, SessionHead, StorePort } from '../services/ports.ts'
import { StoreError } from '../services/store/index.ts'
import { printable, printableLine } from '../services/text.ts'
import { listSessions, publicHead } from './sessionsList.ts'
import { showSession } from './sessionsShow.ts'
import type { View } from './view.ts'

export interface SessionsArgs {
  action: 'list' | 'show' | 'export' | 'rm'
  /** A session's id or a prefix that only one has; not read by `list`. */
  id?: string
  /** Of every directory; read by `list` only. */
  all: boolean
  json: boolean
}

export interface SessionsDeps {
  store: StorePort
  cwd: string
  stdout: Writable
  stderr: Writable
  stdoutIsTty: boolean
  /** NO_COLOR, FORCE_COLOR and TERM are read. */
  env: NodeJS.ProcessEnv
  /** The terminal's width, in columns; by default 80. */
  columns?: number
  /** Milliseconds since 1970; by default the clock. */
  now?: number
}

/**
 * Runs the command; resolves when everything is written.
 * @returns the exit code: 0; 2 where nothing was done (no such session, several, held by a run); 1 where the output
 *   could not be written
 * @throws StoreError where the store cannot be used
 */
export async function sessionsCommand(args: SessionsArgs, deps: SessionsDeps): Promise<number> {
  const stdout = createSink(deps.stdout, () => {})
  const stderr = createSink(deps.stderr, () => {})
  const done = await run(args, deps, stdout, stderr)
  if (!done.ok) stderr.write(`agent: ${printable(done.message)}\n`)
  await Promise.all([stdout.flush(), stderr.flush()])
  const gone = stdout.gone()
  if (gone?.kind !== 'failed') return done.ok ? 0 : 2
  stderr.write(`agent: The output could not be written to stdout (${printableLine(gone.message)}).\n`)
  await stderr.flush()
  return 1
}

async function run(args: SessionsArgs, deps: SessionsDeps, stdout: Sink, stderr: Sink): Promise<Result<void>> {
  const { store } = deps
  const view: View = {
    print: (line) => stdout.write(`${line}\n`),
    colors: picocolors.createColors(wantsColor(deps.stdoutIsTty, deps.env)),
    columns: (deps.stdoutIsTty && deps.columns) || 80,
    now: deps.now ?? Date.now(),
  }
  if (args.action === 'list') {
    const cwd = args.all ? null : await realpath(deps.cwd).catch(() => deps.cwd)
    const heads = await store.list(cwd)
    if (args.json) view.print(jsonLine(heads.map(publicHead)))
    else if (heads.length > 0) listSessions(heads, args.all, view)
    else stderr.write(`${noSessions(cwd)}\n`)
    return { ok: true, value: undefined }
  }
  const found = await findSession(store, args.id ?? '', `sessions ${args.action}`)
  if (!found.ok) return found
  if (args.action === 'rm') return removeSession(store, found.value, args.json, view)

  // Before it is read: a run that ends meanwhile has then written what it leaves.
  const holder = (await store.owner(found.value)) === null ? 'none' : 'run'
  const session = await store.load(found.value)
  if (session === null) return { ok: false, message: unknownSession(found.value) }
  for (const warning of session.warnings) stderr.write(`warning: ${printable(warning)}\n`)
  if (args.action === 'export') exportSession(session, view)
  else if (args.json) view.print(jsonLine({ ...publicHead(session.head), entries: session.entries }))
  else showSession(session, holder, view)
  return { ok: true, value: undefined }
}

function noSessions(cwd: string | null): string {
  if (cwd === null) return 'There are no sessions yet. `agent -p "…"` starts one.'
  const where = printableLine(cwd)
  return `There are no sessions of ${where}. \`agent sessions --all\` lists those of every directory.`
}

/** @returns the one session whose id is `prefix` or begins with it; `command` is named where there is no prefix. */
export async function findSession(store: StorePort, prefix: string, command: string): Promise<Result<string>> {
  if (prefix === '') {
    return { ok: false, message: `\`agent ${command}\` needs the id of a session, or the first part of it.` }
  }
  return oneSession(store, prefix)
}

function exportSession(session: LoadedSession, view: View): void {
  for (const entry of session.entries) view.print(jsonLine(entry))
}

/** Removes a session and those of its subagents; the store refuses it while a living run holds the session. */
async function removeSession(store: StorePort, id: string, json: boolean, view: View): Promise<Result<void>> {
  const removed = [id, ...descendants(await store.list(null), id)]
  try {
    if (!(await store.remove(id))) return { ok: false, message: unknownSession(id) }
  } catch (error) {
    if (error instanceof StoreError) return { ok: false, message: `Nothing was removed. ${error.message}` }
    throw error
  }
  if (json) view.print(jsonLine({ removed }))
  else view.print(`removed ${id}${removed.length > 1 ? ` and ${subagents(removed.length - 1)}` : ''}`)
  return { ok: true, value: undefined }
}

function subagents(count: number): string {
  return count === 1 ? "its subagent's session" : `the sessions of its ${count} subagents`
}

/** @returns the ids of the sessions under this one, whatever their depth. */
function descendants(heads: SessionHead[], id: string): string[] {
  const ids = [id]
  for (const parent of ids) {
    for (const head of heads) {
      if (head.parent === parent && !ids.includes(head.session_id)) ids.push(head.session_id)
    }
  }
  return ids.slice(1)
}
