/** Glob patterns: where they begin to look, and what they match there. */
import { resolve } from 'node:path'
import { userHome } from '../../paths.ts'
import type { Result } from '../../ports.ts'
import { expandBraces } from './braces.ts'
import { matchesSegment, parseSegment, type Segment } from './wildcard.ts'

/**
 * One of the patterns that braces stand for: an absolute directory in which everything it can match lies, and the
 * segments below. The directory is the only place that is looked into, so it is also what permissions are asked for.
 */
export interface Place {
  directory: string
  below: Segment[]
}

/**
 * @param pattern relative to `from`, absolute, or beginning with `~/`
 * @param from absolute directory
 * @returns its places, or a sentence that says what is wrong with the pattern
 */
export function placesOf(pattern: string, from: string): Result<Place[]> {
  if (pattern.includes('\0')) return { ok: false, message: 'The pattern contains a NUL character. Leave it out.' }
  const expanded = expandBraces(pattern)
  if (!expanded.ok) return expanded
  const places: Place[] = []
  for (const alternative of expanded.value) {
    const place = placeOf(alternative, from)
    if (!place.ok) return place
    places.push(place.value)
  }
  return { ok: true, value: places }
}

function placeOf(pattern: string, from: string): Result<Place> {
  const start = pattern.startsWith('/') ? '/' : pattern.startsWith('~/') ? userHome() : from
  const sources = (pattern.startsWith('~/') ? pattern.slice(2) : pattern).split('/')
  // A slash at the end means a directory: all that is in it.
  if (sources.length > 1 && sources.at(-1) === '') sources[sources.length - 1] = '**'
  const segments: Segment[] = []
  for (const source of sources) {
    if (source === '' || source === '.') continue
    const segment = parseSegment(source)
    if (!segment.ok) return segment
    segments.push(segment.value)
  }
  const firstWild = segments.findIndex(({ kind }) => kind !== 'literal')
  // The last segment names a file, wild or not.
  const split = firstWild < 0 ? segments.length - 1 : firstWild
  const below = segments.slice(Math.max(split, 0))
  if (below.some(isUp) && !(below.length === 1 && firstWild < 0)) {
    return {
      ok: false,
      message: 'A pattern can have .. only before its first wildcard. Begin the pattern with it, or set path.',
    }
  }
  const names = segments.slice(0, Math.max(split, 0)).map((segment) => (segment.kind === 'literal' ? segment.text : ''))
  // `..` alone names a directory, not a file in one.
  const up = below.length === 1 && below.some(isUp) ? ['..'] : []
  return { ok: true, value: { directory: resolve(start, ...names, ...up), below: up.length > 0 ? [] : below } }
}

function isUp(segment: Segment): boolean {
  return segment.kind === 'literal' && segment.text === '..'
}

/** @param path the segments of a path below the place's directory */
export function matchesBelow(below: Segment[], path: string[]): boolean {
  let [at, segment] = [0, 0]
  let retry: { at: number; segment: number } | null = null
  while (at < path.length) {
    const current = below[segment]
    if (current?.kind === 'anyDepth') retry = { at, segment: ++segment }
    else if (current !== undefined && matchesSegment(current, path[at] ?? '')) {
      at++
      segment++
    } else if (retry !== null) {
      at = ++retry.at
      segment = retry.segment
    } else return false
  }
  return below.slice(segment).every(({ kind }) => kind === 'anyDepth')
}

/** How many levels below its directory a place reaches; null for any depth. */
export function depthOf({ below }: Place): number | null {
  return below.some(({ kind }) => kind === 'anyDepth') ? null : below.length
}
