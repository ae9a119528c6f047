/**
 * An answer while it streams: Markdown whose finished blocks are printed once, so that only the block under way is
 * laid out again, however long the answer is.
 */
import type { Colors } from 'picocolors/types.js'
import { createPrinter } from '../services/text.ts'
import type { Block } from './screen.ts'
import { wrap } from './wrap.ts'

type Markdown = typeof import('./markdown.ts')

export interface Answer {
  /** Text as it comes from the model. @returns blocks that are finished by now */
  push(text: string): Block[]
  /** The reply is whole. @returns what is left */
  end(): Block[]
  /** What came of this reply, as it came. */
  received(): string
  /** Whether blocks of this reply were given out. */
  isShown(): boolean
  /** Lays out the block under way. */
  tail(columns: number): string[]
  /** Changes with each new text: what was laid out before is old then. */
  version(): number
}

/** A block under way that is longer is given out as it is: laying it out again and again would take too long. */
const LONGEST_TAIL = 24_000
/** A line of so many characters is no text that anyone reads: its beginning is shown, and its length. */
const LONGEST_LINE = 8_000

/** @param markdown the renderer, undefined until it is loaded: text waits for it */
export function createAnswer(colors: Colors, markdown: () => Markdown | undefined): Answer {
  const printer = createPrinter()
  let received = ''
  let tail = ''
  let shown = false
  let version = 0
  let cut = 0

  const blockOf = (raw: string): Block => {
    const first = !shown
    shown = true
    let last: { columns: number; lines: string[] } | null = null
    return (columns) => {
      if (last?.columns !== columns) last = { columns, lines: [...(first ? [] : ['']), ...layOut(raw, columns)] }
      return last.lines
    }
  }
  const layOut = (raw: string, columns: number): string[] => {
    const renderer = markdown()
    if (renderer === undefined) return raw.split('\n').flatMap((line) => wrap(line, columns))
    return renderer.renderBlocks(renderer.blocksOf(raw), columns, colors)
  }
  const settle = (isEnd: boolean): Block[] => {
    const renderer = markdown()
    if (tail.trim() === '') {
      if (isEnd) tail = ''
      return []
    }
    if (isEnd || tail.length > LONGEST_TAIL) {
      const raw = tail
      tail = ''
      return [blockOf(raw)]
    }
    if (renderer === undefined) return []
    const tokens = renderer.blocksOf(tail)
    const last = tokens.findLastIndex((token) => token.type !== 'space')
    if (last <= 0) return []
    const done = tokens.slice(0, last)
    tail = tail.slice(done.reduce((sum, token) => sum + token.raw.length, 0))
    const raw = done.map((token) => token.raw).join('')
    return raw.trim() === '' ? [] : [blockOf(raw)]
  }
  /** Cuts lines without end; counts over the pieces in which a line comes. */
  let column = 0
  const bounded = (text: string): string =>
    text
      .split('\n')
      .map((line, i) => {
        let note = ''
        if (i > 0) {
          note = endCut()
          column = 0
        }
        const room = Math.max(0, LONGEST_LINE - column)
        column += line.length
        cut += Math.max(0, line.length - room)
        return note + (i > 0 ? '\n' : '') + line.slice(0, room)
      })
      .join('')
  const endCut = (): string => {
    const note = cut > 0 ? ` … (${cut} more characters in this line)` : ''
    cut = 0
    return note
  }
  return {
    push(text) {
      received += text
      version++
      const added = bounded(printer.push(text))
      tail += added
      return added.includes('\n') || tail.length > LONGEST_TAIL ? settle(false) : []
    },
    end() {
      version++
      tail += bounded(printer.end()) + endCut()
      const blocks = settle(true)
      received = ''
      shown = false
      column = 0
      return blocks
    },
    received: () => received,
    isShown: () => shown || tail.trim() !== '',
    tail: (columns) => (tail.trim() === '' ? [] : [...(shown ? [''] : []), ...layOut(tail, columns)]),
    version: () => version,
  }
}
