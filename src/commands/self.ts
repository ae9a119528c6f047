/** How the user started the agent, for commands that are shown to be typed. */
import { basename, isAbsolute, relative } from 'node:path'

/**
 * @param script what Node runs, as in `process.argv[1]`
 * @param cwd where the user stands
 * @returns `agent` where it was started by that name, else `node` and the script's path from where the user stands
 */
export function selfCommand(script: string | undefined = process.argv[1], cwd: string = process.cwd()): string {
  if (script === undefined || basename(script) === 'agent') return 'agent'
  const path = relative(cwd, script)
  return `node ${path.startsWith('..') || isAbsolute(path) ? script : path}`
}
