/** What the input box looks like: the text with its cursor, and the list of candidates. Pure. */
import type { Colors } from 'picocolors/types.js'
import { clip, displayWidth, padTo, printableLine } from '../services/text.ts'
import type { Candidate, Wanted } from './completion.ts'
import type { Editor } from './editor.ts'
import type { View } from './panel.ts'
import { layOut } from './wrap.ts'

/** Candidates for what is being typed. */
export interface Menu {
  wanted: Wanted
  candidates: Candidate[]
  selected: number
}

/** With fewer rows on the screen the box has no rules: the conversation needs them. */
const RULED_ROWS = 8

/** @param screenRows rows of the whole screen: the box takes half of it at most */
export function boxOf(editor: Editor, columns: number, screenRows: number, colors: Colors): View {
  const most = Math.max(1, Math.floor(screenRows / 2))
  const { rows, cursor } = layOut(editor.text, editor.cursor, Math.max(1, columns - 3))
  const from = Math.max(0, Math.min(cursor.row - most + 1, rows.length - most))
  const shown = rows.slice(from, from + most)
  const rule = screenRows < RULED_ROWS ? [] : [colors.dim('─'.repeat(Math.max(1, columns - 1)))]
  const lines = shown.map(
    (row, i) => `${i === 0 && from === 0 ? colors.cyan('>') : from > 0 && i === 0 ? '…' : ' '} ${row}`,
  )
  return {
    lines: [...rule, ...lines, ...rule],
    cursor: { row: rule.length + cursor.row - from, column: 2 + cursor.column },
  }
}

/** @param most candidates that are shown; a row says where there are more */
export function menuLines({ candidates, selected }: Menu, columns: number, most: number, colors: Colors): string[] {
  const from = Math.max(0, Math.min(selected - most + 1, candidates.length - most))
  const shown = candidates.slice(from, from + most)
  const width = Math.min(30, Math.max(...shown.map(({ text }) => displayWidth(printableLine(text)))))
  const more = candidates.length - shown.length
  const rest = more > 0 && most > 1 ? [colors.dim(clip(`  … ${more} more (Up, Down)`, columns - 1))] : []
  const rows = shown.map(({ text, about }, i) => {
    const name = printableLine(text)
    const line = about === '' ? name : `${padTo(name, width)}  ${printableLine(about)}`
    const cut = clip(line, columns - 3)
    return from + i === selected ? `${colors.cyan('›')} ${colors.bold(cut)}` : `  ${colors.dim(cut)}`
  })
  return [...rows, ...rest]
}
