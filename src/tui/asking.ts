/** Asks the person at the terminal whether a call may run: what it would do stands above the choices, in full. */
import type { Colors } from 'picocolors/types.js'
import { rulesInShort, sessionScope } from '../services/approvalWords.ts'
import type { Answer, AskPerson, Question } from '../services/ports.ts'
import { printableLine } from '../services/text.ts'
import { revealed } from './blocks.ts'
import type { EditorPanel } from './editorPanel.ts'
import { changeOf } from './edits.ts'
import type { Panel } from './panel.ts'
import { createQuestionPanel } from './questionPanel.ts'
import type { Block } from './screen.ts'
import type { Stage } from './stage.ts'
import type { Renderers } from './transcript.ts'
import { wrap } from './wrap.ts'

export interface AskingOptions {
  stage: () => Stage
  /** What is being typed when the question comes. */
  draft: Pick<EditorPanel, 'text' | 'take'>
  colors: Colors
  cwd: () => string
  /** Loads what shows changes: a question without it could not be judged. */
  renderers: () => Promise<Renderers>
  /** Told of the calls whose change was shown with the question. */
  wasShown(call_id: string): void
  /** Told of the calls that the person said no to. */
  wasRefused(call_id: string): void
  /** Told when a question is open, and when none is. */
  onAsking(isAsking: boolean): void
}

/** Keys that were typed for the editor must not answer: the choices wait until the typing has paused so long. */
const ARMED_AFTER_MS = 700

/** Rows of what was asked about that stay on the screen after the answer. */
const KEPT_ROWS = 200

export function createAsking(options: AskingOptions): AskPerson {
  const { colors } = options
  return async (question, signal) => {
    const { renderDiff } = await options.renderers()
    signal.throwIfAborted()
    return new Promise<Answer>((resolve, reject) => {
      const stage = options.stage()
      const content = contentOf(question, options, renderDiff)
      const end = (finish: () => void): void => {
        signal.removeEventListener('abort', onAbort)
        close()
        stage.print((columns) => shortened(content(columns), colors))
        options.onAsking(false)
        finish()
      }
      const onAbort = (): void => end(() => reject(signal.reason))
      const done = (answer: Answer): void =>
        end(() => {
          if (answer.kind === 'no' && question.call !== undefined) options.wasRefused(question.call.id)
          stage.tell(colors.dim(`  → ${wordsOf(answer, question)}`))
          resolve(answer)
        })
      const panel = createQuestionPanel({ question, content, colors, done })
      options.onAsking(true)
      const close = stage.open(armed(panel, stage, options.draft))
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }
}

function armed(panel: Panel, stage: Stage, draft: AskingOptions['draft']): Panel {
  let isArmed = stage.quiet() > ARMED_AFTER_MS
  let last = performance.now()
  return {
    view: panel.view,
    take(input) {
      const pause = performance.now() - last
      last = performance.now()
      isArmed ||= pause > ARMED_AFTER_MS
      if (isArmed) return panel.take(input)
      // The rest of a sentence is not lost; where none was begun a hasty answer is no beginning of one.
      if (draft.text() !== '' && (input.kind !== 'key' || input.name === 'backspace')) draft.take(input)
      stage.hint('You were typing when the question came: pause a moment, then choose.')
      return true
    },
  }
}

function shortened(lines: string[], colors: Colors): string[] {
  const left = lines.length - KEPT_ROWS
  return left <= 1 ? lines : [...lines.slice(0, KEPT_ROWS), colors.dim(`    … ${left} more rows`)]
}

/** All of what the call would do: what cannot be seen cannot be judged. */
function contentOf(question: Question, options: AskingOptions, renderDiff: Renderers['renderDiff']): Block {
  const { colors, cwd, wasShown } = options
  const { tool, subject, reason, call } = question
  const change = call === undefined ? null : changeOf(call, cwd())
  if (change !== null && call !== undefined) wasShown(call.id)
  const head = `${colors.yellow('?')} ${colors.bold(printableLine(tool))} asks`
  let last: { columns: number; lines: string[] } | null = null
  return (columns) => {
    if (last?.columns === columns) return last.lines
    // A row that goes on in the next one can be told from a line that ends: what follows stands further in.
    const text = revealed(subject)
      .split('\n')
      .flatMap((line) => wrap(`    ${line}`, columns, '      '))
    const diff =
      change === null
        ? []
        : renderDiff(change, columns - 4, colors, Number.POSITIVE_INFINITY).lines.map((line) => `    ${line}`)
    const because = wrap(`  ${colors.dim(printableLine(reason))}`, columns, '  ')
    last = { columns, lines: ['', ...wrap(head, columns), ...text, ...diff, ...because] }
    return last.lines
  }
}

function wordsOf(answer: Answer, question: Question): string {
  switch (answer.kind) {
    case 'once':
      return 'allowed once'
    case 'session':
      return `allowed for this session: ${sessionScope(question)}`
    case 'always':
      return `always allowed: ${rulesInShort(question.rules)}`
    case 'no':
      return answer.why === null ? 'refused' : `refused: ${printableLine(answer.why)}`
  }
}
