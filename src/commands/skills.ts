/** `agent skills [--json]`: the skills of this directory, where they come from, and what is wrong with them. */
import { relative, sep } from 'node:path'
import { jsonLine } from '../services/output/jsonLines.ts'
import { userHome } from '../services/paths.ts'
import { isTrusted } from '../services/settings/trust.ts'
import { findSkills, type Skill } from '../services/skills/index.ts'
import { clip, padTo, printableLine } from '../services/text.ts'
import { ownStreams, withOut } from './look.ts'

export interface SkillsArgs {
  json: boolean
  /** Arguments after the command's name: there are none to give. */
  input: string[]
}

export interface SkillsPlace {
  /** The agent's home. */
  home: string
  /** Absolute and real. */
  cwd: string
}

/** A skill as a script sees it: `description` whole, `file` the absolute path of its SKILL.md. */
export interface ListedSkill {
  name: string
  description: string
  source: 'project' | 'user'
  file: string
  warnings: string[]
}

/**
 * Prints the skills in the order of their names. What is left out or shadowed is a warning on stderr.
 * @returns the exit code: 0, or 2 where there was an argument too many
 */
export function skillsCommand({ json, input }: SkillsArgs, { home, cwd }: SkillsPlace): Promise<number> {
  return withOut(ownStreams(), async (out) => {
    const [extra] = input
    if (extra !== undefined) {
      out.fail(`Unexpected argument ${JSON.stringify(extra)}: agent skills lists the skills there are.`)
      return 2
    }
    const places = { cwd, home: userHome(), agentHome: home, trusted: isTrusted(home, cwd) }
    const { skills, warnings } = await findSkills(places)
    for (const warning of warnings) out.tell(`warning: ${warning}`)
    const list = [...skills.values()].map(listed)
    if (json) out.print(jsonLine(list))
    else for (const line of list.length === 0 ? [NONE] : table(list, cwd, columnsOf(process.stdout))) out.print(line)
    return 0
  })
}

const NONE =
  'No skills here. A skill is a directory with a SKILL.md in skills/, .agents/skills/ or .claude/skills/ of the project or of your home.'

function listed({ name, description, source, file, remarks }: Skill): ListedSkill {
  return { name, description, source, file, warnings: remarks }
}

/** The terminal's width; null in a pipe or a file, where nothing is cut. */
function columnsOf(stdout: NodeJS.WriteStream): number | null {
  return stdout.isTTY === true ? (stdout.columns ?? 80) : null
}

const WIDEST_NAME = 40

function table(list: ListedSkill[], cwd: string, columns: number | null): string[] {
  const width = Math.min(WIDEST_NAME, Math.max(...list.map(({ name }) => name.length)))
  const lines = list.flatMap(({ name, description, source, file, warnings }) => [
    `${padTo(printableLine(name), width)}  ${source.padEnd('project'.length)}  ${printableLine(description)}`,
    `  ${printableLine(shortened(file, cwd))}`,
    ...warnings.map((warning) => `  ! ${printableLine(warning)}`),
  ])
  return lines.map((line) => (columns === null ? line : clip(line, columns)))
}

/** A path inside the working directory is shown from there. */
function shortened(file: string, cwd: string): string {
  const way = relative(cwd, file)
  return way.startsWith(`..${sep}`) ? file : way
}
