/** The tool `bash`: one command line, run in a shell of its own. */
import * as z from 'zod/mini'
import { defineTool } from './tool.ts'

/** Milliseconds. The limits users know from other agents. */
const DEFAULT_TIMEOUT = 120_000
const LONGEST_TIMEOUT = 600_000

const DESCRIPTION = `Runs a command with \`bash -c\` in the working directory and returns its standard output and standard error in the order they were written, and its exit code where that is not 0.
- Each call starts a new shell in the working directory: \`cd\` and variables do not carry over, so chain with &&.
- There is no standard input and no terminal; editors and pagers do not open. Pass what a program would ask for as arguments.
- The command may take ${DEFAULT_TIMEOUT / 1000} seconds, or \`timeout\` milliseconds (at most ${LONGEST_TIMEOUT}); then it and all it started are ended.
- A process started with & keeps running after the call, until the end of this run: send its output to a file to read it later.
- Use grep, glob and read_file rather than shell commands to search and read files.`

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
          z.describe(
            `Milliseconds until it is ended, ${DEFAULT_TIMEOUT} by default; more than ${LONGEST_TIMEOUT} counts as ${LONGEST_TIMEOUT}`,
          ),
        ),
    ),
  }),
  effect: ({ command }) => ({ kind: 'execute', command }),
  async run({ command, timeout }, env) {
    const [{ runShell }, { report }] = await loadShell()
    const timeoutMs = Math.min(timeout ?? DEFAULT_TIMEOUT, LONGEST_TIMEOUT)
    const run = await runShell({ command, cwd: env.cwd, env: env.childEnv, timeoutMs, signal: env.signal })
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
