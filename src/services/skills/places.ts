/** Where skills lie: the folders of the project and of the user (contract.md, section 9). */
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside } from '../paths.ts'

export type SkillSource = 'project' | 'user'

export interface SkillPlaces {
  /** Working directory, absolute and real. */
  cwd: string
  /** The user's home directory. */
  home: string
  /** `$AGENT_HOME`, else `~/.agent`. */
  agentHome: string
  /** Whether the user trusts this directory: then the project's skills may be links to anywhere. */
  trusted: boolean
}

export interface SkillFolder {
  path: string
  source: SkillSource
  /** Real path of the directory that its files must lie in; null where they may lie anywhere. */
  within: string | null
}

const PROJECT_FOLDERS = ['skills', '.agents/skills', '.claude/skills']

/**
 * @returns the folders that exist, in the order in which they win: the project's before the user's; of the project
 *   those of the working directory first, then those of the directories above it up to the root of its repository.
 *   Each folder once by its real path; one that is the user's own counts as the user's (a run in the home directory).
 */
export function skillFolders({ cwd, home, agentHome, trusted }: SkillPlaces): SkillFolder[] {
  const own = [join(agentHome, 'skills'), join(home, '.agents/skills'), join(home, '.claude/skills')]
  const directories = projectDirectories(cwd, realOf(home))
  const within = trusted ? null : (directories.at(-1) ?? cwd)
  const users = new Set(own.map(realOf))
  const seen = new Set<string>()
  const folders: SkillFolder[] = [
    ...directories
      .flatMap((directory) => PROJECT_FOLDERS.map((name) => join(directory, name)))
      .filter((path) => !users.has(realOf(path)))
      .map((path): SkillFolder => ({ path, source: 'project', within })),
    ...own.map((path): SkillFolder => ({ path, source: 'user', within: null })),
  ]
  return folders.filter(({ path }) => {
    const real = realOf(path)
    if (real === null || seen.has(real)) return false
    seen.add(real)
    return true
  })
}

/**
 * The working directory and those above it up to the repository's root; only itself outside a repository. One that holds
 * the whole home (for dotfiles) does not make all below it one project, whose files might lead anywhere in the home.
 */
function projectDirectories(cwd: string, home: string | null): string[] {
  const way = [cwd]
  for (let at = cwd; ; at = dirname(at)) {
    if (at !== cwd) way.push(at)
    if (existsSync(join(at, '.git'))) return home !== null && isInside(at, home) ? [cwd] : way
    if (dirname(at) === at) return [cwd]
  }
}

function realOf(path: string): string | null {
  try {
    return realpathSync.native(path)
  } catch {
    return null
  }
}
