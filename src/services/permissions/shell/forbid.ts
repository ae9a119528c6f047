/** Rules that forbid or ask, held against everything that a command line would run. */
import { commandsIn, type Reading, type SimpleCommand } from './commands.ts'
import type { WithTree } from './grammar.ts'
import { type CommandPattern, type Match, matchesWidely, stronger } from './pattern.ts'
import { readPlain } from './plain.ts'
import { unwrap } from './unwrap.ts'
import { literal, type Word } from './words.ts'

/** What a command line runs, as far as it can be told. */
export interface Unfolded {
  commands: Array<{ name: string; words: Word[] }>
  /** Files that are redirected from and to. */
  redirects: Reading['redirects']
  /** Why there may be more; each completes "because …". */
  obstacles: string[]
}

/** Command lines inside command lines. */
const DEEPEST = 8
/** Commands of one line; more than anyone types, less than what takes time. */
const MOST = 5_000
/** Characters; a longer line is not parsed. */
const LONGEST = 512 * 1024

/** @returns every command of a line, of its substitutions, and of what its wrappers run */
export function unfold(command: string, parse: WithTree): Unfolded {
  const unfolding = new Unfolding(parse)
  unfolding.line(command, 0)
  return { commands: unfolding.commands, redirects: unfolding.redirects, obstacles: [...unfolding.obstacles] }
}

class Unfolding {
  readonly commands: Unfolded['commands'] = []
  readonly redirects: Unfolded['redirects'] = []
  readonly obstacles = new Set<string>()
  readonly #parse: WithTree
  /** Lines and commands that were looked at already. */
  readonly #seen = new Set<string>()

  constructor(parse: WithTree) {
    this.#parse = parse
  }

  line(text: string, depth: number): void {
    if (this.#isKnown(text) || this.#isTooMuch(depth)) return
    if (text.length > LONGEST) {
      this.obstacles.add('the command line is too long to be read')
      return
    }
    if (/[\0\r]/.test(text)) this.obstacles.add('it holds control characters')
    // Both readers count: what only one of them sees is forbidden too.
    const plain = readPlain(text)
    for (const { words } of plain.kind === 'plain' ? plain.commands : [])
      this.#command(
        words.map(({ value }) => literal(value)),
        'inherited',
        depth,
      )
    const reading = this.#parse(text, commandsIn)
    if (reading === null || reading.broken) this.obstacles.add('a part of it cannot be parsed')
    this.redirects.push(...(reading?.redirects ?? []))
    for (const { words, input } of reading?.commands ?? []) this.#command(words, input, depth)
    // Where a line goes on, `r\<newline>m` is one word, `F\<newline>OO=1 rm` an assignment before one.
    if (text.includes('\\\n')) this.line(withoutContinuations(text), depth + 1)
  }

  #command(words: Word[], input: SimpleCommand['input'], depth: number): void {
    const [first] = words
    if (first === undefined || this.#isKnown(JSON.stringify([words, input])) || this.#isTooMuch(depth)) return
    const name = nameOf(first)
    if (name === null) {
      this.obstacles.add("a command's name is computed")
      return
    }
    this.commands.push({ name, words })
    const inner = unwrap(name, words, input)
    for (const obstacle of inner.obstacles) this.obstacles.add(obstacle)
    for (const line of inner.lines) this.line(line, depth + 1)
    for (const inside of inner.commands) this.#command(inside, input, depth + 1)
  }

  #isKnown(key: string): boolean {
    if (this.#seen.has(key)) return true
    this.#seen.add(key)
    return false
  }

  #isTooMuch(depth: number): boolean {
    const much = depth > DEEPEST || this.commands.length > MOST
    if (much) this.obstacles.add('it holds too many commands in each other')
    return much
  }
}

/** What stands in single quotes or in a comment is joined too: the line as it was typed is read beside this one. */
function withoutContinuations(text: string): string {
  return text.replace(/\\([\s\S])/g, (pair, next) => (next === '\n' ? '' : pair))
}

function nameOf(word: Word): string | null {
  switch (word.kind) {
    case 'literal':
      return word.value.split('/').at(-1) ?? word.value
    case 'computed':
      return word.basename
    case 'glob':
      // `[` is a builtin's name.
      return word.value === '[' ? '[' : null
  }
}

/** `because`: of a `maybe`, what could not be told. */
export interface Forbidden {
  match: Match
  because: string
}

/** @returns how surely one of the commands is what the rule names */
export function forbids(pattern: CommandPattern, unfolded: Unfolded): Forbidden {
  let match: Match = 'no'
  for (const { name, words } of unfolded.commands) match = stronger(match, matchesWidely(pattern, name, words))
  if (match !== 'no') return { match, because: 'a word of it is computed when it runs' }
  const [obstacle] = unfolded.obstacles
  return obstacle === undefined ? { match: 'no', because: '' } : { match: 'maybe', because: obstacle }
}
