/** The other files of a skill's directory, for the model to read as it needs them. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Files named, and entries looked at to find them. */
const MOST_NAMED = 100
const MOST_LOOKED_AT = 2_000
const DEEPEST = 5
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])

export interface Beside {
  /** Paths relative to the directory, with slashes, sorted. */
  files: string[]
  /** There are more than those. */
  more: boolean
}

/** @returns the files below a skill's directory but its SKILL.md; hidden ones and links are left out. */
export function filesBeside(directory: string): Beside {
  const files: string[] = []
  let looked = 0
  const walk = (below: string, depth: number): void => {
    for (const entry of entriesOf(join(directory, below))) {
      if (++looked > MOST_LOOKED_AT) return
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isFile() && path !== 'SKILL.md') files.push(path)
      else if (entry.isDirectory() && depth < DEEPEST && !SKIPPED.has(entry.name)) walk(path, depth + 1)
    }
  }
  walk('', 1)
  return { files: files.sort().slice(0, MOST_NAMED), more: files.length > MOST_NAMED || looked > MOST_LOOKED_AT }
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.'))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    return []
  }
}
