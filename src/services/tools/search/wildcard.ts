/**
 * One path segment against one pattern segment, in time proportional to their product: a pattern comes from a model,
 * and a regular expression made of it could take for ever.
 */
import type { Result } from '../../ports.ts'

type Token =
  | { kind: 'character'; character: string }
  | { kind: 'one' }
  | { kind: 'many' }
  | { kind: 'set'; negated: boolean; ranges: Array<[number, number]> }

/** A segment without wildcards is `literal`: its text, with the backslashes gone. */
export type Segment = { kind: 'literal'; text: string } | { kind: 'wild'; readings: Token[][] } | { kind: 'anyDepth' }

/**
 * `*` any characters (a leading dot too), `?` one character, `[a-z]` one of a set, `[!a]` one that is not in it,
 * a backslash takes the next character for itself; `**` alone is any number of segments.
 */
export function parseSegment(source: string): Result<Segment> {
  if (source === '**') return { ok: true, value: { kind: 'anyDepth' } }
  const tokens = tokensOf(source, 'sets')
  if (tokens === null) {
    const message = `The pattern has a [ without its ] in ${JSON.stringify(source)}. Close it, or write \\[ for the character itself.`
    return { ok: false, message }
  }
  if (tokens.every((token) => token.kind === 'character')) {
    return { ok: true, value: { kind: 'literal', text: tokens.map(({ character }) => character).join('') } }
  }
  // Directories named [id] are common in web projects: brackets may also mean themselves.
  const plain = tokens.some((token) => token.kind === 'set') ? tokensOf(source, 'brackets') : null
  return { ok: true, value: { kind: 'wild', readings: plain === null ? [tokens] : [tokens, plain] } }
}

/** @param name one path segment */
export function matchesSegment(segment: Segment, name: string): boolean {
  switch (segment.kind) {
    case 'literal':
      return segment.text === name
    case 'wild':
      return segment.readings.some((tokens) => matchesTokens(tokens, [...name]))
    case 'anyDepth':
      return true
  }
}

function matchesTokens(tokens: Token[], characters: string[]): boolean {
  let [at, token] = [0, 0]
  // Where to go on when the last `*` has to take one character more.
  let retry: { at: number; token: number } | null = null
  while (at < characters.length) {
    const current = tokens[token]
    if (current?.kind === 'many') retry = { at, token: ++token }
    else if (current !== undefined && matchesOne(current, characters[at] ?? '')) {
      at++
      token++
    } else if (retry !== null) {
      at = ++retry.at
      token = retry.token
    } else return false
  }
  return tokens.slice(token).every(({ kind }) => kind === 'many')
}

function matchesOne(token: Token, character: string): boolean {
  switch (token.kind) {
    case 'character':
      return token.character === character
    case 'one':
      return true
    case 'many':
      return false
    case 'set': {
      const code = character.codePointAt(0) ?? 0
      return token.ranges.some(([from, to]) => from <= code && code <= to) !== token.negated
    }
  }
}

/** @returns null where a set has no end */
function tokensOf(source: string, brackets: 'sets' | 'brackets'): Token[] | null {
  const characters = [...source]
  const tokens: Token[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ''
    if (character === '*') tokens.push({ kind: 'many' })
    else if (character === '?') tokens.push({ kind: 'one' })
    else if (character === '[' && brackets === 'sets') {
      const set = setAt(characters, at)
      if (set === null) return null
      tokens.push(set.token)
      at = set.end
    } else if (character === '\\' && at + 1 < characters.length) {
      tokens.push({ kind: 'character', character: characters[++at] ?? '' })
    } else tokens.push({ kind: 'character', character })
  }
  return tokens
}

function setAt(characters: string[], start: number): { token: Token; end: number } | null {
  const negated = characters[start + 1] === '!' || characters[start + 1] === '^'
  const first = start + (negated ? 2 : 1)
  // A ] that comes first belongs to the set.
  const end = characters.indexOf(']', first + 1)
  if (end < 0) return null
  const members = characters.slice(first, end).map((character) => character.codePointAt(0) ?? 0)
  const ranges: Array<[number, number]> = []
  for (let at = 0; at < members.length; at++) {
    const from = members[at] ?? 0
    const isRange = characters[first + at + 1] === '-' && at + 2 < members.length
    ranges.push([from, isRange ? (members[at + 2] ?? from) : from])
    if (isRange) at += 2
  }
  return { token: { kind: 'set', negated, ranges }, end }
}
