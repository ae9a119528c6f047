/**
 * The question whether a call may run: what it would do, in full, a part at a time where it is long; below it the
 * choices, by key, or by arrows and Enter; a no may say why.
 */
import type { Colors } from 'picocolors/types.js'
import { rulesInShort, sessionScope } from '../services/approvalWords.ts'
import type { Answer, Question } from '../services/ports.ts'
import { clip, printable, printableLine } from '../services/text.ts'
import { type Editor, EMPTY_EDITOR, edit, insert } from './editor.ts'
import type { Input } from './keys.ts'
import type { Panel, View } from './panel.ts'
import type { Block } from './screen.ts'
import { layOut, wrap } from './wrap.ts'

interface Choice {
  keys: string[]
  words: string
  answer: Answer | 'why'
}

export interface QuestionPanelOptions {
  question: Question
  /** What the call would do; its lines may be more than the screen has. */
  content: Block
  colors: Colors
  done: (answer: Answer) => void
}

/** Rows of the screen that are not the panel's: the status, a hint, and one that stays free. */
const OTHER_ROWS = 3
/** With fewer rows for it the panel has no title. */
const TITLED_ROWS = 9
/** Where it does not fit, so much of what the call would do is seen before the choices get more than a row. */
const LEAST_CONTENT = 4

export function createQuestionPanel({ question, content, colors, done }: QuestionPanelOptions): Panel {
  const choices = choicesOf(question)
  let selected = 0
  let why: Editor | null = null
  /** The first row of the content that is shown, and how many were shown last. */
  let from = 0
  let page = 1

  const choose = (choice: Choice | undefined): void => {
    if (choice === undefined) return
    if (choice.answer === 'why') why = EMPTY_EDITOR
    else done(choice.answer)
  }
  const takeWhy = (editor: Editor, input: Input): boolean => {
    if (input.kind !== 'key') {
      why = insert(editor, printable(input.text))
      return true
    }
    if (input.name === 'escape') why = null
    else if (input.name === 'enter' && (input.shift || input.alt)) why = insert(editor, '\n')
    else if (input.name === 'enter') done({ kind: 'no', why: editor.text.trim() || null })
    else why = edit(editor, input) ?? editor
    return true
  }
  const scroll = (input: Input): boolean => {
    const name = input.kind === 'text' ? input.text.replace(/^ +$/, ' ') : input.kind === 'key' ? input.name : ''
    if (name === 'pagedown' || name === ' ') from += page
    else if (name === 'pageup' || name === 'b') from = Math.max(0, from - page)
    else if (name === 'home') from = 0
    else if (name === 'end') from = Number.MAX_SAFE_INTEGER
    else return false
    return true
  }
  const choiceRows = (columns: number): string[][] =>
    choices.map(({ keys, words }, i) => {
      const mark = i === selected ? colors.yellow('›') : ' '
      const shown = i === selected ? colors.bold(words) : words
      const row = `${mark} ${colors.yellow(keys[0] ?? '')} ${colors.dim(`(${keys[1]})`)} ${shown}`
      return wrap(row, columns - 1, '        ')
    })
  /** @returns the part of the content that has room, and where there is more, a row that says so */
  const contentRows = (all: string[], room: number, columns: number): string[] => {
    if (all.length <= room) return all
    const lines = all[0] === '' ? all.slice(1) : all
    page = Math.max(1, room - 1)
    from = Math.min(from, lines.length - page)
    const to = from + page
    const keys = [...(to < lines.length ? ['PgDn, Space: on'] : []), ...(from > 0 ? ['PgUp, b: back'] : [])]
    const more = clip(`── rows ${from + 1} to ${to} of ${lines.length} · ${keys.join(' · ')}`, columns - 1)
    return [...lines.slice(from, to), colors.yellow(more)]
  }
  const asking = (columns: number, rows: number): View => {
    const room = Math.max(2, rows - OTHER_ROWS)
    const rule = colors.yellow('─'.repeat(Math.max(1, columns - 1)))
    const isTitled = room >= TITLED_ROWS
    const all = choiceRows(columns)
    const lines = content(columns - 1)
    const left = isTitled ? room - 2 : room
    const count = all.flat().length
    const choiceRoom = Math.max(1, Math.min(count, left - Math.min(lines.length, LEAST_CONTENT)))
    const more = choiceRoom < count ? ' (Up, Down: other answers)' : ''
    const title = clip(`May ${printableLine(question.tool)} do this?${more}`, columns - 1)
    const head = isTitled ? [rule, colors.bold(title)] : []
    const top = contentRows(lines, Math.max(1, left - choiceRoom), columns)
    const before = all.slice(0, selected).flat().length
    const firstChoice = Math.max(0, Math.min(before, count - choiceRoom))
    const shown = all.flat().slice(firstChoice, firstChoice + choiceRoom)
    return {
      lines: [...top, ...head, ...shown],
      cursor: { row: top.length + head.length + before - firstChoice, column: 0 },
    }
  }
  const saying = (editor: Editor, columns: number): View => {
    const rule = colors.yellow('─'.repeat(Math.max(1, columns - 1)))
    const laid = layOut(editor.text, editor.cursor, Math.max(1, columns - 3))
    const lines = laid.rows.map((row, i) => `${colors.yellow(i === 0 ? '>' : ' ')} ${row}`)
    const title = colors.bold(clip('No. What is it to do instead?', columns - 1))
    const hint = colors.dim(clip('Enter sends it to the model · Esc goes back', columns - 1))
    return {
      lines: [rule, title, ...lines, hint],
      cursor: { row: 2 + laid.cursor.row, column: 2 + laid.cursor.column },
    }
  }
  return {
    take(input) {
      if (why !== null) return takeWhy(why, input)
      if (input.kind === 'paste') return false
      if (scroll(input)) return true
      if (input.kind === 'text') {
        // One key: what comes in one piece was typed for something else.
        choose(choices.find(({ keys }) => keys.includes(input.text.toLowerCase())))
        return true
      }
      const step = input.name === 'up' ? -1 : input.name === 'down' || input.name === 'tab' ? 1 : 0
      selected = (selected + step + choices.length) % choices.length
      if (input.name === 'enter') choose(choices[selected])
      else if (input.name === 'escape') done({ kind: 'no', why: null })
      else if (step === 0) return false
      return true
    },
    view(columns, rows) {
      if (why === null) return asking(columns, rows)
      const view = saying(why, columns)
      const room = Math.max(1, rows - OTHER_ROWS - view.lines.length)
      const top = contentRows(content(columns - 1), room, columns)
      return { lines: [...top, ...view.lines], cursor: { ...view.cursor, row: top.length + view.cursor.row } }
    },
  }
}

function choicesOf(question: Question): Choice[] {
  const rules = rulesInShort(question.rules)
  return [
    { keys: ['1', 'o', 'y'], words: 'once', answer: { kind: 'once' } },
    { keys: ['2', 's'], words: `for this session: ${sessionScope(question)}`, answer: { kind: 'session' } },
    ...(question.rules.length === 0
      ? []
      : [{ keys: ['3', 'a'], words: `always: adds ${rules} to your settings`, answer: { kind: 'always' } as const }]),
    { keys: ['4', 'n'], words: 'no', answer: { kind: 'no', why: null } },
    { keys: ['5', 'r'], words: 'no, and say what to do instead', answer: 'why' },
  ]
}
