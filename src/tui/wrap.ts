/** Lines that fit a terminal: text with colours broken at spaces, and the editor's rows with its cursor. Pure. */
import { firstUnits } from '../machines/cut.ts'
import { displayWidth } from '../services/text.ts'

/** The only escape sequences that are ever in a line here: colours, which we put there. */
const COLOUR = /\x1b\[[\d;]*m/

/** What a tab is shown as, wherever it stands: its stops depend on what stands before it on the screen. */
const TAB = '    '

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** UTF-16 units that are segmented at once: what the segmenter takes grows with the square of the text. */
const SEGMENTED = 1_000

/** The graphemes of a text of any length; one that is longer than all that is segmented at once may come in parts. */
export function* graphemes(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const part = firstUnits(text.slice(at, at + SEGMENTED + 1), SEGMENTED)
    const isLast = at + part.length === text.length
    const end = at + part.length
    for (const { segment } of segmenter.segment(part)) {
      // The last one may go on in the next part.
      if (!isLast && segment.length < part.length && at + segment.length === end) break
      yield segment
      at += segment.length
    }
  }
}

/** @returns the columns that one grapheme takes: joined emoji and flags take two, as terminals of today show them */
function graphemeWidth(grapheme: string): number {
  return grapheme.length === 1 ? displayWidth(grapheme) : Math.min(2, displayWidth(grapheme))
}

/** @returns the columns of a printable text in which there may be colours */
export function widthOf(line: string): number {
  const uncoloured = line.includes('\x1b') ? line.replace(new RegExp(COLOUR, 'g'), '') : line
  const plain = uncoloured.replaceAll('\t', TAB)
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length
  let width = 0
  for (const grapheme of graphemes(plain)) width += graphemeWidth(grapheme)
  return width
}

interface Piece {
  text: string
  width: number
}

/** Pieces that are not broken: colours, runs of spaces, words, single wide characters. */
function* pieces(line: string): Generator<Piece> {
  const pattern = /\x1b\[[\d;]*m|[ \t]+|[\x21-\x7e]+|[^\x1b \t\x21-\x7e]+/g
  for (const [part] of line.matchAll(pattern)) {
    if (part.startsWith('\x1b')) yield { text: part, width: 0 }
    else if (/^[\t\x20-\x7e]/.test(part)) {
      const text = part.replaceAll('\t', TAB)
      yield { text, width: text.length }
    } else for (const text of graphemes(part)) yield { text, width: graphemeWidth(text) }
  }
}

/**
 * Breaks one line (no line ends in it) into rows of at most `columns` columns, at spaces where there are some.
 * Colours that are on at a break are ended there and begun again in the next row.
 * @param indent put before each row but the first
 */
export function wrap(line: string, columns: number, indent = ''): string[] {
  const room = Math.max(4, columns)
  if (line.length <= room && /^[\x20-\x7e]*$/.test(line)) return [line]
  const rows: string[] = []
  const inner = widthOf(indent)
  let row = ''
  let width = 0
  let colours: string[] = []
  /** Where the row may be broken: what is before it, and the width of that. */
  let space: { row: string; at: number; width: number; colours: string[] } | null = null

  const end = (): void => {
    if (space !== null && space.at > 0) {
      const rest = row.slice(space.at)
      const restWidth = width - space.width
      rows.push(close(space.row, space.colours))
      row = indent + space.colours.join('') + rest
      width = inner + restWidth
    } else {
      rows.push(close(row, colours))
      row = indent + colours.join('')
      width = inner
    }
    space = null
  }
  for (const piece of pieces(line)) {
    if (piece.width === 0 && piece.text.startsWith('\x1b')) {
      row += piece.text
      colours = afterCode(colours, piece.text)
      continue
    }
    const isSpace = /^ +$/.test(piece.text)
    if (width + piece.width > room && isSpace) {
      // Spaces at a break vanish with it.
      space = { row, at: row.length, width, colours }
      end()
      continue
    }
    if (width + piece.width > room && width > inner) end()
    if (width + piece.width > room && /^[!-~]{2}/.test(piece.text)) {
      // A word of ASCII: a column a character.
      for (let at = 0; at < piece.text.length; ) {
        if (width + 1 > room) end()
        const part = piece.text.slice(at, at + Math.max(1, room - width))
        row += part
        width += part.length
        at += part.length
      }
      continue
    }
    if (isSpace) {
      const before = { row, width, colours }
      row += piece.text
      width += piece.width
      if (before.width > inner) space = { ...before, at: row.length, width }
      continue
    }
    row += piece.text
    width += piece.width
    // After a wide character a line may be broken anywhere.
    if (piece.text.length > 1 || piece.text <= '\x7f') continue
    if (piece.width === 2) space = { row, at: row.length, width, colours }
  }
  if (row !== '' || rows.length === 0) rows.push(close(row, colours))
  return rows
}

/** What each code that ends something ends: 39 the colours, 22 bold and dim, and so on. */
const ENDS: Record<string, RegExp> = {
  22: /^[12]$/,
  23: /^3$/,
  24: /^4$/,
  27: /^7$/,
  29: /^9$/,
  39: /^(?:3[0-8]|9[0-7])/,
  49: /^(?:4[0-8]|10[0-7])/,
}

/** @returns the sequences that are on after one more */
function afterCode(colours: string[], sequence: string): string[] {
  const code = sequence.slice(2, -1)
  if (code === '' || code === '0') return []
  const ends = ENDS[code]
  return ends === undefined ? [...colours, sequence] : colours.filter((one) => !ends.test(one.slice(2, -1)))
}

function close(row: string, colours: string[]): string {
  return colours.length === 0 ? row : `${row}\x1b[0m`
}

const ASCII = /^[\x20-\x7e]*$/

export interface Laid {
  rows: string[]
  cursor: { row: number; column: number }
}

/** The editor's text in rows of `columns` columns, with the cursor's place. Breaks by columns, not at spaces. */
export function layOut(text: string, cursor: number, columns: number): Laid {
  const rows: string[] = []
  let place = { row: 0, column: 0 }
  let offset = 0
  for (const line of text.split('\n')) {
    let row = ''
    let width = 0
    if (cursor === offset) place = { row: rows.length, column: 0 }
    let index = 0
    if (ASCII.test(line) && columns > 0) {
      // A megabyte that came without the marks of a paste is laid out at each key: rows are cut, not counted.
      const at = cursor - offset
      if (at > 0 && at <= line.length)
        place = { row: rows.length + Math.ceil(at / columns) - 1, column: ((at - 1) % columns) + 1 }
      for (; index + columns < line.length; index += columns) rows.push(line.slice(index, index + columns))
      row = line.slice(index)
    }
    for (const segment of graphemes(row === '' ? line : '')) {
      const one = segment === '\t' ? TAB.length : graphemeWidth(segment)
      if (width + one > columns) {
        rows.push(row)
        row = ''
        width = 0
      }
      row += segment === '\t' ? TAB : segment
      width += one
      index += segment.length
      if (cursor === offset + index) place = { row: rows.length, column: width }
    }
    if (place.row === rows.length && place.column >= columns && columns > 0) {
      // The cursor stands after a full row: at the beginning of the next.
      rows.push(row)
      row = ''
      place = { row: rows.length, column: 0 }
    }
    rows.push(row)
    offset += line.length + 1
  }
  return { rows, cursor: place }
}
