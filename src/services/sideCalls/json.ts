/** JSON out of a model's reply, whatever stands around it: fences, prose, a trailing comma. Pure. */

/** A list of names or short texts is never longer; what is, is no answer. UTF-16 units. */
const LONGEST = 256 * 1024
/** Places where a value may begin that are looked at: prose has few brackets. */
const TRIES = 64

/**
 * Reads the first JSON value that is what the caller wants.
 * @param fits gives what a parsed value means, or null where it is not what was asked for (`[notes]` in the prose)
 * @returns null where no such value stands in the text
 */
export function readJson<T>(text: string, fits: (value: unknown) => T | null): T | null {
  if (text.length > LONGEST) return null
  for (const candidate of candidates(text)) {
    const value = parsed(candidate) ?? parsed(withoutTrailingCommas(candidate))
    const fitting = value === undefined ? null : fits(value)
    if (fitting !== null) return fitting
  }
  return null
}

/** The whole text, then each stretch from an opening bracket to the one that closes it. */
function* candidates(text: string): Generator<string> {
  yield text
  let tries = 0
  for (let at = nextOpening(text, 0); at >= 0 && tries < TRIES; at = nextOpening(text, at + 1)) {
    tries += 1
    const end = closingOf(text, at)
    if (end !== null) yield text.slice(at, end + 1)
  }
}

function nextOpening(text: string, from: number): number {
  const at = text.slice(from).search(/[[{]/)
  return at < 0 ? -1 : from + at
}

/** @returns the place of the bracket that closes the one at `from`, strings left aside; null where none does */
function closingOf(text: string, from: number): number | null {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth === 0) return at
  }
  return null
}

/** @returns the place of the quotation mark that ends the string at `from`, or the end of the text */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at
  }
  return text.length
}

/** Drops the commas behind which a list or an object ends, strings left aside. */
function withoutTrailingCommas(text: string): string {
  let kept = ''
  let from = 0
  let comma: number | null = null
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (comma !== null && (character === ']' || character === '}')) {
      kept += text.slice(from, comma)
      from = comma + 1
    }
    if (character === '"') at = endOfString(text, at)
    if (character === ',') comma = at
    else if (!/\s/.test(character)) comma = null
  }
  return kept + text.slice(from)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
