/**
 * What is said where no line matches. "Not found" is taken for "not there", so two slips that look the same are told
 * apart from it: a `glob` that no file matches, and a pattern that was meant as plain text.
 */
import { join } from 'node:path'
import type { ToolEnv } from '../../ports.ts'
import type { LineSearch } from './lineSearch.ts'
import { recordsOf, runRipgrep } from './ripgrep.ts'
import { shownPath } from './show.ts'

/** A look for what was meant is not worth more time, in milliseconds; without it the plain sentence is said. */
const LOOK_MS = 2_000
const LONGEST_PATH = 64 * 1024

/** What means something else in a regular expression than in a text. */
const SPECIAL = /[()[\]{}.*+?|^$\\]/

/** A search that has gone through everything and has no line. */
export interface Missed {
  search: LineSearch
  /** Where ripgrep runs, and what it searches there. */
  directory: string
  target: string
  /** Whether the search is about this file; an absolute path. */
  isWanted: (path: string) => boolean
}

/** @returns whole sentences */
export async function whyNothing(missed: Missed, env: ToolEnv): Promise<string> {
  const { pattern, place, kind, glob } = missed.search
  const where = place === env.cwd ? 'the working directory' : shownPath(place, env.cwd)
  const chosen = kind === 'directory' && glob !== undefined ? JSON.stringify(glob) : null
  if (kind === 'directory' && (await look(missed, ['--files'], env)) === 'none') {
    return chosen === null
      ? `There is nothing to search in ${where}: it holds no files, or .gitignore names all of them. Those are searched with bash (grep -r), or with their path.`
      : `No file in ${where} matches the glob ${chosen}, so nothing was searched. Ignored files, .git and node_modules are left out unless path leads into them.`
  }
  const sentence = `No line matches ${JSON.stringify(pattern)}${chosen === null ? '' : ` in files that match ${chosen}`} in ${where}.`
  const asText = ['--fixed-strings', '--files-with-matches', `--regexp=${pattern}`]
  if (!SPECIAL.test(pattern) || /[\r\n]/.test(pattern) || (await look(missed, asText, env)) !== 'some') return sentence
  return `${sentence} As plain text it is there: put a backslash before ( ) [ ] { } . * + ? | ^ $ that mean themselves.`
}

/** @returns whether any file is listed; `unknown` where the look did not come to its end */
async function look(
  { search, directory, target, isWanted }: Missed,
  args: string[],
  env: ToolEnv,
): Promise<'some' | 'none' | 'unknown'> {
  let isFound = false
  const end = await runRipgrep({
    args: [...args, '--null', ...(search.kind === 'directory' ? search.filter.args : []), '--', target],
    directory,
    cwd: env.cwd,
    env: env.childEnv,
    signal: env.signal,
    timeoutMs: LOOK_MS,
    onOutput: recordsOf(0, LONGEST_PATH, (record) => {
      isFound = isWanted(join(directory, record.toString('utf8')))
      return isFound ? 'enough' : 'more'
    }),
  })
  if (isFound) return 'some'
  return end.kind === 'done' ? 'none' : 'unknown'
}
