/** Why a text was not found in a file, as far as one can see: what helps the model to get it right the next time. */
import { firstUnits } from '../../../machines/cut.ts'

/** Lines of a file that are looked at, so that a hint never takes long. */
const MOST_LINES = 200_000
const SHOWN_LENGTH = 200

/**
 * @param content the file's text
 * @param old the text that is not in it
 * @returns one sentence
 */
export function whyNoMatch(content: string, old: string): string {
  const lines = content.split(/\r\n|\n|\r/, MOST_LINES)
  const wanted = old.split(/\r\n|\n|\r/)
  return (
    differsInEndings(content, old) ??
    carriesLineNumbers(content, old) ??
    isWrittenOtherwise(content, old) ??
    differsInSpace(lines, wanted) ??
    goesOnDifferently(lines, wanted) ??
    'Read the file again and copy the text as it stands there.'
  )
}

function differsInEndings(content: string, old: string): string | null {
  const plain = old.replace(/\r\n?/g, '\n')
  if (plain === old || !content.replace(/\r\n?/g, '\n').includes(plain)) return null
  return 'It differs only in its line endings: send it with \\n alone, which matches any line ending.'
}

/** Of `read_file` and `cat -n`, or of `grep` with or without the file's name. */
const NUMBERED = [/^ *\d+(?:\t|→|\| ?)/gm, /^(?:[^\s:]+[:-])?\d+[:-]/gm]

function carriesLineNumbers(content: string, old: string): string | null {
  const text = content.replace(/\r\n?/g, '\n')
  const isThere = NUMBERED.some((prefix) => {
    const bare = old.replace(prefix, '')
    return bare !== old && bare.trim() !== '' && text.includes(bare)
  })
  return isThere ? 'Leave out the line numbers that read_file and grep put before the lines.' : null
}

const UNESCAPED: Record<string, string> = { n: '\n', t: '\t', r: '\r' }
const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'" }

/** Models escape what they send once too often, or not often enough for a file that holds escapes. */
function isWrittenOtherwise(content: string, old: string): string | null {
  const text = content.replace(/\r\n?/g, '\n')
  const isThere = (other: string): boolean => other !== old && other.trim() !== '' && text.includes(other)
  if (isThere(old.replace(/\\([ntr"'`\\])/g, (_, c: string) => UNESCAPED[c] ?? c)))
    return 'It is there without the backslashes: send line breaks, tabs and quotes as they are, not as \\n, \\t or \\".'
  if (isThere(old.replaceAll('\n', '\\n').replaceAll('\t', '\\t')))
    return 'It is there with a backslash and a letter (\\n, \\t) where it has a line break or a tab.'
  if (isThere(old.replace(/&(?:lt|gt|amp|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)))
    return 'It is there with plain characters where it has HTML entities (&lt; and the like).'
  return null
}

function differsInSpace(lines: string[], wanted: string[]): string | null {
  const folded = withoutEmptyEnds(wanted.map(fold))
  if (folded.length === 0) return null
  const text = lines.map(fold)
  const at = text.findIndex((_, index) => standsAt(text, index, folded))
  if (at === -1) return null
  return `Line ${at + 1} differs from it only in white space or look-alike characters: ${quoted(lines[at] ?? '')}.`
}

/** Whether lines stand in a text from that line on; the first may begin and the last may end within a line. */
function standsAt(text: string[], index: number, wanted: string[]): boolean {
  const last = wanted.length - 1
  return wanted.every((line, offset) => {
    const there = text[index + offset]
    if (there === undefined) return false
    if (last === 0) return there.includes(line)
    if (offset === 0) return there.endsWith(line)
    return offset === last ? there.startsWith(line) : there === line
  })
}

function goesOnDifferently(lines: string[], wanted: string[]): string | null {
  const [first = '', ...more] = withoutEmptyEnds(wanted)
  if (first.trim() === '' || more.length === 0) return null
  const at = lines.findIndex((line) => line.endsWith(first))
  if (at === -1) return null
  const offset = more.findIndex((line, index) => lines[at + 1 + index] !== line)
  if (offset === -1) return null
  const there = lines[at + 1 + offset]
  const found = there === undefined ? 'the file ends before it' : `line ${at + 2 + offset} is ${quoted(there)}`
  return `Line ${at + 1} begins like it, but ${found}, where it has ${quoted(more[offset] ?? '')}.`
}

/** The same for lines that look the same: white space, Unicode forms, quotes and dashes made equal. */
function fold(line: string): string {
  return line
    .normalize('NFKC')
    .replace(/[\u2018\u2019\u201b]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u200b\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

function withoutEmptyEnds(lines: string[]): string[] {
  const first = lines.findIndex((line) => line !== '')
  const last = lines.findLastIndex((line) => line !== '')
  return first === -1 ? [] : lines.slice(first, last + 1)
}

function quoted(line: string): string {
  return JSON.stringify(line.length > SHOWN_LENGTH ? `${firstUnits(line, SHOWN_LENGTH)}…` : line)
}
