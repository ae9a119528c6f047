/** Completing what is typed: `@` and a file, `/` and a command. Pure; the candidates come from outside. */
import { lineStart } from './editor.ts'

export interface Candidate {
  /** What is put in. */
  text: string
  /** Beside it in the list. */
  about: string
}

/** The part of the text that is being completed. */
export interface Wanted {
  kind: 'file' | 'command'
  /** Where it begins, its sign included. */
  from: number
  query: string
}

/** @returns what is being typed before the cursor, null where nothing is to be completed */
export function wantedAt(text: string, cursor: number): Wanted | null {
  const before = text.slice(lineStart(text, cursor), cursor)
  const command = /^\/([\w:-]*)$/.exec(text.slice(0, cursor))
  if (command !== null) return { kind: 'command', from: 0, query: command[1] ?? '' }
  // In quotes a name may have spaces.
  const file = /(?:^|\s)@(?:"([^"]*)|([^\s"]*))$/.exec(before)
  if (file === null) return null
  const [, quoted, bare = ''] = file
  const query = quoted ?? bare
  return { kind: 'file', from: cursor - query.length - (quoted === undefined ? 1 : 2), query }
}

/** @returns the text to put in for a file */
export function mention(path: string): string {
  return /\s/.test(path) ? `@"${path}"` : `@${path}`
}

/**
 * The best matches: all letters of the query in their order; those at the beginning of names, side by side and in the
 * last part of a path weigh more, short paths more than long ones.
 * @param most how many are returned
 */
export function fuzzy(query: string, paths: readonly string[], most: number): string[] {
  const wanted = query.toLowerCase()
  const best: Array<{ path: string; score: number }> = []
  for (const path of paths) {
    const score = scoreOf(wanted, path)
    if (score === null) continue
    const worst = best.at(-1)
    if (best.length >= most && worst !== undefined && score <= worst.score) continue
    let at = best.length
    while (at > 0 && (best[at - 1]?.score ?? 0) < score) at--
    best.splice(at, 0, { path, score })
    if (best.length > most) best.pop()
  }
  return best.map(({ path }) => path)
}

function scoreOf(query: string, path: string): number | null {
  if (query === '') return -path.length - 20 * path.split('/').length
  const lower = path.toLowerCase()
  const name = lower.lastIndexOf('/') + 1
  const whole = lower.indexOf(query, name)
  if (whole >= 0) return 1_000 - path.length / 4 + (whole === name ? 500 : isBoundary(path, whole) ? 200 : 0)
  const inPath = lower.indexOf(query)
  if (inPath >= 0) return 600 - path.length / 4 + (isBoundary(path, inPath) ? 200 : 0)
  let score = 0
  let at = -1
  for (const letter of query) {
    const next = lower.indexOf(letter, at + 1)
    if (next < 0) return null
    score += next === at + 1 ? 8 : isBoundary(path, next) ? 6 : next >= name ? 2 : 1
    at = next
  }
  return score - path.length / 4
}

function isBoundary(path: string, at: number): boolean {
  if (at === 0) return true
  const [before = '', here = ''] = [path[at - 1], path[at]]
  return /[/._\- ]/.test(before) || (before !== before.toUpperCase() && here !== here.toLowerCase())
}
