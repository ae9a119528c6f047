/**
 * Which files a command line names to programs that read or change them. A rule for `Read` or `Edit` that forbids holds
 * for these too: who denies `Read(.env)` means `cat .env` as well.
 */
import type { Unfolded } from './forbid.ts'
import type { Word } from './words.ts'

export interface FileUse {
  use: 'read' | 'write'
  word: Word
}

export interface FilesNamed {
  uses: FileUse[]
  /** Where `cd` may have led by then. */
  directories: string[]
}

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '))

const READERS = set(
  'cat tac head tail less more nl wc sort uniq cut paste od xxd hexdump strings base64 base32 diff cmp comm fold fmt pr rev column expand bat batcat view source .',
)
/** Their first operand is a pattern or a program, unless an option gives it. */
const SEARCHERS = set('grep egrep fgrep zgrep rg ag ack sed awk gawk mawk jq yq')
const GIVES_PATTERN = /^-(?:[a-zA-Z]*[ef]$|[ef]|-(?:regexp|file|expression|from-file)\b)/
/** Their last operand is where to. */
const MOVERS = set('cp mv install ln')
const WRITERS = set('tee rm unlink truncate shred touch')
const IN_PLACE = /^-(?:[a-zA-Z]*i|-in-place)/

/** @returns the files, as far as they are written out: what is computed when the command runs is not known */
export function filesNamed({ commands, redirects }: Unfolded): FilesNamed {
  const uses: FileUse[] = [...redirects]
  const directories: string[] = []
  for (const { name, words } of commands) {
    uses.push(...usesOf(name, words.slice(1)))
    const [to] = name === 'cd' || name === 'pushd' ? operands(words.slice(1)) : []
    if (to?.kind === 'literal') directories.push(to.value)
  }
  return { uses: uses.filter(({ word }) => word.kind !== 'computed'), directories }
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
  if (!SEARCHERS.has(name)) return []
  const searched = has(args, GIVES_PATTERN) ? files : files.slice(1)
  const isWrite = name === 'sed' && has(args, IN_PLACE)
  return [...each('read', searched), ...(isWrite ? each('write', searched) : [])]
}

function has(args: Word[], option: RegExp): boolean {
  return args.some((word) => word.kind === 'literal' && option.test(word.value))
}

/** What is no option, and the values of options that carry one. */
function operands(args: Word[]): Word[] {
  const end = args.findIndex((word) => word.kind === 'literal' && word.value === '--')
  return args.flatMap((word, i): Word[] => {
    if (word.kind === 'computed' || i === end) return []
    if (!word.value.startsWith('-') || (end >= 0 && i > end)) return [word]
    const value = /^--[\w-]+=(.+)$/s.exec(word.value)?.[1]
    return value === undefined || word.kind !== 'literal' ? [] : [{ kind: 'literal', value }]
  })
}

function operandOfDd(word: Word): FileUse[] {
  const [, key, value = ''] = word.kind === 'literal' ? (/^(if|of)=(.+)$/s.exec(word.value) ?? []) : []
  if (key === undefined) return []
  return [{ use: key === 'if' ? 'read' : 'write', word: { kind: 'literal', value } }]
}
