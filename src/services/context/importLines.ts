/** Finds the lines of an instruction file that import another one. Pure. */

export type Piece =
  | { kind: 'text'; text: string }
  /** `line` counts from 1; `text` is the line with its end as it stands in the file. */
  | { kind: 'import'; target: string; line: number; text: string; end: string }

/**
 * Splits a text at its import lines. Such a line is exactly `@<path>`; the path is the rest of the line, blanks
 * inside it included, white space at its end not. Lines in fenced code are text; the fences are CommonMark's:
 * at most three spaces before them, three or more of one character, closed by at least as many of the same with
 * nothing behind them, or by the file's end.
 */
export function importPieces(text: string): Piece[] {
  const pieces: Piece[] = []
  let fence: string | null = null
  let plain = ''
  let number = 0
  for (const [whole, line = '', end = ''] of text.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g)) {
    if (whole === '') continue
    number += 1
    fence = nextFence(fence, line)
    const target = fence === null ? /^@(\S.*?)\s*$/.exec(line)?.[1] : undefined
    if (target === undefined) {
      plain += whole
      continue
    }
    if (plain !== '') pieces.push({ kind: 'text', text: plain })
    plain = ''
    pieces.push({ kind: 'import', target, line: number, text: whole, end })
  }
  if (plain !== '') pieces.push({ kind: 'text', text: plain })
  return pieces
}

/** @returns the fence that is open after the line, null where none is. */
function nextFence(open: string | null, line: string): string | null {
  const [, mark = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
  if (mark === '') return open
  if (open !== null) return mark[0] === open[0] && mark.length >= open.length && rest.trim() === '' ? null : open
  // Backticks with a backtick behind them are inline code, not a fence.
  return mark.startsWith('`') && rest.includes('`') ? null : mark
}
