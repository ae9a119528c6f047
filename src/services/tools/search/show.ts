/** How search results are shown. */
import { statSync } from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import type { RipgrepEnd } from './ripgrep.ts'

/** Characters a result may have: below what would be put into a file of its own instead (contract.md, section 9). */
export const MOST_CHARACTERS = 25_000

/** Milliseconds. The whole machine is nobody's project: there a part of the answer soon is better. */
export function timeLimit(directory: string): number {
  return directory === '/' ? 8_000 : 20_000
}

/**
 * A path as it can be given to the other tools: relative to `cwd` below it, else absolute. One with control
 * characters is written as a JSON string, so that each result stays one line.
 */
export function shownPath(path: string, cwd: string): string {
  const below = relative(cwd, path)
  const isBelow = below !== '' && below !== '..' && !below.startsWith('../') && !isAbsolute(below)
  const shown = isBelow ? below : path
  return /[\x00-\x1f\x7f-\x9f]/.test(shown) ? JSON.stringify(shown) : shown
}

/** The order of Unicode code points, the same on every machine: that of the UTF-8 bytes, not of UTF-16. */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let at = 0; at < shorter; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  if (unit >= 0xe000) return unit - 0x800
  return unit >= 0xd800 ? unit + 0x2000 : unit
}

/** What is at a path, symlinks followed; `other` is a FIFO, a device or a socket. */
export function kindOf(path: string): 'file' | 'directory' | 'other' | 'missing' {
  try {
    const found = statSync(path)
    if (found.isDirectory()) return 'directory'
    return found.isFile() ? 'file' : 'other'
  } catch {
    return 'missing'
  }
}

/** Why the results are not all there are, as a sentence; null where they are. */
export function troubleOf(end: RipgrepEnd): string | null {
  switch (end.kind) {
    case 'done':
    case 'enough':
      return null
    case 'partly':
      return 'Some files or directories could not be read.'
    case 'timedOut':
      return 'The search took too long and was stopped. Narrow it by path.'
    case 'aborted':
      return 'The search was interrupted.'
    case 'failed':
      return `The search failed: ${end.said.trim()}.`
    case 'missing':
      return 'The search needs ripgrep, which is neither installed with this agent nor on the PATH. Tell the user to install it, or search with bash.'
  }
}
