/**
 * Skills: knowledge in folders, of which the model sees a catalog and loads what it needs (contract.md, section 9;
 * docs/decisions/0008-skills-and-subagents.md).
 */
import { dirname } from 'node:path'
import { once } from '../once.ts'
import type { SkillsPort, ToolResult } from '../ports.ts'
import { printableLine } from '../text.ts'
import { filesBeside } from './beside.ts'
import { catalogOf } from './catalog.ts'
import type { SkillPlaces } from './places.ts'
import { readText } from './readText.ts'
import { createScanner, type Scan, type Skill } from './scan.ts'

export type { SkillPlaces, SkillSource } from './places.ts'
export type { Scan, Skill } from './scan.ts'

export interface SkillOptions extends SkillPlaces {
  /** Takes each distinct sentence once. */
  warn: (message: string) => void
}

/** Bytes of a SKILL.md that are loaded at most. */
const LOADED = 4 * 1024 * 1024
/** UTF-16 units of the names in an error. */
const NAMES_LENGTH = 10_000

/** @returns the skills of one run. Nothing rejects for what files may hold. */
export function createSkills(options: SkillOptions): SkillsPort {
  const look = createScanner(options)
  const warn = once(options.warn)
  let last: Scan = { skills: new Map(), warnings: [] }
  const scan = async (): Promise<Scan> => {
    last = await look()
    for (const warning of last.warnings) warn(warning)
    return last
  }
  return {
    read: async () => catalogOf((await scan()).skills.values()),
    any: () => last.skills.size > 0,
    directories: () => [...last.skills.values()].map(({ real }) => dirname(real)),
    async load(name) {
      // The registry is a Map and the name is no path: only what was found can be read.
      const { skills } = await scan()
      const skill = skills.get(name)
      return skill === undefined ? unknown(name, [...skills.keys()]) : loaded(skill)
    },
  }
}

/** @returns every skill there is with its author's remarks, and what cannot be used. */
export function findSkills(places: SkillPlaces): Promise<Scan> {
  return createScanner(places)()
}

function loaded({ name, file, real }: Skill): ToolResult {
  const read = readText(real, LOADED)
  if (read.kind === 'unreadable') {
    return { kind: 'error', content: `The skill ${name} (${file}) can no longer be read: ${read.reason}.` }
  }
  const cut = read.cut ? `\n[Cut: only the first ${LOADED} bytes of ${file} are shown.]` : ''
  return { kind: 'ok', content: `${headOf(name, dirname(file))}\n\n${read.text}${cut}` }
}

function headOf(name: string, directory: string): string {
  const { files, more } = filesBeside(directory)
  const head = `Skill ${name}, in the directory ${directory}`
  if (files.length === 0) return `${head} (no other files). Its SKILL.md:`
  const lines = files.map((path) => `- ${printableLine(path)}`)
  if (more) lines.push('- … and more')
  const intro = 'Paths in it are relative to that directory, which also has these files; read or run them as needed:'
  return [`${head}.`, intro, ...lines, 'Its SKILL.md:'].join('\n')
}

function unknown(name: string, names: string[]): ToolResult {
  const given = JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)
  if (names.length === 0) return { kind: 'error', content: `There is no skill ${given}: there are no skills here.` }
  return {
    kind: 'error',
    content: `There is no skill ${given}. The skills are: ${listOf(names)}. Give one as written.`,
  }
}

function listOf(names: string[]): string {
  let room = NAMES_LENGTH
  const shown = names.filter((name) => {
    room -= name.length + 2
    return room >= 0
  })
  const missing = names.length - shown.length
  return `${shown.join(', ')}${missing > 0 ? ` and ${missing} more` : ''}`
}
