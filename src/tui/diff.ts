/** Edits as coloured differences. The texts are as they came; lines are made printable here. */
import { structuredPatch } from 'diff'
import type { Colors } from 'picocolors/types.js'
import { printable } from '../services/text.ts'
import { wrap } from './wrap.ts'

export interface Change {
  before: string
  after: string
}

/** Rows of a difference that are shown; more are folded. */
export const FOLDED_ROWS = 40
/** Beyond this many characters no difference is worked out. */
const LONGEST = 400_000
const CONTEXT = 3

/** @returns the lines of the difference with line numbers, and how many were added and removed */
export function renderDiff(
  { before, after }: Change,
  columns: number,
  colors: Colors,
  most = FOLDED_ROWS,
): { lines: string[]; added: number; removed: number } {
  if (before.length + after.length > LONGEST)
    return { lines: [colors.dim('(too long to be compared)')], added: 0, removed: 0 }
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: CONTEXT, timeout: 500 }) ?? { hunks: [] }
  const lines: string[] = []
  let [added, removed] = [0, 0]
  const last = hunks.at(-1)
  const digits = String((last?.newStart ?? 1) + (last?.newLines ?? 1)).length
  hunks.forEach((hunk, n) => {
    if (n > 0) lines.push(colors.dim(`${' '.repeat(digits)} ⋮`))
    let [old, now] = [hunk.oldStart, hunk.newStart]
    for (const line of hunk.lines) {
      const mark = line[0]
      if (mark === '\\') continue
      const number = mark === '-' ? old++ : now++
      if (mark === ' ') old++
      if (mark === '+') added++
      if (mark === '-') removed++
      const text = `${mark === '-' ? '-' : mark === '+' ? '+' : ' '} ${printable(line.slice(1)).slice(0, 2_000)}`
      const paint = mark === '-' ? colors.red : mark === '+' ? colors.green : colors.dim
      const rows = wrap(text, columns - digits - 1, '  ')
      rows.forEach((row, i) => {
        lines.push(`${colors.dim((i === 0 ? String(number) : '').padStart(digits))} ${paint(row)}`)
      })
    }
  })
  if (lines.length === 0) lines.push(colors.dim('(no change)'))
  const over = lines.length - most
  const shown = over > 1 ? [...lines.slice(0, most), colors.dim(`… ${over} more rows`)] : lines
  return { lines: shown, added, removed }
}
