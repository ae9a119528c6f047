/** Braces in glob patterns: `{a,b}/*.{ts,tsx}` stands for four patterns. */
import type { Result } from '../../ports.ts'

const MOST_ALTERNATIVES = 1000

/**
 * Expands every `{…,…}`, nested ones too. Braces without a comma or without their partner, and those behind a
 * backslash, stand for themselves.
 * @returns the patterns in the order in which a shell gives them, or a sentence where there are too many
 */
export function expandBraces(pattern: string): Result<string[]> {
  const waiting = [pattern]
  const expanded: string[] = []
  // Depth first by a stack, so that a pattern that explodes is noticed before it is all there.
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const group = firstGroup(next)
    if (group === null) expanded.push(next)
    else {
      const [before, after] = [next.slice(0, group.start), next.slice(group.end + 1)]
      waiting.push(...group.choices.map((choice) => before + choice + after).reverse())
    }
    if (waiting.length + expanded.length > MOST_ALTERNATIVES) {
      const message = `The braces of the pattern stand for more than ${MOST_ALTERNATIVES} patterns. Use fewer of them, or * instead.`
      return { ok: false, message }
    }
  }
  return { ok: true, value: expanded }
}

interface Group {
  start: number
  end: number
  choices: string[]
}

function firstGroup(pattern: string): Group | null {
  for (let start = 0; start < pattern.length; start++) {
    if (pattern[start] === '\\') start++
    else if (pattern[start] === '{') {
      const group = groupAt(pattern, start)
      if (group !== null) return group
    }
  }
  return null
}

/** The group that begins at `start`, where it is closed and has a comma of its own. */
function groupAt(pattern: string, start: number): Group | null {
  const cuts = [start]
  let depth = 0
  for (let at = start; at < pattern.length; at++) {
    const character = pattern[at]
    if (character === '\\') at++
    else if (character === '{') depth++
    else if (character === ',' && depth === 1) cuts.push(at)
    else if (character === '}' && --depth === 0) {
      if (cuts.length === 1) return null
      const ends = [...cuts.slice(1), at]
      return { start, end: at, choices: ends.map((end, n) => pattern.slice((cuts[n] ?? start) + 1, end)) }
    }
  }
  return null
}
