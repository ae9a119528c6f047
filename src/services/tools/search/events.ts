/** What ripgrep tells of a search with `--json`: one record a line. */

/** `lines` are those of one match, as they may be shown; no number where the line is too long to be read whole. */
export type Event =
  | { kind: 'match'; path: string; lines: Array<{ number: number | null; text: string }> }
  | { kind: 'end'; path: string; isBinary: boolean }
  | { kind: 'other' }

/** Text, or base64 where it is not UTF-8. */
type Data = { text: string } | { bytes: string }

interface MatchRecord {
  type: 'match'
  data: { path: Data; lines: Data; line_number: number; submatches: Array<{ start: number }> }
}

interface EndRecord {
  type: 'end'
  data: { path: Data; binary_offset: number | null }
}

/** @param kind whether `record` is whole, or only the beginning of one that is too long */
export function parseEvent(record: Buffer, kind: 'whole' | 'beginning'): Event {
  if (kind === 'beginning') return parseBeginning(record)
  const parsed = JSON.parse(record.toString('utf8')) as MatchRecord | EndRecord | { type: 'begin' | 'summary' }
  switch (parsed.type) {
    case 'match':
      return { kind: 'match', path: textOf(parsed.data.path), lines: linesOf(parsed) }
    case 'end':
      return { kind: 'end', path: textOf(parsed.data.path), isBinary: parsed.data.binary_offset !== null }
    default:
      return { kind: 'other' }
  }
}

function parseBeginning(record: Buffer): Event {
  const path = /^\{"type":"match","data":\{"path":\{"text":("(?:[^"\\]|\\.)*")/.exec(
    record.toString('utf8', 0, 64 * 1024),
  )
  if (path?.[1] === undefined) return { kind: 'other' }
  return {
    kind: 'match',
    path: JSON.parse(path[1]),
    lines: [{ number: null, text: 'a line that is too long to be shown matches' }],
  }
}

function linesOf({ data }: MatchRecord): Array<{ number: number; text: string }> {
  const text = textOf(data.lines)
  const start = Buffer.from(text).toString('utf8', 0, data.submatches[0]?.start ?? 0).length
  return text
    .replace(/\r?\n$/, '')
    .split('\n')
    .map((line, n) => ({ number: data.line_number + n, text: shownLine(line, n === 0 ? start : 0) }))
}

function textOf(data: Data): string {
  return 'text' in data ? data.text : Buffer.from(data.bytes, 'base64').toString('utf8')
}

/** Characters of a line that are shown, and how many of them before its match. */
const LONGEST_LINE = 500
const BEFORE_MATCH = 100

/** One line, cut around its match where it is long; control characters are written as escapes. */
function shownLine(line: string, matchAt: number): string {
  const text = line.replace(/\r$/, '')
  if (text.length <= LONGEST_LINE) return escapeControls(text)
  const from = edge(text, Math.max(0, Math.min(matchAt - BEFORE_MATCH, text.length - LONGEST_LINE)))
  const to = edge(text, from + LONGEST_LINE)
  const before = from > 0 ? `[… ${from} characters] ` : ''
  const after = to < text.length ? ` [… ${text.length - to} characters]` : ''
  return before + escapeControls(text.slice(from, to)) + after
}

/** An index that does not split a character. */
function edge(text: string, index: number): number {
  return /[\udc00-\udfff]/.test(text[index] ?? '') && /[\ud800-\udbff]/.test(text[index - 1] ?? '') ? index - 1 : index
}

function escapeControls(text: string): string {
  return text.replace(
    /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g,
    (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}
