/** All files below a directory, for completing what a person types. */
import { recordsOf, runRipgrep } from './ripgrep.ts'

/** More than anyone completes in; a bound for homes and network drives. */
const MOST_FILES = 200_000
const LONGEST_PATH = 64 * 1024
const LIMIT_MS = 10_000

/** @returns paths relative to `cwd` in the order in which they were found; what .gitignore names is left out */
export async function listFiles(cwd: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const paths: string[] = []
  await runRipgrep({
    args: ['--files', '--null', '--', './'],
    directory: cwd,
    cwd,
    env,
    signal: new AbortController().signal,
    timeoutMs: LIMIT_MS,
    onOutput: recordsOf(0, LONGEST_PATH, (record) => {
      paths.push(record.toString('utf8').slice(2))
      return paths.length < MOST_FILES ? 'more' : 'enough'
    }),
  })
  return paths
}
