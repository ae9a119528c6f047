/** Finds what in a prompt may be a mention of a file. Pure: whether a file is there is asked by `mentions.ts`. */

/** Lines counted from 1, both ends included. */
export interface LineRange {
  from: number
  to: number
}

/** One way to read a token. */
export interface Reading {
  path: string
  /** null: the whole file. */
  range: LineRange | null
}

/** What follows an `@`, as typed, and its readings in the order in which they are tried. */
export interface Token {
  typed: string
  readings: Reading[]
}

/** No path is longer (Linux: 4,096 bytes). */
const LONGEST = 4096

/**
 * `@"…"` with an optional range behind it, or `@` and everything up to white space, where a backslash keeps a
 * blank in. The `@` stands at the start or after white space: in an e-mail address it does not.
 */
const TOKEN = /(?<=^|\s)@(?:"([^"\r\n]+)"(#L[\dL-]+|:[\d:-]+)?|((?:\\ |\S)+))/gu

/** @returns the tokens of a prompt in order. */
export function findTokens(prompt: string): Token[] {
  const tokens: Token[] = []
  for (const [, quoted, suffix = '', bare = ''] of prompt.matchAll(TOKEN)) {
    const typed = quoted === undefined ? bare : quoted + suffix
    if (typed.length > LONGEST) continue
    tokens.push({ typed, readings: quoted === undefined ? bareReadings(bare) : quotedReadings(quoted, suffix) })
  }
  return tokens
}

function quotedReadings(path: string, suffix: string): Reading[] {
  const range = rangeOf(suffix)
  return spellings(path).map((spelling) => ({ path: spelling, range }))
}

/** What ends a sentence or closes what was opened before the mention, in the scripts that write without blanks too. */
const TRAILING = /[.,;:!?)\]}>"'`’”»。，、；：！？）】」』]$/u
/** More punctuation than this behind one path is no sentence. */
const MOST_TRAILING = 8

/** The longest path wins: as typed, then with its end read as a range, then without its last punctuation. */
function bareReadings(typed: string): Reading[] {
  const readings: Reading[] = []
  let rest = typed
  for (let stripped = 0; rest !== '' && stripped <= MOST_TRAILING; stripped++) {
    // `wait @...` must not end up as the parent directory.
    if (stripped > 0 && /^\.+$/.test(rest)) break
    readings.push(...spellings(rest).map((path) => ({ path, range: null })))
    const [, path = '', suffix = ''] = /^(.+?)(#L\d[\dL-]*|:\d[\d:-]*)$/.exec(rest) ?? []
    const range = rangeOf(suffix)
    if (range !== null) readings.push(...spellings(path).map((spelling) => ({ path: spelling, range })))
    if (!TRAILING.test(rest)) break
    rest = rest.slice(0, -1)
  }
  return readings
}

/** As typed, with `\ ` read as a blank, and in the other Unicode form: keyboards compose, some file systems do not. */
function spellings(path: string): string[] {
  const plain = path.includes('\\ ') ? [path, path.replaceAll('\\ ', ' ')] : [path]
  return [...new Set(plain.flatMap((one) => [one, one.normalize('NFC'), one.normalize('NFD')]))]
}

/** `#L3`, `#L3-9`, `#L3-L9`, `:3`, `:3-9`, and `:3:7`, the place in line 3 that compilers print. */
function rangeOf(suffix: string): LineRange | null {
  const [, from, to] =
    /^#L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(suffix) ?? /^:(\d{1,9})(?:-(\d{1,9})|:\d{1,9})?$/.exec(suffix) ?? []
  if (from === undefined) return null
  const ends = [Math.max(1, Number(from)), Math.max(1, Number(to ?? from))].sort((a, b) => a - b)
  return { from: ends[0] ?? 1, to: ends[1] ?? 1 }
}
