/**
 * Processes that a killed run has left. Usually there are none: its watcher has ended them. Where the watcher was
 * killed too (a container that ran out of memory), whoever goes on with the session ends them.
 */
import { MARK_VARIABLE, sessionMark } from './mark.ts'
import { processesMarked, send } from './processes.ts'

/** They may fork while they are looked for. */
const ROUNDS = 5

/**
 * Ends every process that carries the session's mark. To be called by the one that holds the session, before its own
 * first command: what has the mark then is of a run that is dead. Needs /proc: elsewhere it finds none.
 * @returns how many were ended
 */
export function endLeftovers(session_id: string, env: NodeJS.ProcessEnv): number {
  const mark = sessionMark(session_id)
  // Started from what the dead run has left, a tmux say: it would end itself.
  if (env[MARK_VARIABLE]?.includes(mark)) return 0
  const ended = new Set<number>()
  for (let round = 0; round < ROUNDS; round++) {
    const found = processesMarked(mark)
    if (found.length === 0) break
    for (const pid of found) {
      send(pid, 'SIGKILL')
      ended.add(pid)
    }
  }
  return ended.size
}
