/** The conversation at a terminal: bundled apart, loaded only where one is wanted. */
import type { Desk } from './tui/desk.ts'

/** @returns the exit code */
export async function startConversation(desk: Desk): Promise<number> {
  const { stdout, env } = process
  // A terminal that cannot move its cursor, or has no room, gets lines.
  const isPlain =
    env.TERM === 'dumb' ||
    env.TERM === undefined ||
    env.TERM === '' ||
    (stdout.columns ?? 80) < 20 ||
    (stdout.rows ?? 24) < 6
  if (isPlain) return (await import('./tui/plain.ts')).runPlain(desk)
  return (await import('./tui/app.ts')).runApp(desk)
}
