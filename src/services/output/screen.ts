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
   * Draws the status line anew, `null` takes it away. Not drawn while the answer stands in the middle of a line.
   * @param text fits the terminal's width
   * @param paint adds colour, no width
   */
  status(text: string | null, paint?: (text: string) => string): void
}

/**
 * @param shared stdout and stderr are both terminals: the status line has to give way to the answer
 * @param columns the terminal's width now, in columns
 */
export function createScreen(stdout: Sink, stderr: Sink, shared: boolean, columns: () => number): Screen {
  let midLine = false
  /** Columns the status line takes now. */
  let drawn = 0

  // Spaces, not an erase sequence: no control sequence but colours is ever written (NO_COLOR, plain terminals).
  const erase = () => {
    if (drawn > 0) stderr.write(`\r${' '.repeat(Math.max(0, Math.min(drawn, columns() - 1)))}\r`)
    drawn = 0
  }
  const answer = (text: string) => {
    if (text === '') return
    if (shared) erase()
    stdout.write(text)
    midLine = !text.endsWith('\n')
  }
  const endAnswerLine = () => {
    if (midLine) answer('\n')
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
      if (shared && midLine) return
      const width = displayWidth(text)
      stderr.write(`\r${paint(text)}${' '.repeat(Math.max(0, Math.min(drawn, columns() - 1) - width))}`)
      drawn = Math.max(width, 0)
    },
  }
}
