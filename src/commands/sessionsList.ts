/** The list of sessions, for people and for scripts. */
import { count } from '../machines/words.ts'
import type { SessionHead } from '../services/ports.ts'
import { clip, displayWidth, padTo, printableLine } from '../services/text.ts'
import type { View } from './view.ts'

/** @returns what a script sees of a session (contract.md, section 6). */
export function publicHead(head: SessionHead): object {
  const { session_id, cwd, created, used, model, turns, first_prompt, parent } = head
  const fields = { session_id, cwd, created, used, model, turns, first_prompt }
  return parent === undefined ? fields : { ...fields, parent }
}

interface Row {
  /** Id with the indentation of a subagent. */
  id: string
  used: string
  turns: string
  model: string
  prompt: string
  /** A session of its own, not a subagent's. */
  top: boolean
}

const HEADING: Row = { id: 'SESSION', used: 'USED', turns: 'TURNS', model: 'MODEL', prompt: 'PROMPT', top: true }
const MODEL_COLUMNS = 17

/**
 * Prints the sessions as a table no wider than the view, subagents indented under their parent, in the order given.
 * @param grouped a heading for each directory, for lists of more than one
 */
export function listSessions(heads: SessionHead[], grouped: boolean, view: View): void {
  const length = prefixLength(heads.map((head) => head.session_id))
  const trees = inTrees(heads)
  const rows = trees.map(({ head, depth }) => toRow(head, depth, length, view.now))
  const widths = columnWidths([HEADING, ...rows])
  const { bold, dim } = view.colors
  view.print(dim(layOut(HEADING, widths, view.columns)))
  let directory: string | null = null
  rows.forEach((row, index) => {
    const cwd = trees[index]?.directory ?? ''
    if (grouped && cwd !== directory) {
      view.print('')
      view.print(bold(clip(printableLine(cwd), view.columns)))
      directory = cwd
    }
    const line = layOut(row, widths, view.columns)
    view.print(row.top ? line : dim(line))
  })
}

interface Placed {
  head: SessionHead
  depth: number
  /** The directory of the tree's root. */
  directory: string
}

/** Sorts directories by their newest session, in each the sessions as given, each followed by its subagents'. */
function inTrees(heads: SessionHead[]): Placed[] {
  const known = new Set(heads.map((head) => head.session_id))
  const isChild = (head: SessionHead) => head.parent !== undefined && known.has(head.parent)
  const children = groupBy(heads.filter(isChild), (head) => head.parent ?? '')
  const place = (head: SessionHead, depth: number, directory: string): Placed[] => [
    { head, depth, directory },
    ...(children.get(head.session_id) ?? []).flatMap((child) => place(child, depth + 1, directory)),
  ]
  const directories = groupBy(
    heads.filter((head) => !isChild(head)),
    (head) => head.cwd,
  )
  return [...directories].flatMap(([cwd, roots]) => roots.flatMap((head) => place(head, 0, cwd)))
}

/** @returns the items by their key, keys and items in the order given. */
function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** @returns how many characters tell all ids apart, at least 8. */
function prefixLength(ids: string[]): number {
  let length = 8
  while (length < 64 && new Set(ids.map((id) => id.slice(0, length))).size < ids.length) length++
  return length
}

function toRow(head: SessionHead, depth: number, length: number, now: number): Row {
  return {
    id: '  '.repeat(depth) + printableLine(head.session_id.slice(0, length)),
    used: age(head.used, now),
    turns: String(head.turns),
    model: clip(printableLine(head.model), MODEL_COLUMNS),
    prompt: printableLine(head.first_prompt.slice(0, 1_000)),
    top: depth === 0,
  }
}

function columnWidths(rows: Row[]): Record<'id' | 'used' | 'turns' | 'model', number> {
  const widest = (key: 'id' | 'used' | 'turns' | 'model') => Math.max(...rows.map((row) => displayWidth(row[key])))
  return { id: widest('id'), used: widest('used'), turns: widest('turns'), model: widest('model') }
}

function layOut(row: Row, widths: ReturnType<typeof columnWidths>, columns: number): string {
  const cells = [
    padTo(row.id, widths.id),
    padTo(row.used, widths.used),
    row.turns.padStart(widths.turns),
    padTo(row.model, widths.model),
    row.prompt,
  ]
  return clip(cells.join('  '), columns).trimEnd()
}

const AGES: Array<[unit: Intl.RelativeTimeFormatUnit, seconds: number]> = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/**
 * @param time ISO 8601
 * @param now milliseconds since 1970
 * @returns how long ago that is, in words: `just now`, `5 minutes ago`, `2 weeks ago`; the time as it is where it is none
 */
export function age(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1_000
  if (Number.isNaN(seconds)) return printableLine(time)
  for (const [unit, size] of AGES) {
    const units = Math.floor(seconds / size)
    if (units >= 1) return `${count(units, unit)} ago`
  }
  return 'just now'
}
