/**
 * Which files an instruction file may pull into the prompt on its own: a cloned project must not be able to send
 * the user's private files to the model (contract.md, section 5).
 */
import { lstatSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { isInside } from '../paths.ts'

export interface Wanted {
  /** Real path of the directory that the importing file stands in. */
  from: string
  /** As written after the `@`. */
  typed: string
  /** Absolute, before symlinks. */
  path: string
  /** Absolute, after symlinks. */
  real: string
}

/**
 * @returns a check that says whether the file may be followed without trust: inside the git repository of the
 *   importing file; or, where there is none, by a relative path that does not go up and then through a hidden
 *   file or directory. It remembers where repositories are, so make a new one for each reading.
 */
export function createBoundary(): (wanted: Wanted) => boolean {
  const roots = new Map<string, string | null>()
  return ({ from, typed, path, real }) => {
    const root = repositoryOf(from, roots)
    if (root !== null) return isInside(root, real)
    if (isAbsolute(typed) || isHome(typed)) return false
    return !goesUpToHidden(relative(from, path)) && !goesUpToHidden(relative(from, real))
  }
}

/** @returns whether the path begins at the user's home: `~` or `~/…`. */
function isHome(typed: string): boolean {
  return typed === '~' || typed.startsWith('~/')
}

/** @returns the path with `~` replaced by the user's home. */
export function expandHome(typed: string, home: string): string {
  return isHome(typed) ? join(home, typed.slice(1)) : typed
}

function repositoryOf(directory: string, roots: Map<string, string | null>): string | null {
  const known = roots.get(directory)
  if (known !== undefined) return known
  const parent = dirname(directory)
  const root = hasDotGit(directory) ? directory : parent === directory ? null : repositoryOf(parent, roots)
  roots.set(directory, root)
  return root
}

function hasDotGit(directory: string): boolean {
  try {
    return lstatSync(join(directory, '.git')) !== undefined
  } catch {
    return false
  }
}

function goesUpToHidden(way: string): boolean {
  const steps = way.split(sep)
  return steps[0] === '..' && steps.some((step) => step.startsWith('.') && step !== '..')
}
