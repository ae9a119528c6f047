/** What stands in `Edit(…)` and `Read(…)`: patterns as in a .gitignore. */
import { relative, sep } from 'node:path'
import { isInside } from '../paths.ts'
import type { Result } from '../ports.ts'

export interface RuleBase {
  /** The working directory as a real path. */
  cwd: string
  /** The user's home. */
  home: string
}

export interface PathPattern {
  /** @param path absolute */
  matches(path: string): boolean
  /** @returns whether all that is in this directory matches */
  covers(directory: string): boolean
}

/**
 * `//x` begins at the file system's root, `~/x` in the user's home, `/x` and `./x` in the working directory; `x` and
 * `x/y` are relative to it as in a .gitignore, a name without a slash at any depth.
 * @param letters `anyCase` for what forbids: some file systems do not tell letters apart
 */
export async function createPathPattern(
  specifier: string,
  { cwd, home }: RuleBase,
  letters: 'exact' | 'anyCase',
): Promise<Result<PathPattern>> {
  if (specifier.startsWith('!')) return { ok: false, message: 'a pattern cannot begin with !' }
  const { default: ignore } = await import('ignore')
  const [base, pattern] = anchored(specifier, cwd, home)
  const body = pattern.replace(/\/+$/, '')
  if (body === '') return { ok: false, message: 'its pattern is empty' }
  if (!ignore.isPathValid(body.replace(/^\/+/, '')))
    return { ok: false, message: 'a path in it cannot have . or .. as a part; give it from the root, as //path' }
  const matcher = ignore({ ignorecase: letters === 'anyCase' }).add(body)
  const matches = (path: string): boolean => {
    if (!isInside(base, path)) return false
    const way = relative(base, path)
    return way !== '' && matcher.ignores(sep === '/' ? way : way.replaceAll(sep, '/'))
  }
  return {
    ok: true,
    value: { matches, covers: (directory) => matches(directory) || matches(`${directory}/${ANY_NAME}`) },
  }
}

/** No pattern names it, so what matches it matches everything there. */
const ANY_NAME = '\u0001'

function anchored(specifier: string, cwd: string, home: string): [base: string, pattern: string] {
  if (specifier.startsWith('//')) return ['/', specifier.slice(1)]
  if (specifier.startsWith('~/')) return [home, specifier.slice(1)]
  if (specifier.startsWith('./')) return [cwd, specifier.slice(1)]
  return [cwd, specifier]
}
