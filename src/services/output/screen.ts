/**
 * The one place that knows what a terminal shows: the answer on stdout, lines on stderr and below them the status
 * line, which share the screen where both are terminals.
 */
import { displayWidth } from '../text.ts'
import type { Sink } from './sink.ts'

export interface Screen {
  /** Printable text of the answer, as it comes. */
  answer(text: string): void
  /** Ends the answer's line where it is not ended. */
  endAnswerLine(): void
  /** One or more whole lines on stderr. */
  line(text: string): void
  /**
   * Draws the status line anew, `null` takes it away. While the answer stands in the middle of a line, it is drawn
   * only after a silence, below: the model may be writing a long call, and nothing would move.
   * @param text fits the terminal's width
   * @param paint adds colour, no width
   */
  status(text: string | null, paint?: (text: string) => string): void
}

/** How long the answer must be silent before its line is ended for the status line, in ms. */
const SILENCE_MS = { afterSentence: 1_000, inSentence: 5_000 }
const SENTENCE_END = /[.:!?…。：！？][)\]"'`*_»”]*\s*$/

/**
 * @param shared stdout and stderr are both terminals: the status line has to give way to the answer
 * @param columns the terminal's width now, in columns
 * @param now milliseconds since some fixed time
 */
export function createScreen(
  stdout: Sink,
  stderr: Sink,
  shared: boolean,
  columns: () => number,
  now: () => number,
): Screen {
  let midLine = false
  /** The answer's line was ended for the status line: a line end that comes next has been written. */
  let endedEarly = false
  let last = { text: '', at: 0 }
  /** Columns the status line takes now. */
  let drawn = 0

  // Spaces, not an erase sequence: no control sequence but colours is ever written (NO_COLOR, plain terminals).
  const erase = () => {
    if (drawn > 0) stderr.write(`\r${' '.repeat(Math.max(0, Math.min(drawn, columns() - 1)))}\r`)
    drawn = 0
  }
  const answer = (text: string) => {
    const rest = endedEarly ? text.replace(/^\n/, '') : text
    if (text !== '') endedEarly = false
    if (rest === '') return
    if (shared) erase()
    stdout.write(rest)
    midLine = !rest.endsWith('\n')
    last = { text: (last.text + rest).slice(-20), at: now() }
  }
  const endAnswerLine = () => {
    if (midLine) answer('\n')
    endedEarly = false
  }
  const isSilent = () => {
    const limit = SENTENCE_END.test(last.text) ? SILENCE_MS.afterSentence : SILENCE_MS.inSentence
    return now() - last.at >= limit
  }
  return {
    answer,
    endAnswerLine,
    line(text) {
      if (shared) endAnswerLine()
      erase()
      stderr.write(`${text}\n`)
    },
    status(text, paint = (plain) => plain) {
      if (text === null) return erase()
      if (shared && midLine) {
        if (!isSilent()) return
        endAnswerLine()
        endedEarly = true
      }
      const width = displayWidth(text)
      stderr.write(`\r${paint(text)}${' '.repeat(Math.max(0, Math.min(drawn, columns() - 1) - width))}`)
      drawn = width
    },
  }
}
