/** Directories as users name them: the agent's home, and where a run works. */
import { access, constants, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { absolutePath, userHome } from '../services/paths.ts'
import type { Result } from '../services/ports.ts'

/** The user's own folder of the agent (contract.md, 1). */
export function agentHome(env: NodeJS.ProcessEnv): string {
  // A service manager or a container passes `~` on as it stands.
  return env.AGENT_HOME ? absolutePath(env.AGENT_HOME, '.') : join(userHome(), '.agent')
}

/** @returns the working directory as a real path: what `-C` names, else the one the process stands in */
export async function workingDirectory(given: string | null): Promise<Result<string>> {
  if (given !== null) return existingDirectory(given, '-C')
  try {
    return { ok: true, value: await realpath(process.cwd()) }
  } catch {
    return { ok: false, message: 'The current directory no longer exists: give another with -C <dir>.' }
  }
}

/** @param what what names it, for the message: a flag, or a session */
export async function existingDirectory(given: string, what: string): Promise<Result<string>> {
  const named = `${what} ${JSON.stringify(given)}`
  if (given === '') return { ok: false, message: `${what} needs a directory, but was given "".` }
  try {
    const real = await realpath(given)
    if (!(await stat(real)).isDirectory()) return { ok: false, message: `${named} is not a directory.` }
    await access(real, constants.X_OK)
    return { ok: true, value: real }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') return { ok: false, message: `${named} cannot be entered: permission denied.` }
    if (code === 'ENOTDIR') return { ok: false, message: `${named} is not a directory.` }
    return { ok: false, message: `${named} does not exist.` }
  }
}
