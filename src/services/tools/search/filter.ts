/**
 * The `glob` of a search in files. It is not handed to ripgrep as a glob, since that would switch .gitignore off for
 * what it matches: paths are matched here, and ripgrep gets the last part of the pattern as a file type, which leaves
 * .gitignore alone and saves reading most other files.
 */
import type { Result } from '../../ports.ts'
import { expandBraces } from './braces.ts'
import { matchesBelow } from './pattern.ts'
import { parseSegment, type Segment } from './wildcard.ts'

export interface Filter {
  /** For ripgrep; it may let more files through than `matches`, never fewer. */
  args: string[]
  /** @param path segments of a path, relative to the searched directory or to the working directory */
  matches(path: string[]): boolean
}

/** @param glob as in .gitignore: without a slash it is about the name at any depth, `!` before it turns it round */
export function parseFilter(glob: string | undefined): Result<Filter> {
  if (glob === undefined) return { ok: true, value: { args: [], matches: () => true } }
  const isNegated = glob.startsWith('!')
  const expanded = expandBraces(isNegated ? glob.slice(1) : asOneGlob(glob))
  if (!expanded.ok) return expanded
  const patterns: Segment[][] = []
  for (const alternative of expanded.value) {
    const segments = segmentsOf(alternative)
    if (!segments.ok) return segments
    patterns.push(segments.value)
  }
  const matches = (path: string[]) => patterns.some((pattern) => matchesBelow(pattern, path)) !== isNegated
  return { ok: true, value: { args: isNegated ? [] : typeArgs(expanded.value), matches } }
}

/** Several globs as other agents take them, with commas or blanks between: `*.ts,*.js` for `{*.ts,*.js}`. */
function asOneGlob(glob: string): string {
  if (/[{}\\]/.test(glob)) return glob
  const parts = glob.split(/[,\s]+/).filter((part) => part !== '')
  // Each must be a pattern, or it is one whose names have a comma or a blank in them.
  return parts.length > 1 && parts.every((part) => /^[^!].*\*|^\*/.test(part)) ? `{${parts.join(',')}}` : glob
}

function segmentsOf(pattern: string): Result<Segment[]> {
  const sources = pattern.split('/')
  if (sources.length === 1) sources.unshift('**')
  if (sources.at(-1) === '') sources[sources.length - 1] = '**'
  const segments: Segment[] = []
  for (const source of sources) {
    if (source === '' || source === '.') continue
    if (source === '..')
      return { ok: false, message: 'glob only chooses files below path, so it cannot have .. in it. Set path instead.' }
    const segment = parseSegment(source)
    if (!segment.ok) return segment
    segments.push(segment.value)
  }
  return { ok: true, value: segments }
}

/** Names of plain characters, `*` and `?` mean the same to ripgrep. */
const SIMPLE_NAME = /^[\w.*?-]+$/

function typeArgs(patterns: string[]): string[] {
  const names = patterns.map((pattern) => pattern.slice(pattern.lastIndexOf('/') + 1))
  if (!names.every((name) => SIMPLE_NAME.test(name) && name !== '**')) return []
  return [...names.map((name) => `--type-add=wanted:${name}`), '--type=wanted']
}
