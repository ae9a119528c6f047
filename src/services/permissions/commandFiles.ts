/** The files a shell command names, looked up on the disk: where they lead, and what its patterns stand for. */
import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { absolutePath, realTargets, userHome } from '../paths.ts'
import { type RuleSet, rulesFor } from './rules.ts'
import { type FileUse, filesNamed } from './shell/fileUse.ts'
import { unfold } from './shell/forbid.ts'
import type { WithTree } from './shell/grammar.ts'
import { matchesParts } from './shell/wild.ts'
import type { Word } from './shell/words.ts'
import type { FileTouch } from './verdict.ts'

/** Changes of directory in one command line that are followed. */
const MOST_PLACES = 8

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
  for (const word of directories.slice(0, MOST_PLACES)) {
    const place = places.at(-1) ?? cwd
    places.push(...named(textOf(word, place), place))
  }
  const found: Record<FileUse['use'], Set<string>> = { read: new Set(), write: new Set() }
  const namesIn = listing()
  for (const { use, word } of uses)
    for (const place of new Set(places)) for (const path of pathsOf(word, use, place, namesIn)) found[use].add(path)
  const realTarget = realTargets()
  return (['read', 'write'] as const).flatMap((use) =>
    [...found[use]].map((given) => ({ use, given, real: realTarget(given) })),
  )
}

function pathsOf(word: Word, use: FileUse['use'], place: string, namesIn: Listing): string[] {
  switch (word.kind) {
    case 'glob':
      return matching(word, use, place, namesIn)
    case 'literal':
    case 'computed':
      return named(textOf(word, place), place)
  }
}

function textOf(word: Word, place: string): string {
  return word.kind === 'computed' ? withKnownVariables(word.raw, place) : word.value
}

function named(path: string, place: string): string[] {
  return path === '' || path.includes('\0') ? [] : [absolutePath(path, place)]
}

/** What else is computed stays as it is typed: of `$DIR/.env` a rule for any `.env` knows enough. */
function withKnownVariables(raw: string, place: string): string {
  return raw
    .replace(/["']/g, '')
    .replace(/\$(?:HOME\b|\{HOME\})/g, userHome)
    .replace(/\$(?:PWD\b|\{PWD\})/g, () => place)
}

type Listing = (directory: string) => Dirent[]

/** @returns the entries of directories, each read once; none of one that cannot be read */
function listing(): Listing {
  const known = new Map<string, Dirent[]>()
  return (directory) => {
    let entries = known.get(directory)
    if (entries === undefined) {
      try {
        entries = readdirSync(directory, { withFileTypes: true })
      } catch {
        entries = []
      }
      known.set(directory, entries)
    }
    return entries
  }
}

/**
 * Names of one directory; where a star stands for directories, nothing is looked up and the pattern is taken as a name.
 * What a pattern reads are files: `wc -l *` does not go into a directory beside them.
 */
function matching(
  { value, parts }: Extract<Word, { kind: 'glob' }>,
  use: FileUse['use'],
  place: string,
  namesIn: Listing,
): string[] {
  const [first = '', ...rest] = parts
  if (rest.some((part) => part.includes('/'))) return named(value, place)
  const slash = first.lastIndexOf('/') + 1
  const directory = absolutePath(slash === 0 ? '.' : first.slice(0, slash), place)
  const pattern = [first.slice(slash), ...rest]
  return namesIn(directory)
    .filter((entry) => use === 'write' || !entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => matchesParts(pattern, name) && (!name.startsWith('.') || pattern[0]?.startsWith('.')))
    .map((name) => join(directory, name))
}
