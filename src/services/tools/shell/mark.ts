/** The marks in the environment of every process that a command starts: they tell whose it is, wherever it has gone. */

/** Environment variable that carries the marks of the runs a process belongs to, outermost first. */
export const MARK_VARIABLE = 'AGENT_RUN_MARK'

/** What marks the processes of all runs of one session. */
export function sessionMark(session_id: string): string {
  return `session:${session_id}/`
}

/** @returns the environment with the session's mark added; each command adds its own to that */
export function markedEnv(env: NodeJS.ProcessEnv, session_id: string): NodeJS.ProcessEnv {
  return { ...env, [MARK_VARIABLE]: `${env[MARK_VARIABLE] ?? ''}${sessionMark(session_id)}` }
}
