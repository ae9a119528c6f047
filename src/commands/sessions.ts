/** `agent sessions [--all] [--json]`, `agent sessions show|export|rm <id>` (contract.md, section 6). */
import { realpath } from 'node:fs/promises'
import { unknownSession } from '../run/session.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import type { LoadedSession, Result, SessionHead, StorePort } from '../services/ports.ts'
import { StoreError } from '../services/store/index.ts'
import { printableLine } from '../services/text.ts'
import { findSession, type LookDeps, type Out, withOut } from './look.ts'
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

export interface SessionsDeps extends LookDeps {
  cwd: string
  /** Milliseconds since 1970; by default the clock. */
  now?: number
}

/**
 * Runs the command; resolves when everything is written.
 * @returns the exit code: 0; 2 where nothing was done (no such session, several, held by a run); 1 where the output
 *   could not be written
 * @throws StoreError where the store cannot be used
 */
export function sessionsCommand(args: SessionsArgs, deps: SessionsDeps): Promise<number> {
  return withOut(deps, async (out) => {
    const done = await run(args, deps, out)
    if (!done.ok) out.fail(done.message)
    return done.ok ? 0 : 2
  })
}

async function run(args: SessionsArgs, deps: SessionsDeps, out: Out): Promise<Result<void>> {
  const { store } = deps
  const view: View = { ...out, now: deps.now ?? Date.now() }
  if (args.action === 'list') {
    const cwd = args.all ? null : await realpath(deps.cwd).catch(() => deps.cwd)
    const heads = await store.list(cwd)
    if (args.json) view.print(jsonLine(heads.map(publicHead)))
    else if (heads.length > 0) listSessions(heads, args.all, view)
    else out.tell(noSessions(cwd))
    return { ok: true, value: undefined }
  }
  const found = await findSession(store, args.id ?? '', `sessions ${args.action}`)
  if (!found.ok) return found
  if (args.action === 'rm') return removeSession(store, found.value, args.json, view)

  // Before it is read: a run that ends meanwhile has then written what it leaves.
  const holder = (await store.owner(found.value)) === null ? 'none' : 'run'
  const session = await store.load(found.value)
  if (session === null) return { ok: false, message: unknownSession(found.value) }
  for (const warning of session.warnings) out.tell(`warning: ${warning}`)
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
