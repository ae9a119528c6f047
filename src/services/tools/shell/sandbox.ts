/**
 * An optional wall around shell commands: bubblewrap shows them the file system read-only, the working directory and a
 * /tmp of their own aside, no other processes, and no network unless it is allowed. Linux only.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Result } from '../../ports.ts'

export interface SandboxOptions {
  /** A real path. */
  cwd: string
  /** Whether commands may use the network. */
  network: boolean
}

export interface Sandbox {
  /** What comes before the command: the program and its arguments. */
  prefix: readonly string[]
  /** Removes the commands' /tmp. */
  remove(): void
}

/** What a project must not change for the commands after it, or for the user: see permissions/protectedPaths.ts. */
const PROTECTED = ['.agent', '.git/config', '.git/hooks']
/** Sockets of services (docker, D-Bus, agents of keys) stand there: who may use them is out. */
const SOCKETS = '/run'
/** But names are looked up through this. */
const RESOLVER = '/run/systemd/resolve'

/**
 * Tries the sandbox once, so that a run with it never starts without it.
 * @returns the sandbox, or why there is none here
 */
export function openSandbox({ cwd, network }: SandboxOptions): Result<Sandbox> {
  if (process.platform !== 'linux')
    return {
      ok: false,
      message: '--sandbox needs Linux: its walls are those of bubblewrap. Run without it, or in a container.',
    }
  if (cwd === '/')
    return {
      ok: false,
      message: '--sandbox leaves the working directory writable, and that is / here. Give a directory with -C.',
    }
  const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-sandbox-')))
  const prefix = ['bwrap', ...argumentsFor(cwd, temporary, network), '--']
  const remove = (): void => rmSync(temporary, { recursive: true, force: true, maxRetries: 3 })
  const problem = whyNot(prefix)
  if (problem === null) return { ok: true, value: { prefix, remove } }
  remove()
  return { ok: false, message: problem }
}

function argumentsFor(cwd: string, temporary: string, network: boolean): string[] {
  const inside = (path: string): boolean => existsSync(path)
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...['--bind', temporary, '/tmp'],
    ...(inside(SOCKETS) ? ['--tmpfs', SOCKETS] : []),
    ...(network && inside(RESOLVER) ? ['--ro-bind', RESOLVER, RESOLVER] : []),
    ...['--bind', cwd, cwd],
    ...PROTECTED.map((name) => join(cwd, name)).flatMap((path) => (inside(path) ? ['--ro-bind', path, path] : [])),
    // Processes of their own, else /proc/<pid>/root of the agent would be a way out.
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--unshare-user-try'],
    ...(network ? [] : ['--unshare-net']),
    ...['--die-with-parent', '--chdir', cwd, '--setenv', 'TMPDIR', '/tmp'],
  ]
}

function whyNot([program = '', ...prefix]: readonly string[]): string | null {
  const tried = spawnSync(program, [...prefix, 'true'], { encoding: 'utf8', timeout: 10_000 })
  if (tried.error !== undefined) {
    const missing = (tried.error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing ? 'bubblewrap is not installed' : `bubblewrap could not be started (${tried.error.message})`
    return `--sandbox: ${why}. Install it (apt-get install bubblewrap, dnf install bubblewrap), or run without --sandbox.`
  }
  if (tried.status === 0) return null
  const said = tried.stderr.trim().split('\n').at(-1) ?? ''
  return `--sandbox: bubblewrap cannot build its walls here (${said || `exit code ${tried.status}`}). User namespaces may be switched off, as in most containers; run without --sandbox, or where they are allowed.`
}
