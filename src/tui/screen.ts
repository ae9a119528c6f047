/**
 * What stands on the terminal: finished lines, which the terminal keeps in its own scrollback and which are never
 * touched again, and below them the live region (running calls, status line, editor), redrawn line by line where it
 * changed. Every redraw is one write between the marks for a synchronised update, so nothing flickers.
 */

import { printableLine } from '../services/text.ts'
import { widthOf } from './wrap.ts'

/** What the live region shows; each line fits the width. `cursor` counts from its first line. */
export interface Frame {
  lines: string[]
  cursor: { row: number; column: number }
}

/** A finished thing, laid out for a width: it is laid out anew where the width changes while it is still in sight. */
export type Block = (columns: number) => string[]

export interface Screen {
  columns(): number
  rows(): number
  /** Puts finished blocks above the live region. */
  print(...blocks: Block[]): void
  /** Draws the live region as it is to be now. */
  draw(frame: Frame): void
  /** Takes the live region away and leaves the cursor where it stood: for a program that writes itself, or the end. */
  clear(): void
  /** Empties the screen; what stood there goes up into the scrollback. */
  wipe(): void
  /** To be called when the terminal's size has changed. */
  resized(): void
  /** Writes the whole screen again, whatever stands there. */
  redraw(): void
}

export interface ScreenOptions {
  write(text: string): void
  columns: () => number
  rows: () => number
  /**
   * The live region as it is to be below what is printed now. Drawn as it was, with the block under way that has just
   * become a finished one, it would push as many rows off the screen and leave them empty with the next draw.
   */
  live?: () => Frame
}

const BEGIN = '\x1b[?2026h'
const END = '\x1b[?2026l'
/** Without automatic wrapping a line whose width was measured wrong stays one row. */
const NO_WRAP = '\x1b[?7l'
const WRAP = '\x1b[?7h'
const TO_LINE_END = '\x1b[K'
const LINE = '\x1b[2K'
const TO_SCREEN_END = '\x1b[J'

/**
 * What must not stand in a line, whoever made it: control characters and line ends, and every escape sequence that is
 * no colour. Text from outside is made printable where it comes in; this is the last place before the terminal.
 */
const FOREIGN = /(\x1b\[[\d;]*m)|[\0-\x1f\x7f-\x9f]/g

/** Rows of finished lines that are kept to be laid out anew. */
const KEPT_BLOCKS = 400

export function createScreen({ write, columns, rows, live }: ScreenOptions): Screen {
  let frame: Frame = { lines: [], cursor: { row: 0, column: 0 } }
  /** What is drawn now, and in which of its rows the cursor stands. */
  let drawn: string[] = []
  let at = 0
  let width = columns()
  let height = rows()
  let kept: Block[] = []
  let lastLine = ''

  const toTop = (): string => `\r${at > 0 ? `\x1b[${at}A` : ''}`
  const liveText = (fitted: Frame, before: string[]): string => {
    let out = ''
    fitted.lines.forEach((line, i) => {
      if (i > 0) out += '\r\n'
      if (before[i] !== line) out += harmless(line) + TO_LINE_END
    })
    if (before.length === 0) out += TO_SCREEN_END
    else if (fitted.lines.length < before.length) {
      // From the end of the last line: what follows it on its own row has been erased.
      out += `\r\n${TO_SCREEN_END}\x1b[1A`
    }
    const up = Math.max(0, fitted.lines.length - 1 - fitted.cursor.row)
    return `${out}${up > 0 ? `\x1b[${up}A` : ''}\r${fitted.cursor.column > 0 ? `\x1b[${fitted.cursor.column}C` : ''}`
  }
  /** Between what is printed and the live region there is one blank line at most. */
  const frameThatFits = (): Frame => {
    const { lines, cursor } = frame
    const isDouble = lastLine === '' && lines[0] === '' && lines.length > 1
    const shown = isDouble ? { lines: lines.slice(1), cursor: { ...cursor, row: Math.max(0, cursor.row - 1) } } : frame
    return within(shown, rows())
  }
  const show = (prefix: string, before: string[]): void => {
    const fitted = frameThatFits()
    write(`${BEGIN}${prefix}${NO_WRAP}${liveText(fitted, before)}${WRAP}${END}`)
    drawn = fitted.lines
    at = fitted.cursor.row
  }
  const draw = (next: Frame): void => {
    frame = next
    const { lines, cursor } = frameThatFits()
    const same = lines.length === drawn.length && lines.every((line, i) => line === drawn[i])
    if (same && cursor.row === at && drawn.length > 0) {
      write(`\r${cursor.column > 0 ? `\x1b[${cursor.column}C` : ''}`)
      return
    }
    show(toTop(), drawn)
  }
  /** @param blocks what may stand on the screen; what of it has no room there goes to the scrollback */
  const rewrite = (top: string, blocks: Block[], most: number): void => {
    const lines = blocks.flatMap((block) => block(usable(width)))
    const again = most === 0 ? [] : spaced(lines, null).slice(-most)
    // Each row is cleared first: one that the terminal had broken would stay joined to the next when it is copied.
    show(`${top}${again.map((line) => `${LINE}${harmless(line)}\r\n`).join('')}`, [])
  }
  return {
    columns,
    rows,
    print(...blocks) {
      kept = [...kept, ...blocks].slice(-KEPT_BLOCKS)
      const lines = spaced(
        blocks.flatMap((block) => block(usable(columns()))),
        lastLine,
      )
      lastLine = lines.at(-1) ?? lastLine
      if (lines.length === 0) return
      frame = live?.() ?? frame
      const text = lines.map((line) => `${harmless(line)}${TO_LINE_END}\r\n`).join('')
      show(`${toTop()}${text}`, [])
    },
    draw,
    clear() {
      write(`${toTop()}${TO_SCREEN_END}`)
      frame = { lines: [], cursor: { row: 0, column: 0 } }
      drawn = []
      at = 0
    },
    wipe() {
      write(`${toTop()}${TO_SCREEN_END}${'\n'.repeat(Math.max(0, rows() - 1))}\x1b[H${TO_SCREEN_END}`)
      kept = []
      lastLine = ''
      drawn = []
      at = 0
    },
    resized() {
      const before = { width, height }
      width = columns()
      height = rows()
      if (width === before.width) return show(toTop(), [])
      // The terminal may have broken the lines anew. So the screen is written again, from its top or from where our
      // first line may stand by now; what is above it, in the scrollback, stays as it is. Nothing that was on the
      // screen may be lost, so rather some lines stand in the scrollback twice.
      const old = kept.map((block) => block(usable(before.width)))
      const ours = old.flat().concat(drawn.slice(0, at + 1))
      const reflowed = ours.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / width)), 0)
      const top = reflowed >= height ? '\x1b[H' : `\r${reflowed > 1 ? `\x1b[${reflowed - 1}A` : ''}`
      let from = kept.length
      while (from > 0 && spaced(old.slice(from).flat(), null).length <= Math.max(height, before.height)) from -= 1
      rewrite(top, kept.slice(from), Number.POSITIVE_INFINITY)
    },
    redraw: () => rewrite('\x1b[H', kept, Math.max(0, rows() - Math.max(1, frame.lines.length))),
  }
}

/** A frame higher than the terminal keeps its end, and the cursor's row. */
function within({ lines, cursor }: Frame, rows: number): Frame {
  const room = Math.max(1, rows - 1)
  if (lines.length <= room) return { lines: lines.length === 0 ? [''] : lines, cursor }
  const from = Math.min(lines.length - room, cursor.row)
  return {
    lines: lines.slice(from, from + room),
    cursor: { row: cursor.row - from, column: cursor.column },
  }
}

/** @returns the lines with one blank line where there would be several: each block has those around it that it wants */
export function spaced(lines: string[], before: string | null): string[] {
  return lines.filter((line, i) => line !== '' || (i === 0 ? before : lines[i - 1]) !== '')
}

/** The last column stays free: some terminals wrap as soon as it is written, others erase it with the line's rest. */
function usable(columns: number): number {
  return Math.max(1, columns - 1)
}

/** @returns the line with what is foreign to it made visible */
function harmless(line: string): string {
  return line.replace(FOREIGN, (found, colour) => (colour === undefined ? printableLine(found) || ' ' : found))
}
