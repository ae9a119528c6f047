/** Looks through the folders of skills. What lies there may be anything; nothing of it makes a run fail. */
import { type BigIntStats, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { cachedByState, stateOf } from '../files.ts'
import { isInside } from '../paths.ts'
import { printableLine } from '../text.ts'
import { readManifest } from './manifest.ts'
import { type SkillFolder, type SkillPlaces, type SkillSource, skillFolders } from './places.ts'
import { readText } from './readText.ts'

export interface Skill {
  name: string
  /** One line of any length. */
  description: string
  source: SkillSource
  /** Absolute path of its SKILL.md, as found. */
  file: string
  /** Real path of the same. */
  real: string
  /** What its author may want to mend. */
  remarks: string[]
}

export interface Scan {
  /** By name, in the order of names (code units), which is the same on every machine. */
  skills: ReadonlyMap<string, Skill>
  /** Sentences about what was found and cannot be used: left out, or shadowed by another of its name. */
  warnings: string[]
}

/** Bytes in which a front matter must end. */
const HEAD = 64 * 1024
/** Directories of one folder that are looked into. */
const MOST = 2_000

/** @returns a function that looks again; unchanged files cost a stat each. */
export function createScanner(places: SkillPlaces): () => Promise<Scan> {
  const manifestOf = cachedByState((path) => readManifest(readText(path, HEAD), basename(dirname(path))))
  return async () => {
    const warnings: string[] = []
    const skills = new Map<string, Skill>()
    const seen = new Set<string>()
    for (const folder of skillFolders(places)) {
      for (const file of filesOf(folder, warnings)) {
        if (seen.has(file.real)) continue
        seen.add(file.real)
        const manifest = await manifestOf(file.path, stateOf(file.stat))
        if (manifest.kind === 'useless') {
          warnings.push(leftOut(file.path, manifest.reason))
          continue
        }
        const { kind: _, ...said } = manifest
        addSkill(skills, { ...said, source: folder.source, file: file.path, real: file.real }, warnings)
      }
    }
    const sorted = [...skills].sort(([a], [b]) => (a < b ? -1 : 1))
    return { skills: new Map(sorted), warnings }
  }
}

function addSkill(skills: Map<string, Skill>, found: Skill, warnings: string[]): void {
  const first = skills.get(found.name)
  if (first === undefined) skills.set(found.name, found)
  else {
    const used = `${shown(first.file)} is used, ${shown(found.file)} is not`
    warnings.push(`There are two skills ${JSON.stringify(found.name)}: ${used}. Rename one of them.`)
  }
}

interface SkillFile {
  path: string
  real: string
  stat: BigIntStats
}

/** The SKILL.md files of a folder in the order of their directories' names. */
function filesOf(folder: SkillFolder, warnings: string[]): SkillFile[] {
  const names = directoriesOf(folder.path)
  if (names.length > MOST) warnings.push(`${shown(folder.path)}: only the first ${MOST} directories are looked into.`)
  return names.slice(0, MOST).flatMap((name) => fileAt(join(folder.path, name, 'SKILL.md'), folder, warnings) ?? [])
}

function fileAt(path: string, { within }: SkillFolder, warnings: string[]): SkillFile | null {
  const found = look(path)
  switch (found.kind) {
    case 'missing':
      warnings.push(...misnamed(path))
      return null
    case 'unusable':
      warnings.push(leftOut(path, found.reason))
      return null
    case 'file': {
      const { real, stat } = found
      if (within === null || isInside(within, real)) return { path, real, stat }
      const link = `it is a link to ${shown(real)}, out of the project`
      warnings.push(leftOut(path, `${link}; agent trust lets it be followed`))
      return null
    }
  }
}

/** A name is a name in one case only, on most systems: what cannot be found is not passed over without a word. */
function misnamed(path: string): string[] {
  try {
    const name = readdirSync(dirname(path)).find((entry) => entry.toUpperCase() === 'SKILL.MD')
    return name === undefined ? [] : [leftOut(join(dirname(path), name), 'its file must be called SKILL.md')]
  } catch {
    return []
  }
}

/** The names of what may be a skill's directory. Those that are hidden are not. */
function directoriesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort()
  } catch {
    return []
  }
}

type Looked =
  | { kind: 'file'; real: string; stat: BigIntStats }
  | { kind: 'unusable'; reason: string }
  | { kind: 'missing' }

function look(path: string): Looked {
  try {
    const stat = statSync(path, { bigint: true })
    if (stat.isFile()) return { kind: 'file', real: realpathSync.native(path), stat }
    return { kind: 'unusable', reason: stat.isDirectory() ? 'it is a directory' : 'it is not a regular file' }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && isThere(path)) return { kind: 'unusable', reason: 'it is a link to nothing' }
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
    return { kind: 'unusable', reason: code === 'ELOOP' ? 'it is a link to itself' : 'permission denied' }
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path) !== undefined
  } catch {
    return false
  }
}

function leftOut(path: string, reason: string): string {
  return `The skill ${shown(path)} was left out: ${reason}.`
}

function shown(path: string): string {
  return printableLine(path)
}
