/**
 * `MEMORY.md`: a line a memory, kept by us and edited by people. What people wrote between the lines stays as it is.
 */

import type { Memory } from '../memoryPorts.ts'
import { printable } from '../text.ts'
import { foldedName } from './slug.ts'

/** Most of the index that goes into the system prompt. */
export const INDEX_LIMITS = { lines: 200, bytes: 25 * 1024 }

const ENTRY = /^\s*[-*+]\s+\[.*?\]\(<?(?:\.\/)?([^()<>/\\]+\.md)>?\)/i

/** @returns the file in `.memory` that a line of the index names, null where the line is no entry. */
function fileOfLine(line: string): string | null {
  const file = ENTRY.exec(line)?.[1]
  if (file === undefined) return null
  try {
    return decodeURIComponent(file)
  } catch {
    return file
  }
}

/** @returns the line of a memory: `- [name](file.md) — description` */
function lineOfMemory({ name, file, description }: Pick<Memory, 'name' | 'file' | 'description'>): string {
  const label = name.replaceAll('[', '(').replaceAll(']', ')')
  return `- [${label}](${file}) — ${description}`
}

/**
 * @param text the index as it is, '' where there is none
 * @param memories all there are now
 * @param fresh folded names of the files whose line must be made anew
 * @returns the index with a line for each memory: lines of files that are gone are dropped, missing ones added
 */
export function renewIndex(text: string, memories: readonly Memory[], fresh: ReadonlySet<string>): string {
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const byFile = new Map(memories.map((memory) => [foldedName(memory.file), memory]))
  const listed = new Set<string>()
  const kept = text.split(/\r\n?|\n/).flatMap((line) => {
    const file = fileOfLine(line)
    if (file === null) return [line]
    const key = foldedName(file)
    const memory = byFile.get(key)
    if (memory === undefined || listed.has(key)) return []
    listed.add(key)
    return [fresh.has(key) ? lineOfMemory(memory) : line]
  })
  const missing = memories.filter(({ file }) => !listed.has(foldedName(file))).map(lineOfMemory)
  const old = kept.join(end).trimEnd()
  return [...(old === '' ? [] : [old]), ...missing].map((line) => `${line}${end}`).join('')
}

/**
 * @param text the index as it is in its file
 * @param files the memories that are there
 * @returns what the system prompt shows of it: no entries of files that are gone, no control characters, at most 200
 *   lines and 25 KB, with a line that says how many more there are; '' where nothing is left
 */
export function shownIndex(text: string, files: readonly string[]): string {
  const there = new Set(files.map(foldedName))
  const lines = printable(text)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => {
      const file = fileOfLine(line)
      return file === null || there.has(foldedName(file))
    })
  return capped(lines.join('\n').trim().split('\n'))
}

function capped(lines: string[]): string {
  let bytes = 0
  const shown: string[] = []
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1
    if (shown.length === INDEX_LIMITS.lines || bytes > INDEX_LIMITS.bytes) break
    shown.push(line)
  }
  const more = lines.length - shown.length
  if (more === 0) return shown.join('\n')
  const note = `(${more} more ${more === 1 ? 'line is' : 'lines are'} left out here; .memory/MEMORY.md has them all.)`
  return [...shown, note].join('\n')
}
