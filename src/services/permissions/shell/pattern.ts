/**
 * What stands in `Bash(…)`: words, with `*` for any. `Bash(git log:*)` and `Bash(git log *)` are the command with any
 * further words, `Bash(npm test)` is that command only.
 */
import { type PlainWord, readPlain } from './plain.ts'
import { matchesParts, type Parts } from './wild.ts'
import type { Word } from './words.ts'

export type PatternWord =
  | { kind: 'literal'; value: string }
  /** Part of a word: `test*`. */
  | { kind: 'wild'; parts: Parts }
  /** `*` alone: any number of words. */
  | { kind: 'many' }

export interface CommandPattern {
  words: PatternWord[]
  /** Whether further words may follow. */
  more: boolean
}

/** @returns null where the text is no plain command: a rule covers one command, without operators */
export function parsePattern(specifier: string): CommandPattern | null {
  const text = specifier.trim()
  const prefix = /^([\s\S]*?)(?::\*| \*)$/.exec(text)?.[1]
  const reading = readPlain(prefix ?? text, 'pattern')
  if (reading.kind === 'refused') return null
  const [command, ...others] = reading.commands
  if (command === undefined || others.length > 0 || command.redirections > 0) return null
  const words = command.words.map(({ value, glob }): PatternWord => {
    if (!glob) return { kind: 'literal', value }
    if (value === '*') return { kind: 'many' }
    return { kind: 'wild', parts: value.split('*') }
  })
  // `ls*` goes on over the word's end, as it does for other agents.
  const open = prefix === undefined && words.at(-1)?.kind === 'wild' && text.endsWith('*')
  return { words, more: prefix !== undefined || open }
}

/**
 * @returns whether the words are exactly what an allow rule names; no option is skipped, nothing is guessed, and what
 *   the rule gives in full is no pattern of file names
 */
export function matchesExactly({ words: pattern, more }: CommandPattern, words: readonly PlainWord[]): boolean {
  /** Whether the pattern from `p` on matches the words from each index on. */
  let onward = Array.from({ length: words.length + 1 }, (_, w) => more || w === words.length)
  for (const expected of pattern.toReversed()) {
    const next = onward
    onward = Array<boolean>(words.length + 1).fill(false)
    if (expected.kind === 'many') onward[words.length] = next[words.length] === true
    for (let w = words.length - 1; w >= 0; w--) {
      if (expected.kind === 'many') onward[w] = next[w] === true || onward[w + 1] === true
      else onward[w] = next[w + 1] === true && isSame(expected, words[w])
    }
  }
  return onward[0] === true
}

function isSame(expected: Exclude<PatternWord, { kind: 'many' }>, word: PlainWord | undefined): boolean {
  if (word === undefined) return false
  return expected.kind === 'literal'
    ? expected.value === word.value && !word.glob
    : matchesParts(expected.parts, word.value)
}

/** Whether a command is one that a rule names, for rules that forbid or ask. */
export type Match = 'yes' | 'maybe' | 'no'

const STRENGTH: Record<Match, number> = { no: 0, maybe: 1, yes: 2 }

/** @returns the stronger of the two */
export function stronger(a: Match, b: Match): Match {
  return STRENGTH[a] >= STRENGTH[b] ? a : b
}

/**
 * Matches as widely as can be meant: options and their values may stand between the words, in any order and joined
 * (`rm -r -f` is `rm -fr`), further words may follow also without a star, the program may stand there by any path. `maybe` where a word that is computed could make it match.
 * @param name the program's name without its directory
 */
export function matchesWidely(pattern: CommandPattern, name: string, words: readonly Word[]): Match {
  const operands: PatternWord[] = []
  const options: string[] = []
  for (const word of pattern.words) {
    if (word.kind === 'literal' && /^-./.test(word.value)) options.push(word.value)
    else operands.push(word)
  }
  const main = operandsMatch(operands, name, words)
  if (main === 'no') return asText(pattern, words)
  let all: Match = main
  for (const option of options) {
    const has = hasOption(option, words.slice(1))
    if (has === 'no') return 'no'
    if (has === 'maybe') all = 'maybe'
  }
  return all
}

function operandsMatch(operands: readonly PatternWord[], name: string, words: readonly Word[]): Match {
  const end = words.length
  /** How the pattern from `p` on matches the words from each index on; beyond the end there is nothing to match. */
  let onward: Match[] = Array<Match>(end + 3).fill('yes')
  for (const expected of operands.toReversed()) {
    const next = onward
    onward = Array<Match>(end + 3).fill('no')
    if (expected.kind === 'many') onward[end] = next[end] ?? 'no'
    for (let w = end - 1; w >= 0; w--) onward[w] = matchAt(expected, name, words, w, next, onward)
  }
  return onward[0] ?? 'no'
}

function matchAt(
  expected: PatternWord,
  name: string,
  words: readonly Word[],
  w: number,
  next: readonly Match[],
  onward: readonly Match[],
): Match {
  if (expected.kind === 'many') return stronger(next[w] ?? 'no', onward[w + 1] ?? 'no')
  const word = words[w]
  if (word === undefined) return 'no'
  const here = w === 0 ? nameMatches(expected, name, word) : wordMatches(expected, word)
  // A computed word may stand for the rest as well.
  const after = word.kind === 'computed' && w > 0 ? 'maybe' : (next[w + 1] ?? 'no')
  const match = here === 'no' ? 'no' : weaker(here, after)
  // An option may stand between, with a value or without.
  return w === 0 || !isOption(word) ? match : stronger(match, stronger(onward[w + 1] ?? 'no', onward[w + 2] ?? 'no'))
}

function weaker(a: Match, b: Match): Match {
  return STRENGTH[a] <= STRENGTH[b] ? a : b
}

function isOption(word: Word): boolean {
  return (word.kind === 'computed' ? word.head : word.value).startsWith('-')
}

function nameMatches(expected: PatternWord, name: string, word: Word): Match {
  const spellings = word.kind === 'literal' ? [name, word.value] : [name]
  const hit = spellings.some((text) => test(expected, text.toLowerCase()) || test(expected, text))
  return hit ? 'yes' : 'no'
}

function test(expected: PatternWord, text: string): boolean {
  if (expected.kind === 'literal') return expected.value === text
  return expected.kind === 'many' || matchesParts(expected.parts, text)
}

function wordMatches(expected: PatternWord, word: Word): Match {
  switch (word.kind) {
    case 'literal':
      return test(expected, word.value) ? 'yes' : 'no'
    case 'glob':
      return expected.kind !== 'literal' || matchesParts(word.parts, expected.value) ? 'maybe' : 'no'
    case 'computed':
      return expected.kind !== 'literal' || expected.value.startsWith(word.head) ? 'maybe' : 'no'
  }
}

/** `-rf` is there where both letters are, `--force` also abbreviated or with a value. */
function hasOption(option: string, words: readonly Word[]): Match {
  const literals = words.flatMap((word) => (word.kind === 'literal' ? [word.value] : []))
  const letters = /^-([A-Za-z]+)$/.exec(option)?.[1]
  const given = literals.filter((text) => text.startsWith('-'))
  const there =
    letters === undefined
      ? given.some((text) => isSameLong(option, text))
      : given.includes(option) || [...letters].every((letter) => hasLetter(letter, given))
  if (there) return 'yes'
  return words.some((word) => word.kind !== 'literal' && couldBeOption(word, option)) ? 'maybe' : 'no'
}

function isSameLong(option: string, given: string): boolean {
  const name = given.split('=')[0] ?? ''
  return given === option || (name.length > 3 && option.startsWith(name)) || given.startsWith(`${option}=`)
}

/** Long spellings of what rules mostly forbid. */
const LONG: Record<string, string[]> = { r: ['--recursive'], R: ['--recursive'], f: ['--force'] }

function hasLetter(letter: string, given: readonly string[]): boolean {
  return given.some(
    (text) =>
      (/^-[A-Za-z]/.test(text) && text.includes(letter)) ||
      (letter === 'r' && /^-[A-Za-z]*R/.test(text)) ||
      (LONG[letter] ?? []).some((long) => isSameLong(long, text)),
  )
}

function couldBeOption(word: Exclude<Word, { kind: 'literal' }>, option: string): boolean {
  if (word.kind === 'glob') return matchesParts(word.parts, option)
  return word.head === '' || word.head.startsWith('-')
}

/** `Bash(curl * http*)`: a star goes over words too. */
function asText({ words, more }: CommandPattern, given: readonly Word[]): Match {
  if (!words.some(({ kind }) => kind !== 'literal')) return 'no'
  if (!given.every(({ kind }) => kind === 'literal')) return 'no'
  const text = given.map((word) => (word.kind === 'literal' ? word.value : '')).join(' ')
  const parts = ['']
  for (const [i, word] of words.entries()) {
    if (i > 0) parts[parts.length - 1] += ' '
    const [first = '', ...rest] = word.kind === 'literal' ? [word.value] : word.kind === 'many' ? ['', ''] : word.parts
    parts[parts.length - 1] += first
    parts.push(...rest)
  }
  if (more) parts.push('')
  return matchesParts(parts, text) ? 'yes' : 'no'
}
