/** The live region: the block under way, what is queued, the panel and the status line, put together and kept up. */
import type { Colors } from 'picocolors/types.js'
import { clip, printableLine } from '../services/text.ts'
import type { Answer } from './answer.ts'
import type { Panel } from './panel.ts'
import type { Frame, Screen } from './screen.ts'

export interface LiveOptions {
  screen: Screen
  colors: Colors
  answer: () => Answer
  panel: () => Panel
  queue: () => readonly string[]
  status: (columns: number) => string
  /** A short word to the person, until the next key. */
  hint: () => string
}

/** The last of what waits is seen. */
const QUEUED_ROWS = 3

export interface Live {
  /** What it is to show now. */
  frame(): Frame
  /** Draws at once: after a key. */
  now(): void
  /** Draws soon: text streams faster than anyone reads. */
  soon(): void
  /** Draws nothing from now on until `now`. */
  stop(): void
}

/** Two draws for progress are at least so far apart, in milliseconds, and as far as what they cost allows. */
const FRAME_MS = 33
const SHARE = 4

export function createLive(options: LiveOptions): Live {
  const { screen, colors } = options
  let timer: NodeJS.Timeout | null = null
  let pause = FRAME_MS
  let tail: { version: number; columns: number; lines: string[] } = { version: -1, columns: 0, lines: [] }

  const tailLines = (columns: number): string[] => {
    const answer = options.answer()
    const version = answer.version()
    if (tail.version !== version || tail.columns !== columns)
      tail = { version, columns, lines: answer.tail(columns - 1) }
    return tail.lines
  }
  const frame = (isProgress: boolean): Frame => {
    const [columns, rows] = [screen.columns(), screen.rows()]
    const queued = options
      .queue()
      .slice(-QUEUED_ROWS)
      .map((text) => colors.dim(clip(`queued: ${printableLine(text.slice(0, 4 * columns))}`, columns - 1)))
    const { lines, cursor } = options.panel().view(columns, rows - queued.length)
    const hint = options.hint()
    const below = [options.status(columns - 1), ...(hint === '' ? [] : [colors.dim(clip(hint, columns - 1))])]
    // A key does not wait for the answer to be laid out.
    const all = isProgress || timer === null ? tailLines(columns) : tail.lines
    const room = Math.max(0, rows - lines.length - queued.length - below.length - 2)
    const shown = room === 0 ? [] : all.slice(-room)
    const above = [...shown, ...queued]
    return {
      lines: [...above, ...lines, ...below],
      cursor: { row: above.length + cursor.row, column: cursor.column },
    }
  }
  const draw = (isProgress: boolean): void => screen.draw(frame(isProgress))
  return {
    frame: () => frame(true),
    now: () => draw(false),
    soon() {
      timer ??= setTimeout(() => {
        const began = performance.now()
        draw(true)
        timer = null
        pause = Math.max(FRAME_MS, SHARE * (performance.now() - began))
      }, pause)
    },
    stop() {
      if (timer !== null) clearTimeout(timer)
      timer = null
    },
  }
}
