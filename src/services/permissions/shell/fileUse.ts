/**
 * Which files a command line names to programs that read or change them. A rule for `Read` or `Edit` that forbids holds
 * for these too: who denies `Read(.env)` means `cat .env` as well.
 */
import type { Unfolded } from './forbid.ts'
import { literal, type Word } from './words.ts'

export interface FileUse {
  use: 'read' | 'write'
  word: Word
}

export interface FilesNamed {
  uses: FileUse[]
  /** Where `cd` may have led by then. */
  directories: Word[]
}

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '))

const READERS = set(
  'cat tac head tail less more nl wc sort uniq cut paste od xxd hexdump strings base64 base32 diff cmp comm fold fmt pr rev column expand bat batcat view source .',
)

/** A program that looks for something in the files it is given, or runs a program of its own on them. */
interface Searcher {
  /** Options that say what is looked for; without one the first operand does. */
  gives: RegExp
  /** Options whose value is the next word, which is then neither what is looked for nor a file. */
  valued: RegExp
}

const NONE = /^(?!)/
const EXPRESSION = /^-(?:[a-zA-Z]*[ef]$|[ef]|-(?:regexp|file|expression)\b)/
const GREP_VALUED =
  /^-[^-efABCmdD]*[ABCmdD]$|^--(?:(?:after|before)-context|context|max-count|include|exclude|exclude-dir)$/
const RG_VALUED =
  /^-[^-efABCdEgjmMrtT]*[ABCdEgjmMrtT]$|^--(?:(?:after|before)-context|context|max-count|i?glob|type|type-not|replace)$/

const SEARCHERS: ReadonlyMap<string, Searcher> = new Map([
  ...alike('grep egrep fgrep zgrep ack ag', { gives: EXPRESSION, valued: GREP_VALUED }),
  ...alike('rg', { gives: EXPRESSION, valued: RG_VALUED }),
  ...alike('sed', { gives: EXPRESSION, valued: NONE }),
  ...alike('awk gawk mawk', { gives: /^-f|^--file\b/, valued: /^-[Fv]$/ }),
  ...alike('jq yq', { gives: /^-[a-zA-Z]*f$|^--from-file\b/, valued: NONE }),
])

function alike(names: string, searcher: Searcher): Array<[string, Searcher]> {
  return names.split(' ').map((name) => [name, searcher])
}

/** Their last operand is where to. */
const MOVERS = set('cp mv install ln')
const WRITERS = set('tee rm unlink truncate shred touch')
const IN_PLACE = /^-(?:[a-zA-Z]*i|-in-place)/

/** @returns the files, by the words that name them */
export function filesNamed({ commands, redirects }: Unfolded): FilesNamed {
  const uses: FileUse[] = [...redirects]
  const directories: Word[] = []
  for (const { name, words } of commands) {
    uses.push(...usesOf(name, words.slice(1)))
    if (name === 'cd' || name === 'pushd') directories.push(...operands(words.slice(1)).slice(0, 1))
  }
  return { uses, directories }
}

function usesOf(name: string, args: Word[]): FileUse[] {
  const files = operands(args)
  const each = (use: FileUse['use'], words = files): FileUse[] => words.map((word) => ({ use, word }))
  if (READERS.has(name)) return each('read')
  if (WRITERS.has(name)) return each('write')
  if (name === 'dd') return args.flatMap(operandOfDd)
  if (MOVERS.has(name)) {
    const sources = files.length > 1 ? files.slice(0, -1) : files
    return [...each('read', sources), ...each('write', name === 'mv' ? files : files.slice(-1))]
  }
  const searcher = SEARCHERS.get(name)
  if (searcher === undefined) return []
  const given = operands(args, searcher.valued)
  const searched = has(args, searcher.gives) ? given : given.slice(1)
  const isWrite = name === 'sed' && has(args, IN_PLACE)
  return [...each('read', [...searched, ...patternFiles(args)]), ...(isWrite ? each('write', searched) : [])]
}

type Literal = Extract<Word, { kind: 'literal' }>

function isLiteral(word: Word): word is Literal {
  return word.kind === 'literal'
}

function has(args: Word[], option: RegExp): boolean {
  return args.some((word) => isLiteral(word) && option.test(word.value))
}

/** What is neither an option nor the value of one of the `valued` options. A computed word counts as one operand. */
function operands(args: Word[], valued = NONE): Word[] {
  const end = args.findIndex((word) => isLiteral(word) && word.value === '--')
  return args.filter((word, i) => {
    if (end >= 0 && i >= end) return i > end
    const before = args[i - 1]
    if (before !== undefined && isLiteral(before) && valued.test(before.value)) return false
    return !(word.kind === 'computed' ? word.head : word.value).startsWith('-')
  })
}

/** The patterns of a search may stand in a file: `--file=patterns`. */
function patternFiles(args: Word[]): Word[] {
  return args.filter(isLiteral).flatMap(({ value }) => {
    const file = /^--(?:from-)?file=(.+)$/s.exec(value)?.[1]
    return file === undefined ? [] : [literal(file)]
  })
}

function operandOfDd(word: Word): FileUse[] {
  const [, key, value = ''] = isLiteral(word) ? (/^(if|of)=(.+)$/s.exec(word.value) ?? []) : []
  if (key === undefined) return []
  return [{ use: key === 'if' ? 'read' : 'write', word: literal(value) }]
}
