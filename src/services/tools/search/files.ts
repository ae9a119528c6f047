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
    const next = await listInto(found, directory, places, { env, ignored: 'no', timeoutMs: timeLimit(directory) })
    if (next.kind !== 'done') end = next
    if (end.kind !== 'done' && end.kind !== 'partly') break
  }
  const isNone = end.kind === 'done' && found.isEmpty()
  return answer(search, found, end, env.cwd, isNone ? await firstIgnored(search.places, env) : null)
}

/** A look for what .gitignore leaves out is not worth more time, in milliseconds. */
const LOOK_MS = 2_000

/** @returns a file that matches and is ignored, so that it is not said to be nowhere; null where none was found soon */
async function firstIgnored(places: Place[], env: ToolEnv): Promise<string | null> {
  const found = new FirstPaths()
  for (const [directory, some] of byDirectory(places))
    await listInto(found, directory, some, { env, ignored: 'too', timeoutMs: LOOK_MS })
  return found.take().paths.find((path) => !env.hides?.(path)) ?? null
}

function byDirectory(places: Place[]): Map<string, Place[]> {
  const groups = new Map<string, Place[]>()
  for (const place of places) groups.set(place.directory, [...(groups.get(place.directory) ?? []), place])
  return groups
}

interface Listing {
  env: ToolEnv
  /** Whether what .gitignore names is listed too. */
  ignored: 'no' | 'too'
  timeoutMs: number
}

async function listInto(
  found: FirstPaths,
  directory: string,
  places: Place[],
  { env, ignored, timeoutMs }: Listing,
): Promise<RipgrepEnd> {
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
    args: ['--files', '--null', ...(ignored === 'too' ? ['--no-ignore'] : []), ...depth, '--', './'],
    directory,
    cwd: env.cwd,
    env: env.childEnv,
    signal: env.signal,
    timeoutMs,
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

  isEmpty(): boolean {
    return this.#paths.length === 0
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

function answer(
  search: FileSearch,
  found: FirstPaths,
  end: RipgrepEnd,
  cwd: string,
  ignored: string | null,
): ToolResult {
  const { paths, leftOut } = found.take()
  const trouble = troubleOf(end)
  if (paths.length === 0) {
    if (trouble !== null && end.kind !== 'partly') return { kind: 'error', content: trouble }
    if (ignored !== null) {
      const sentence = nothingIn(search, cwd)
      return {
        kind: 'ok',
        content: `${sentence} What .gitignore names is left out, such as ${shownPath(ignored, cwd)}: name a file in full, or begin the pattern with the directory.`,
      }
    }
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

function nothingIn({ pattern, from }: FileSearch, cwd: string): string {
  return `No file matches ${JSON.stringify(pattern)} in ${from === cwd ? 'the working directory' : shownPath(from, cwd)}.`
}

function nothing(search: FileSearch, cwd: string): string {
  const { pattern, from, places } = search
  const sentence = nothingIn(search, cwd)
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
