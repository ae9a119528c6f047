/** The files a shell command names, looked up on the disk: where they lead, and what its patterns stand for. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { absolutePath, realTarget } from '../paths.ts'
import { type RuleSet, rulesFor } from './rules.ts'
import { type FileUse, filesNamed } from './shell/fileUse.ts'
import { unfold } from './shell/forbid.ts'
import type { WithTree } from './shell/grammar.ts'
import { matchesParts } from './shell/wild.ts'
import type { FileTouch } from './verdict.ts'

/** Changes of directory in one command line that are followed. */
const MOST_PLACES = 20

/** @returns whether a rule forbids or asks about files, so that what commands name is to be looked up */
export function areFilesRuled(rules: RuleSet): boolean {
  return (['deny', 'ask'] as const).some((kind) =>
    ['read_file', 'edit_file'].some((tool) =>
      rulesFor(rules[kind], tool).some(({ specifier }) => specifier.kind === 'path'),
    ),
  )
}

/** @param cwd the working directory as a real path */
export function commandFiles(command: string, cwd: string, parse: WithTree): FileTouch[] {
  const { uses, directories } = filesNamed(unfold(command, parse))
  const places = [cwd]
  for (const directory of directories.slice(0, MOST_PLACES)) places.push(absolutePath(directory, places.at(-1) ?? cwd))
  const found: Record<FileUse['use'], Set<string>> = { read: new Set(), write: new Set() }
  for (const { use, word } of uses)
    for (const place of new Set(places)) for (const path of pathsOf(word, use, place)) found[use].add(path)
  return (['read', 'write'] as const).flatMap((use) =>
    [...found[use]].map((given) => ({ use, given, real: realTarget(given) })),
  )
}

function pathsOf(word: FileUse['word'], use: FileUse['use'], place: string): string[] {
  switch (word.kind) {
    case 'literal':
      return word.value === '' || word.value.includes('\0') ? [] : [absolutePath(word.value, place)]
    case 'glob':
      return matching(word.parts, use, place)
    case 'computed':
      return []
  }
}

/**
 * Names of one directory; where a star stands for directories, nothing is looked up. What a pattern reads are files:
 * `wc -l *` does not go into a directory beside them.
 */
function matching(parts: readonly string[], use: FileUse['use'], place: string): string[] {
  const [first = '', ...rest] = parts
  if (rest.some((part) => part.includes('/'))) return []
  const slash = first.lastIndexOf('/') + 1
  const directory = absolutePath(slash === 0 ? '.' : first.slice(0, slash), place)
  const pattern = [first.slice(slash), ...rest]
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => use === 'write' || !entry.isDirectory())
      .map(({ name }) => name)
      .filter((name) => matchesParts(pattern, name) && (!name.startsWith('.') || pattern[0]?.startsWith('.')))
      .map((name) => join(directory, name))
  } catch {
    return []
  }
}
