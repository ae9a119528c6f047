/** Which .gitignore files count for a search. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside, realTarget } from '../../paths.ts'

/**
 * In a repository those of the repository, as git has it: ripgrep stops at its root only where it may look for it.
 * Elsewhere the files count too, but none above the working directory: a home whose .gitignore is `*`, for its dot
 * files, would hide every project in it.
 * @param directory that ripgrep starts in
 */
export function ignoreArgs(directory: string, cwd: string): string[] {
  const [start, top] = [realTarget(directory), realTarget(cwd)]
  if (ancestors(start).some((one) => existsSync(join(one, '.git')))) return []
  // Between the two ripgrep reads all parents or none.
  const isBelow = start !== top && isInside(top, start)
  const isHiddenFromAbove = ancestors(dirname(top)).some((one) => existsSync(join(one, '.gitignore')))
  return isBelow && !isHiddenFromAbove ? ['--no-require-git'] : ['--no-require-git', '--no-ignore-parent']
}

/** @returns the directory and all above it, the nearest first */
function ancestors(directory: string): string[] {
  const above = dirname(directory)
  return above === directory ? [directory] : [directory, ...ancestors(above)]
}
