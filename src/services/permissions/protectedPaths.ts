/** Files that run something later on, or decide what may run: a write to them is asked for whatever a rule says. */
import { sep } from 'node:path'

/** Directories by name, wherever they stand. */
const DIRECTORIES: ReadonlySet<string> = new Set(['.git', '.agent', '.ssh', '.husky'])

/** Shells, and programs that read commands from the user's or the project's directory. */
const FILES: ReadonlySet<string> = new Set(
  (
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout ' +
    '.kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc config.fish .envrc .xinitrc .xprofile .xsession ' +
    '.gitconfig .gitmodules .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .vimrc .exrc .emacs .gdbinit .curlrc .wgetrc ' +
    'crontab'
  ).split(' '),
)

/**
 * @param path absolute
 * @param agentHome the agent's home, which may have any name
 * @returns the part of the path for which it is asked, or null
 */
export function protectedPart(path: string, agentHome: string): string | null {
  if (path === agentHome || path.startsWith(agentHome + sep)) return agentHome
  const parts = path.split(sep)
  // Some file systems do not tell letters apart.
  const directory = parts.find((part) => DIRECTORIES.has(part.toLowerCase()))
  if (directory !== undefined) return `${directory}/`
  const name = parts.at(-1) ?? ''
  return FILES.has(name.toLowerCase()) ? name : null
}
