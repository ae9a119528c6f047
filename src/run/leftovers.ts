/** What a killed run of a session may have left behind, for the run that goes on with it. */
import type { RunSession } from './session.ts'

/** Ends the processes of a run that did not end its turn, and says so. The session must be held. */
export async function endLeftoversOf(
  { session_id, entries }: RunSession,
  warn: (message: string) => void,
): Promise<void> {
  const wasKilled = entries.length > 0 && entries.at(-1)?.record.type !== 'turnEnded'
  if (!wasKilled) return
  const { endLeftovers } = await import('../services/tools/shell/leftovers.ts')
  const ended = endLeftovers(session_id, process.env)
  if (ended === 0) return
  const what = ended === 1 ? '1 process' : `${ended} processes`
  warn(`The last run of this session was killed and had left ${what} running; they were ended.`)
}
