/** A project and a home with skills in them, on the real file system. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createSkills, findSkills, type SkillPlaces } from '../../../src/services/skills/index.ts'

export interface Place extends SkillPlaces {
  /** Above the project and the home; removed after the test. */
  top: string
  /** Writes a file; the path is below `top`. @returns its absolute path */
  put(path: string, content: string | Uint8Array): string
  /** Writes `<folder>/<name>/SKILL.md` with this name and description. */
  skill(folder: string, name: string, description: string): string
}

export function makePlace(): Place {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-skills-')))
  onTestFinished(() => rmSync(top, { recursive: true, force: true }))
  const put = (path: string, content: string | Uint8Array): string => {
    const file = join(top, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    return file
  }
  mkdirSync(join(top, 'project'))
  return {
    top,
    cwd: join(top, 'project'),
    home: join(top, 'home'),
    agentHome: join(top, 'home/.agent'),
    trusted: false,
    put,
    skill: (folder, name, description) =>
      put(`${folder}/${name}/SKILL.md`, `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n`),
  }
}

/** @returns names and descriptions as found, and the warnings */
export async function found(place: SkillPlaces) {
  const { skills, warnings } = await findSkills(place)
  return {
    skills: [...skills.values()].map(({ name, description }) => [name, description]),
    warnings,
  }
}

/** The skills of a run, and what it was warned of. */
export function open(place: SkillPlaces) {
  const warnings: string[] = []
  return { skills: createSkills({ ...place, warn: (message) => warnings.push(message) }), warnings }
}
