/** Texts with stars, held against a text in one pass: rules and commands are written by others, and may be long. */

/** What stands between the stars; one part means no star. */
export type Parts = readonly string[]

/** @returns whether the parts stand in the text in order, the first at its beginning, the last at its end */
export function matchesParts(parts: Parts, text: string): boolean {
  const [first = '', ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
