/** `agent fork <id> [--at <k>]`: a new session from one of another's transitions (contract.md, section 10). */
import { type Forked, openSession, type RunSession } from '../run/session.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import type { Result, StorePort } from '../services/ports.ts'
import { createRecorder } from '../services/provide/recorder.ts'
import { findSession, type LookDeps, withOut } from './look.ts'
import { selfCommand } from './self.ts'

export interface ForkArgs {
  /** A session's id or a prefix that only one has. */
  id: string
  /** The transition as typed; null for the last. */
  at: string | null
  json: boolean
}

/** What `--json` prints. */
export interface ForkJson {
  session_id: string
  forked_from: string
  at: number
}

/** @returns the exit code: 0; 1 where the fork could not be written; 2 for no such session or transition */
export function forkCommand({ id, at, json }: ForkArgs, deps: LookDeps): Promise<number> {
  return withOut(deps, async (out) => {
    const opened = await openFork(deps.store, id, at)
    if (!opened.ok) {
      out.fail(opened.message)
      return 2
    }
    const { session_id, forked, journal, warnings, inherited, conversation } = opened.value
    for (const warning of warnings) out.tell(`warning: ${warning}`)
    const recorder = createRecorder(journal, () => {})
    await recorder.write(inherited, conversation)
    await journal.release()
    const fault = recorder.fault()
    if (fault !== null) {
      out.fail(`The fork could not be written. ${fault}`)
      return 1
    }
    const shown: ForkJson = { session_id, ...forked }
    out.print(json ? jsonLine(shown) : session_id)
    out.hint(`To go on from there: ${selfCommand()} -r ${session_id}`)
    return 0
  })
}

async function openFork(
  store: StorePort,
  id: string,
  at: string | null,
): Promise<Result<RunSession & { forked: Forked }>> {
  const found = await findSession(store, id, 'fork')
  if (!found.ok) return found
  const part = { kind: 'beginning', at } as const
  const opened = await openSession(store, { kind: 'old', session_id: found.value, part })
  if (!opened.ok) return opened
  const { forked } = opened.value
  if (forked === undefined) throw new Error('a fork does not say where it was cut')
  return { ok: true, value: { ...opened.value, forked } }
}
