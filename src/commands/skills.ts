/** `agent skills [--json]`: the skills of this directory, where they come from, and what is wrong with them. */
import { relative, sep } from 'node:path'
import { createSink } from '../services/output/sink.ts'
import { userHome } from '../services/paths.ts'
import { isTrusted } from '../services/settings/trust.ts'
import { findSkills, type Skill } from '../services/skills/index.ts'
import { clip, padTo, printable, printableLine } from '../services/text.ts'

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
export async function skillsCommand({ json, input }: SkillsArgs, { home, cwd }: SkillsPlace): Promise<number> {
  const stdout = createSink(process.stdout, () => {})
  const stderr = createSink(process.stderr, () => {})
  const [extra] = input
  if (extra !== undefined) {
    stderr.write(
      `agent: Unexpected argument ${printable(JSON.stringify(extra))}: agent skills lists the skills there are.\n`,
    )
    await stderr.flush()
    return 2
  }
  const places = { cwd, home: userHome(), agentHome: home, trusted: isTrusted(home, cwd) }
  const { skills, warnings } = await findSkills(places)
  for (const warning of warnings) stderr.write(`warning: ${printable(warning)}\n`)
  const list = [...skills.values()].map(listed)
  if (json) stdout.write(`${JSON.stringify(list)}\n`)
  else stdout.write(list.length === 0 ? NONE : table(list, cwd, columnsOf(process.stdout)))
  await Promise.all([stdout.flush(), stderr.flush()])
  return 0
}

const NONE =
  'No skills here. A skill is a directory with a SKILL.md in skills/, .agents/skills/ or .claude/skills/ of the project or of your home.\n'

function listed({ name, description, source, file, remarks }: Skill): ListedSkill {
  return { name, description, source, file, warnings: remarks }
}

/** The terminal's width; null in a pipe or a file, where nothing is cut. */
function columnsOf(stdout: NodeJS.WriteStream): number | null {
  return stdout.isTTY === true ? (stdout.columns ?? 80) : null
}

const WIDEST_NAME = 40

function table(list: ListedSkill[], cwd: string, columns: number | null): string {
  const width = Math.min(WIDEST_NAME, Math.max(...list.map(({ name }) => name.length)))
  const lines = list.flatMap(({ name, description, source, file, warnings }) => [
    `${padTo(printableLine(name), width)}  ${source.padEnd('project'.length)}  ${printableLine(description)}`,
    `  ${printableLine(shortened(file, cwd))}`,
    ...warnings.map((warning) => `  ! ${printableLine(warning)}`),
  ])
  return lines.map((line) => `${columns === null ? line : clip(line, columns)}\n`).join('')
}

/** A path inside the working directory is shown from there. */
function shortened(file: string, cwd: string): string {
  const way = relative(cwd, file)
  return way.startsWith(`..${sep}`) ? file : way
}
