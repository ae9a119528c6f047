/** The tool `bash`: one command line, run in a shell of its own. */
import * as z from 'zod/mini'
import { defineTool } from './tool.ts'

/** Milliseconds. The limits users know from other agents. */
const DEFAULT_TIMEOUT = 120_000
const LONGEST_TIMEOUT = 600_000

const DESCRIPTION = `Runs a command with \`bash -c\` and returns its output, standard error included, in the order it was written, and its exit code where that is not 0.
- Each call is a new shell in the working directory: \`cd\` and variables do not carry over, so chain with &&.
- There is no standard input and no terminal: pass what a program would ask for as arguments.
- After ${DEFAULT_TIMEOUT / 1000} seconds, or \`timeout\` milliseconds, it and all it started are ended.
- What is started with & runs on until the end of this run: send its output to a file to read it later.
- Search and read files with grep, glob and read_file instead.`

/** Exit codes other than 0 are error results, save exit code 1 of grep, diff and test (see shell/report.ts). */
export const bashTool = defineTool({
  name: 'bash',
  description: DESCRIPTION,
  input: z.strictObject({
    command: z.string().check(z.minLength(1), z.describe('The command line, as typed in a terminal')),
    timeout: z.optional(
      z
        .int()
        .check(
          z.positive(),
          z.describe(`Milliseconds until it is ended, ${DEFAULT_TIMEOUT} by default; at most ${LONGEST_TIMEOUT}`),
        ),
    ),
  }),
  effect: ({ command }) => ({ kind: 'execute', command }),
  async run({ command, timeout }, env) {
    const [{ runShell }, { report }] = await loadShell()
    const timeoutMs = Math.min(timeout ?? DEFAULT_TIMEOUT, LONGEST_TIMEOUT)
    const { cwd, childEnv, signal, spool, sandbox } = env
    const more = { ...(spool && { spool }), ...(sandbox && { sandbox }) }
    const run = await runShell({ command, cwd, env: childEnv, timeoutMs, signal, ...more })
    return report(run, command)
  },
})

type Shell = [typeof import('./shell/run.ts'), typeof import('./shell/report.ts')]
let shell: Promise<Shell> | null = null

function loadShell(): Promise<Shell> {
  shell ??= Promise.all([import('./shell/run.ts'), import('./shell/report.ts')])
  return shell
}

/**
 * The end of a run: ends every process that its shell commands have left running. Call it before the agent exits;
 * commands can be run again afterwards. Where no command was run it does nothing.
 */
export async function endAllGroups(): Promise<void> {
  if (shell === null) return
  const [{ endAllGroups: end }] = await shell
  await end()
}
