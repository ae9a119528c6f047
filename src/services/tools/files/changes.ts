/** Replacing text in a file's bytes so that every byte outside the replaced places stays as it is. */

/** What `edit_file` does to a content. */
export type Edited =
  | { kind: 'edited'; content: Buffer; lines: number[] }
  | { kind: 'noMatch' }
  /** Several places though one was meant; overlapping ones count, since each could be the one. */
  | { kind: 'ambiguous'; lines: number[] }
  | { kind: 'unchanged' }

export interface Replacement {
  old: string
  new: string
  all: boolean
}

/** Where one place was meant, places are counted up to this many. */
export const MOST_COUNTED = 1000

const LF = 0x0a
const CR = 0x0d

/**
 * Replaces the one place (or with `all` every place, from the start, without overlaps) where `old` stands.
 *
 * A text without CR speaks of lines, not of their endings: its line ends match LF, CRLF and a lone CR alike, and those
 * of `new` become what the replaced or else the neighbouring lines have. A CR in one of the two means endings: `new`
 * is then taken byte for byte, and `old` where it has it.
 * @param content UTF-8
 * @param replacement `old` is not empty; both texts are well-formed
 */
export function replaceText(content: Buffer, replacement: Replacement): Edited {
  const source = new Source(content, !replacement.old.includes('\r'))
  const old = Buffer.from(replacement.old)
  const next = Buffer.from(replacement.new)
  const places = source.find(old, replacement.all ? 'apart' : 'overlapping')
  if (places.length === 0) return { kind: 'noMatch' }
  if (places.length > 1 && !replacement.all) return { kind: 'ambiguous', lines: source.lineNumbers(places) }
  const { start, oldEnd, newEnd } = difference(old, next)
  const speaksOfLines = !replacement.old.includes('\r') && !replacement.new.includes('\r')
  const parts: Buffer[] = []
  let done = 0
  for (const place of places) {
    const from = source.origin(place + start)
    const to = source.origin(place + oldEnd)
    const middle = next.subarray(start, newEnd)
    parts.push(content.subarray(done, from), speaksOfLines ? source.withEndings(middle, from, to) : middle)
    done = to
  }
  parts.push(content.subarray(done))
  const edited = Buffer.concat(parts)
  return edited.equals(content)
    ? { kind: 'unchanged' }
    : { kind: 'edited', content: edited, lines: source.lineNumbers(places) }
}

/** The part in which two texts differ: after what they begin with, before what they end with, in common. */
function difference(a: Buffer, b: Buffer): { start: number; oldEnd: number; newEnd: number } {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return { start, oldEnd: a.length - end, newEnd: b.length - end }
}

/** A content to search in: as it is, or (where it has CR and the text searched for has none) with LF for each ending. */
class Source {
  private readonly view: Buffer
  /** Places in the view of those LF that stand for CRLF, ascending. */
  private readonly shortened: number[] = []

  constructor(
    private readonly content: Buffer,
    anyEnding: boolean,
  ) {
    this.view = anyEnding && content.includes(CR) ? this.withLineFeeds() : content
  }

  private withLineFeeds(): Buffer {
    const view = Buffer.from(this.content)
    let length = 0
    for (let at = 0; at < this.content.length; at++) {
      const byte = this.content[at] ?? 0
      if (byte === CR && this.content[at + 1] === LF) {
        this.shortened.push(length)
        at++
      }
      view[length++] = byte === CR ? LF : byte
    }
    return view.subarray(0, length)
  }

  find(text: Buffer, mode: 'overlapping' | 'apart'): number[] {
    const places: number[] = []
    const step = mode === 'apart' ? text.length : 1
    const most = mode === 'apart' ? Number.POSITIVE_INFINITY : MOST_COUNTED
    for (let at = this.view.indexOf(text); at !== -1; at = this.view.indexOf(text, at + step)) {
      places.push(at)
      if (places.length === most) break
    }
    return places
  }

  /** @returns the place in the content of a place in the view: before a line ending, never inside it */
  origin(place: number): number {
    let [low, high] = [0, this.shortened.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.shortened[middle] ?? 0) < place) low = middle + 1
      else high = middle
    }
    return place + low
  }

  /** @returns the numbers of the lines that places in the view are on, counted from 1 as read_file counts them */
  lineNumbers(places: number[]): number[] {
    const lineEnd = this.content.includes(LF) ? LF : CR
    let line = 1
    let next = this.content.indexOf(lineEnd)
    return places.map((place) => {
      const origin = this.origin(place)
      while (next !== -1 && next < origin) {
        line++
        next = this.content.indexOf(lineEnd, next + 1)
      }
      return line
    })
  }

  /** Gives the line ends of a text that replaces the content from `from` to `to` the endings that belong there. */
  withEndings(text: Buffer, from: number, to: number): Buffer {
    if (!text.includes(LF) || !this.content.includes(CR)) return text
    const replaced = endingsIn(this.content.subarray(from, to))
    const lines = text.toString('latin1').split('\n')
    const oneByOne = replaced.length === lines.length - 1
    const usual = replaced[0] ?? this.endingNear(from)
    const ended = lines.map((line, index) => {
      if (index === lines.length - 1) return line
      return line + (oneByOne ? replaced[index] : usual)
    })
    return Buffer.from(ended.join(''), 'latin1')
  }

  /** The ending of the line before, of the first line after where there is none. */
  private endingNear(place: number): string {
    const before = Math.max(this.content.lastIndexOf(LF, place - 1), this.content.lastIndexOf(CR, place - 1))
    if (place > 0 && before !== -1)
      return this.content[before] === CR ? '\r' : this.content[before - 1] === CR ? '\r\n' : '\n'
    return endingsIn(this.content.subarray(place))[0] ?? '\n'
  }
}

function endingsIn(text: Buffer): string[] {
  return text.toString('latin1').match(/\r\n|\n|\r/g) ?? []
}
