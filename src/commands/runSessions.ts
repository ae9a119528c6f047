/** `agent sessions`: from the command line to the command over the real store. */
import { storeFor } from '../run/settings.ts'
import { printable } from '../services/text.ts'
import { ownStreams } from './look.ts'
import type { CommandRequest } from './request.ts'
import { type SessionsArgs, sessionsCommand } from './sessions.ts'

/** @returns the exit code */
export async function runSessions({ input, common, flags }: CommandRequest, cwd: string): Promise<number> {
  const args = sessionsArgs(input, common.format === 'json', flags.all)
  if (typeof args === 'string') {
    process.stderr.write(`agent: ${printable(args)}\n`)
    return 2
  }
  const { stderr } = process
  const opened = await storeFor(cwd, common, (message) => stderr.write(`agent: ${printable(message)}\n`))
  if (!opened.ok) {
    stderr.write(`agent: ${printable(opened.message)}\n`)
    return 2
  }
  const store = opened.value
  try {
    return await sessionsCommand(args, {
      store,
      cwd,
      ...ownStreams(),
    })
  } finally {
    await store.close()
  }
}

function sessionsArgs(input: string[], json: boolean, all: boolean): SessionsArgs | string {
  const [action = 'list', id, extra] = input
  if (all && action !== 'list')
    return `--all belongs to the list, agent sessions --all, not to agent sessions ${action}.`
  if (action === 'list')
    return id === undefined
      ? { action, all, json }
      : `Unexpected argument ${JSON.stringify(id)}. One session: agent sessions show <id>.`
  if (action !== 'show' && action !== 'export' && action !== 'rm') {
    return `sessions knows list, show <id>, export <id> and rm <id>, not ${JSON.stringify(action)}.`
  }
  if (id === undefined) return `sessions ${action} needs a session id; agent sessions --all lists them.`
  return extra === undefined
    ? { action, id, all, json }
    : `Unexpected argument ${JSON.stringify(extra)}: agent sessions ${action} takes one session.`
}
