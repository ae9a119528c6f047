/** Lines of files that match a regular expression. */
import { basename, dirname, join, relative } from 'node:path'
import { realTarget } from '../../paths.ts'
import type { ToolEnv, ToolResult } from '../../ports.ts'
import { type Event, parseEvent } from './events.ts'
import type { LineSearch } from './lineSearch.ts'
import { whyNothing } from './nothing.ts'
import { type RipgrepEnd, recordsOf, runRipgrep } from './ripgrep.ts'
import { MOST_CHARACTERS, shownPath, timeLimit, troubleOf } from './show.ts'

const MOST_LINES = 250
/** Bytes of one of ripgrep's records, which holds one matching line. */
const LONGEST_RECORD = 4 * 1024 * 1024

/** @returns `path:line:text` for each matching line, sorted by path; or a sentence where there is none */
export async function findLines(search: LineSearch, env: ToolEnv): Promise<ToolResult> {
  const directory = search.kind === 'directory' ? search.place : dirname(search.place)
  const target = search.kind === 'directory' ? './' : `./${basename(search.place)}`
  const isWanted = wanted(search, directory, env)
  const found = new FoundLines(search, directory, env.cwd, isWanted)
  const end = await runRipgrep({
    args: [...argsOf(search), '--', target],
    directory,
    cwd: env.cwd,
    env: env.childEnv,
    signal: env.signal,
    timeoutMs: timeLimit(directory),
    onOutput: recordsOf(0x0a, LONGEST_RECORD, (record, kind) => found.take(parseEvent(record, kind))),
  })
  found.flush()
  const trouble = troubleOf(end)
  if (found.lines.length > 0) return answer(found.lines, end, trouble)
  if (end.kind === 'failed') return { kind: 'error', content: whatIsWrong(end.said) }
  if (trouble !== null && end.kind !== 'partly') return { kind: 'error', content: trouble }
  const sentence = await whyNothing({ search, directory, target, isWanted }, env)
  return { kind: 'ok', content: trouble === null ? sentence : `${sentence} ${trouble}` }
}

/** @returns whether the search is about a file, by its absolute path */
function wanted({ filter, kind }: LineSearch, directory: string, { cwd, hides }: ToolEnv): (path: string) => boolean {
  if (kind === 'file') return () => true
  // ripgrep follows no links below the directory it starts in, so this is where its files really are.
  const real = realTarget(directory)
  return (path) => {
    if (hides?.(join(real, relative(directory, path))) ?? false) return false
    return [directory, cwd].some((from) => filter.matches(relative(from, path).split('/')))
  }
}

function argsOf({ pattern, kind, filter }: LineSearch): string[] {
  // ripgrep refuses a line end in a pattern unless matches may go over several lines.
  const lines = /\n|\\n/.test(pattern) ? ['--multiline'] : []
  // With it $ stands before CR LF too, but \r is found no more.
  const ends = pattern.includes('$') && !pattern.includes('\\r') ? ['--crlf'] : []
  const files = kind === 'directory' ? filter.args : []
  return ['--json', '--sort=path', '--engine=auto', ...lines, ...ends, ...files, `--regexp=${pattern}`]
}

/** Collects lines until there are enough. */
class FoundLines {
  readonly lines: string[] = []
  readonly #search: LineSearch
  readonly #directory: string
  readonly #cwd: string
  readonly #isWanted: (path: string) => boolean
  /** Of the file being searched; they count once it has proved to be no binary file. */
  #pending: string[] = []
  #characters = 0

  constructor(search: LineSearch, directory: string, cwd: string, isWanted: (path: string) => boolean) {
    this.#search = search
    this.#directory = directory
    this.#cwd = cwd
    this.#isWanted = isWanted
  }

  take(event: Event): 'more' | 'enough' {
    switch (event.kind) {
      case 'match':
        return this.#match(event.path, event.lines)
      case 'end':
        this.#endFile(event)
        return 'more'
      case 'other':
        return 'more'
    }
  }

  /** What has come of a file whose search was cut short. */
  flush(): void {
    this.lines.push(...this.#pending.splice(0))
  }

  #match(path: string, lines: Array<{ number: number | null; text: string }>): 'more' | 'enough' {
    const absolute = join(this.#directory, path)
    if (!this.#isWanted(absolute)) return 'more'
    const shown = shownPath(absolute, this.#cwd)
    for (const { number, text } of lines) {
      const line = number === null ? `${shown}: ${text}` : `${shown}:${number}:${text}`
      if (this.lines.length + this.#pending.length >= MOST_LINES) return 'enough'
      if (this.#characters + line.length > MOST_CHARACTERS) return 'enough'
      this.#pending.push(line)
      this.#characters += line.length + 1
    }
    return 'more'
  }

  #endFile({ path, isBinary }: { path: string; isBinary: boolean }): void {
    if (!isBinary) this.flush()
    else if (this.#pending.length > 0) {
      for (const line of this.#pending.splice(0)) this.#characters -= line.length + 1
      if (this.#search.kind === 'file')
        this.lines.push(`${shownPath(join(this.#directory, path), this.#cwd)} is a binary file, and it matches.`)
    }
  }
}

function answer(lines: string[], end: RipgrepEnd, trouble: string | null): ToolResult {
  if (end.kind === 'enough')
    lines.push(
      `[the first ${lines.length} matching lines; there are more. Narrow the pattern, path or glob to see them]`,
    )
  if (trouble !== null) lines.push(`[not all lines: ${trouble}]`)
  return { kind: 'ok', content: lines.join('\n') }
}

/** ripgrep's message in one sentence: it tells of both of its engines, at length. */
function whatIsWrong(said: string): string {
  const [first, second] = [/^error: (.+)$/m.exec(said)?.[1], /^PCRE2: (.+)$/m.exec(said)?.[1]]
  const reason = first === undefined || first.includes('not supported') ? (second ?? first) : first
  if (reason === undefined) return `The search failed: ${said.trim().split('\n')[0]?.replace(/^rg: /, '')}.`
  return `The pattern is not a valid regular expression: ${reason}. Put a backslash before ( ) [ ] { } * + ? . that mean themselves.`
}
