/** Edits as coloured differences. The texts are as they came; lines are made printable here. */
import { structuredPatch } from 'diff'
import type { Colors } from 'picocolors/types.js'
import { revealed } from './blocks.ts'
import { type Change, CONTEXT } from './edits.ts'
import { wrap } from './wrap.ts'

/** Rows of a difference that are shown; more are folded. */
const FOLDED_ROWS = 40
/** Beyond this many characters no difference is worked out, nor where it takes longer than this, in milliseconds. */
const LONGEST = 400_000
const PATIENCE_MS = 500
/** Characters of a line that are shown where rows are folded too. */
const LONGEST_LINE = 2_000

/**
 * @param most rows that are shown, and with all of them, lines in full
 * @returns the lines of the difference with line numbers, and how many were added and removed
 */
export function renderDiff(
  { before, after, line: first = 1 }: Change,
  columns: number,
  colors: Colors,
  most = FOLDED_ROWS,
): { lines: string[]; added: number; removed: number } {
  const patch = compared(before, after)
  const hunks = patch ?? compared('', after, Number.POSITIVE_INFINITY) ?? []
  const lines: string[] = patch === null ? [colors.dim('(too long to be compared; what the file would hold:)')] : []
  const longest = Number.isFinite(most) ? LONGEST_LINE : Number.POSITIVE_INFINITY
  let [added, removed] = [0, 0]
  const last = hunks.at(-1)
  const end = Math.max(1, ...(last ? [last.oldStart + last.oldLines, last.newStart + last.newLines] : [])) - 1
  const digits = String(first - 1 + end).length
  hunks.forEach((hunk, n) => {
    if (n > 0) lines.push(colors.dim(`${' '.repeat(digits)} ⋮`))
    let [old, now] = [first - 1 + hunk.oldStart, first - 1 + hunk.newStart]
    for (const line of hunk.lines) {
      const mark = line[0]
      if (mark === '\\') continue
      const number = mark === '-' ? old++ : now++
      if (mark === ' ') old++
      if (mark === '+') added++
      if (mark === '-') removed++
      const text = `${mark === '-' ? '-' : mark === '+' ? '+' : ' '} ${cut(revealed(line.slice(1)), longest)}`
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

type Hunks = ReturnType<typeof structuredPatch>['hunks']

/** @returns null where it would take too long */
function compared(before: string, after: string, longest = LONGEST): Hunks | null {
  if (before.length + after.length > longest) return null
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT, timeout: PATIENCE_MS })
  return patch?.hunks ?? null
}

function cut(line: string, longest: number): string {
  return line.length <= longest ? line : `${line.slice(0, longest)} … (${line.length - longest} more characters)`
}
