/** `agent inspect [<id>] [--no-open]` (contract.md, section 10). */
import { spawn } from 'node:child_process'
import { unknownSession } from '../run/session.ts'
import { SIGNAL_CODES, type SignalName } from '../run/signals.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import type { Result } from '../services/ports.ts'
import { findSession, type LookDeps, withOut } from './look.ts'

export interface InspectArgs {
  /** A session's id or a prefix that only one has; null for the one used last in `cwd`. */
  id: string | null
  /** Whether a browser may be opened; it is only at a terminal. */
  open: boolean
  json: boolean
  /** A real path. */
  cwd: string
}

/** Serves until a signal ends it. @returns the exit code: 128 + the signal's number; 2 where there is no such session */
export function inspectCommand({ id, open, json, cwd }: InspectArgs, deps: LookDeps): Promise<number> {
  // From here on: a signal while the session is read must not look like a crash.
  const stopped = stopSignal()
  return withOut(deps, async (out) => {
    const found = id === null ? await latest(deps, cwd) : await findSession(deps.store, id, 'inspect')
    if (!found.ok) {
      out.fail(found.message)
      return 2
    }
    const session_id = found.value
    const { serveInspector } = await import('../inspect.ts')
    const server = await serveInspector({
      store: deps.store,
      session_id,
      warn: (message) => out.tell(`warning: ${message}`),
    })
    if (server === null) {
      out.fail(unknownSession(session_id))
      return 2
    }
    out.print(json ? jsonLine({ session_id, address: server.address }) : server.address)
    if (open && deps.stdoutIsTty) openBrowser(server.address)
    out.hint('The address is open until Ctrl-C.')
    const code = await stopped
    await server.close()
    return code
  })
}

async function latest({ store }: LookDeps, cwd: string): Promise<Result<string>> {
  const head = await store.latest(cwd)
  if (head !== null) return { ok: true, value: head.session_id }
  const message = `There is no session of ${cwd} to look at; agent sessions --all lists those of every directory.`
  return { ok: false, message }
}

/** @returns the exit code of the first signal; 0 where the conversation that started it has ended, in whatever way */
function stopSignal(): Promise<number> {
  return new Promise((resolve) => {
    for (const name of Object.keys(SIGNAL_CODES) as SignalName[]) process.once(name, () => resolve(SIGNAL_CODES[name]))
    process.once('disconnect', () => resolve(0))
  })
}

/** Where there is no program that opens addresses, the printed one is enough. */
function openBrowser(address: string): void {
  const [command, args]: [string, string[]] =
    process.platform === 'darwin'
      ? ['open', [address]]
      : process.platform === 'win32'
        ? ['cmd', ['/c', 'start', '', address]]
        : ['xdg-open', [address]]
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
