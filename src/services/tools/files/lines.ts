/** A window of lines out of a stream of bytes, in memory bounded by the window. */
import { isUtf8 } from 'node:buffer'
import { firstUnits } from '../../../machines/cut.ts'

/** UTF-16 units after which a line is cut. */
export const LINE_LENGTH = 2000
/** Enough bytes of a line to have LINE_LENGTH units of it whatever it holds (3 bytes a unit at most), and some. */
const LINE_BYTES = 3 * LINE_LENGTH + 4

const LF = 0x0a
const CR = 0x0d

export interface WindowOptions {
  /** First line wanted, counted from 1. */
  first: number
  /** Most lines wanted. */
  count: number
  /** What stands before a line, by its number. */
  prefix(line: number): string
  /** Most UTF-16 units wanted in all, prefixes too; the line that would go beyond is left out (the first one never). */
  units: number
}

export interface LineWindow {
  lines: string[]
  /** Numbers of lines that were cut, counted from 1. */
  cut: number[]
  /** Whether the last line of the window ends with a line ending. */
  ended: boolean
  /** Lines seen so far; all lines once the stream is at its end. */
  total: number
  /** Whether every line shown whole is valid UTF-8. */
  valid: boolean
}

/** Takes the pieces of a file in order. A line ends with LF, its CR not shown; with CR in a file that has no LF. */
export class LineReader {
  readonly window: LineWindow = { lines: [], cut: [], ended: true, total: 0, valid: true }
  /** True once nothing more can come into the window. */
  full = false
  private units = 0
  private readonly lineEnd: number
  private line = 1
  private kept: Buffer[] = []
  private keptBytes = 0
  private lineBytes = 0

  /** @param head the first piece of the file, which tells its line ending; it is not taken yet */
  constructor(
    head: Buffer,
    private readonly options: WindowOptions,
  ) {
    // A CR at the very end of the piece may belong to a CRLF.
    this.lineEnd = head.includes(LF) || !head.subarray(0, -1).includes(CR) ? LF : CR
  }

  push(piece: Buffer): void {
    let at = 0
    while (at < piece.length) {
      const end = piece.indexOf(this.lineEnd, at)
      this.keep(piece.subarray(at, end === -1 ? piece.length : end))
      if (end === -1) return
      this.finishLine(true)
      at = end + 1
    }
  }

  /** The stream is at its end. */
  end(): void {
    if (this.lineBytes > 0) this.finishLine(false)
  }

  private get wanted(): boolean {
    return !this.full && this.line >= this.options.first
  }

  private keep(part: Buffer): void {
    this.lineBytes += part.length
    const room = LINE_BYTES - this.keptBytes
    if (!this.wanted || room <= 0 || part.length === 0) return
    // A copy: the piece's memory must not be held for the sake of a line.
    const copy = Buffer.from(part.subarray(0, room))
    this.kept.push(copy)
    this.keptBytes += copy.length
  }

  private finishLine(ended: boolean): void {
    if (this.wanted) this.show(ended)
    this.window.total = this.line
    this.line += 1
    this.kept = []
    this.keptBytes = 0
    this.lineBytes = 0
  }

  private show(ended: boolean): void {
    const bytes = Buffer.concat(this.kept)
    const whole = bytes.length === this.lineBytes
    const carriage = ended && whole && bytes.at(-1) === CR
    // A file is judged binary by its beginning; a NUL further on must not reach a request.
    const text = (carriage ? bytes.subarray(0, -1) : bytes).toString('utf8').replaceAll('\0', '\u2400')
    const cut = firstUnits(text, LINE_LENGTH)
    const { window, options } = this
    const shown = options.prefix(this.line) + cut
    if (window.lines.length > 0 && this.units + shown.length > options.units) {
      this.full = true
      return
    }
    if (whole && !isUtf8(bytes)) window.valid = false
    if (!whole || cut.length < text.length) window.cut.push(this.line)
    window.lines.push(shown)
    window.ended = ended
    this.units += shown.length + 1
    if (window.lines.length >= options.count) this.full = true
  }
}
