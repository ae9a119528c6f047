/** The question whether a call may run: the choices, by key, or by arrows and Enter; a no may say why. */
import type { Colors } from 'picocolors/types.js'
import { sessionScope } from '../services/approvalWords.ts'
import type { Answer, Question } from '../services/ports.ts'
import { printable, printableLine } from '../services/text.ts'
import { type Editor, EMPTY_EDITOR, edit, insert } from './editor.ts'
import type { Input } from './keys.ts'
import type { Panel } from './panel.ts'
import { layOut, wrap } from './wrap.ts'

interface Choice {
  keys: string[]
  words: string
  answer: Answer | 'why'
}

export function createQuestionPanel(question: Question, colors: Colors, done: (answer: Answer) => void): Panel {
  const rules = question.rules.map(printableLine).join(', ')
  const choices: Choice[] = [
    { keys: ['1', 'o', 'y'], words: 'once', answer: { kind: 'once' } },
    { keys: ['2', 's'], words: `for this session: ${sessionScope(question)}`, answer: { kind: 'session' } },
    ...(rules === ''
      ? []
      : [{ keys: ['3', 'a'], words: `always: adds ${rules} to your settings`, answer: { kind: 'always' } as const }]),
    { keys: ['4', 'n'], words: 'no', answer: { kind: 'no', why: null } },
    { keys: ['5', 'r'], words: 'no, and say what to do instead', answer: 'why' },
  ]
  let selected = 0
  let why: Editor | null = null

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
  return {
    take(input) {
      if (why !== null) return takeWhy(why, input)
      if (input.kind === 'paste') return false
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
    view(columns) {
      const rule = colors.yellow('─'.repeat(Math.max(1, columns - 1)))
      if (why !== null) {
        const laid = layOut(why.text, why.cursor, Math.max(1, columns - 3))
        const lines = laid.rows.map((row, i) => `${colors.yellow(i === 0 ? '>' : ' ')} ${row}`)
        const title = colors.bold('No. What is it to do instead?')
        const hint = colors.dim('Enter sends it to the model · Esc goes back')
        return {
          lines: [rule, title, ...lines, hint],
          cursor: { row: 2 + laid.cursor.row, column: 2 + laid.cursor.column },
        }
      }
      const rows = choices.flatMap(({ keys, words }, i) => {
        const mark = i === selected ? colors.yellow('›') : ' '
        const shown = i === selected ? colors.bold(words) : words
        return wrap(
          `${mark} ${colors.yellow(keys[0] ?? '')} ${colors.dim(`(${keys[1]})`)} ${shown}`,
          columns - 1,
          '        ',
        )
      })
      const title = colors.bold(`May ${printableLine(question.tool)} do this?`)
      return { lines: [rule, title, ...rows], cursor: { row: 2 + selected, column: 0 } }
    },
  }
}
