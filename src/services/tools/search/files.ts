/** Files whose path matches a pattern. */
import { join } from 'node:path'
import { count } from '../../../machines/words.ts'
import type { ToolEnv, ToolResult } from '../../ports.ts'
import { depthOf, matchesBelow, type Place } from './pattern.ts'
import { type RipgrepEnd, recordsOf, runRipgrep } from './ripgrep.ts'
import { compareCodePoints, kindOf, MOST_CHARACTERS, shownPath, timeLimit, troubleOf } from './show.ts'

const MOST_FILES = 1000
/** Bytes; more than a path can have. */
const LONGEST_PATH = 64 * 1024

export interface FileSearch {
  pattern: string
  /** Absolute directory the pattern is relative to. */
  from: string
  places: Place[]
}

/** @returns the paths, one a line, sorted by code point, each once; or a sentence where there are none */
export async function findFiles(search: FileSearch, env: ToolEnv): Promise<ToolResult> {
  const found = new FirstPaths()
  let end: RipgrepEnd = { kind: 'done' }
  for (const [directory, places] of byDirectory(search.places)) {
    const next = await listInto(found, directory, places, env)
    if (next.kind !== 'done') end = next
    if (end.kind !== 'done' && end.kind !== 'partly') break
  }
  return answer(search, found, end, env.cwd)
}

function byDirectory(places: Place[]): Map<string, Place[]> {
  const groups = new Map<string, Place[]>()
  for (const place of places) groups.set(place.directory, [...(groups.get(place.directory) ?? []), place])
  return groups
}

async function listInto(found: FirstPaths, directory: string, places: Place[], env: ToolEnv): Promise<RipgrepEnd> {
  const wild = places.filter((place) => {
    const name = onlyName(place)
    if (name === null) return true
    // A file named in full is found wherever it is, ignored or not.
    if (kindOf(join(directory, name)) !== 'missing') found.addFile(join(directory, name))
    return false
  })
  if (wild.length === 0 || kindOf(directory) !== 'directory') return { kind: 'done' }
  const depths = wild.map(depthOf)
  const depth = depths.includes(null) ? [] : [`--max-depth=${Math.max(...depths.map(Number))}`]
  return runRipgrep({
    args: ['--files', '--null', ...depth, '--', './'],
    directory,
    env: env.childEnv,
    signal: env.signal,
    timeoutMs: timeLimit(directory),
    onOutput: recordsOf(0, LONGEST_PATH, (record) => {
      const segments = record.toString('utf8').split('/').slice(1)
      if (wild.some(({ below }) => matchesBelow(below, segments))) found.add(join(directory, ...segments))
      return 'more'
    }),
  })
}

/** The name where a place is one file and nothing else. */
function onlyName({ below }: Place): string | null {
  const [segment] = below
  return below.length === 1 && segment?.kind === 'literal' ? segment.text : null
}

/** The first paths by code point of any number of paths, in bounded memory. */
class FirstPaths {
  #paths: string[] = []
  #leftOut = 0

  add(path: string): void {
    this.#paths.push(path)
    if (this.#paths.length >= 8 * MOST_FILES) this.#cut()
  }

  addFile(path: string): void {
    if (kindOf(path) === 'file') this.add(path)
  }

  /** @returns the paths in order, each once, and how many more there are (at least) */
  take(): { paths: string[]; leftOut: number } {
    this.#cut()
    return { paths: this.#paths, leftOut: this.#leftOut }
  }

  #cut(): void {
    const sorted = [...new Set(this.#paths)].sort(compareCodePoints)
    this.#leftOut += Math.max(0, sorted.length - MOST_FILES)
    this.#paths = sorted.slice(0, MOST_FILES)
  }
}

function answer(search: FileSearch, found: FirstPaths, end: RipgrepEnd, cwd: string): ToolResult {
  const { paths, leftOut } = found.take()
  const trouble = troubleOf(end)
  if (paths.length === 0) {
    if (trouble !== null && end.kind !== 'partly') return { kind: 'error', content: trouble }
    return { kind: 'ok', content: trouble === null ? nothing(search, cwd) : `${nothing(search, cwd)} ${trouble}` }
  }
  const lines: string[] = []
  let characters = 0
  for (const path of paths) {
    const line = shownPath(path, cwd)
    characters += line.length + 1
    if (characters > MOST_CHARACTERS) break
    lines.push(line)
  }
  const more = leftOut + paths.length - lines.length
  if (more > 0)
    lines.push(`[the first ${count(lines.length, 'file')}; ${more} more match. Narrow the pattern to see them]`)
  if (trouble !== null) lines.push(`[not all files: ${trouble}]`)
  return { kind: 'ok', content: lines.join('\n') }
}

function nothing({ pattern, from, places }: FileSearch, cwd: string): string {
  const where = from === cwd ? 'the working directory' : shownPath(from, cwd)
  const sentence = `No file matches ${JSON.stringify(pattern)} in ${where}.`
  const missing = places.find(({ directory }) => kindOf(directory) !== 'directory')
  if (missing) return `${sentence} There is no directory ${shownPath(missing.directory, cwd)}.`
  const directory = places.map((place) => join(place.directory, onlyName(place) ?? '')).find(isOtherDirectory(from))
  if (directory) return `${sentence} ${shownPath(directory, cwd)} is a directory: "**" after it finds the files in it.`
  if (/^[^{}]*\*[^{}]*[,|\s][^{}]*\*/.test(pattern)) return `${sentence} Write {*.a,*.b} for one or the other.`
  if (/(^|\/)(node_modules|\.git)(\/|$)/.test(pattern)) {
    return `${sentence} node_modules and .git are left out unless the pattern begins with their directory, or path leads into it.`
  }
  return pattern.includes('**') ? sentence : `${sentence} "**/" before a name looks into all directories.`
}

function isOtherDirectory(from: string): (path: string) => boolean {
  return (path) => path !== from && kindOf(path) === 'directory'
}
