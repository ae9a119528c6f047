/** What stands in `Edit(…)` and `Read(…)`: patterns as in a .gitignore. */
import { basename, dirname, join, relative, sep } from 'node:path'
import { isInside, LONGEST_PATH, realTarget } from '../paths.ts'
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
 * @param purpose what forbids does not tell upper from lower case, as some file systems do not, and holds for where a
 *   link in the pattern itself leads as well
 */
export async function createPathPattern(
  specifier: string,
  { cwd, home }: RuleBase,
  purpose: 'allow' | 'forbid',
): Promise<Result<PathPattern>> {
  if (specifier.startsWith('!')) return { ok: false, message: 'a pattern cannot begin with !' }
  const { default: ignore } = await import('ignore')
  const written = anchored(specifier, cwd, home)
  const body = written.pattern.replace(/\/+$/, '')
  if (body === '') return { ok: false, message: 'its pattern is empty' }
  if (!ignore.isPathValid(body.replace(/^\/+/, '')))
    return { ok: false, message: 'a path in it cannot have . or .. as a part; give it from the root, as //path' }
  const places = [{ ...written, pattern: body }]
  if (purpose === 'forbid') places.push(...whereItLeads(written.base, body))
  else if (written.base === home) places.push({ base: realTarget(home), pattern: body })
  const matchers = places.map(({ base, pattern }) => {
    const matcher = ignore({ ignorecase: purpose === 'forbid' }).add(pattern)
    return (path: string): boolean => {
      const way = isInside(base, path) ? relative(base, path) : ''
      return way !== '' && matcher.ignores(sep === '/' ? way : way.replaceAll(sep, '/'))
    }
  })
  const matches = (path: string): boolean => path.length <= LONGEST_PATH && matchers.some((match) => match(path))
  // What is in a directory that matches, matches.
  return { ok: true, value: { matches, covers: (directory) => matches(`${directory}/${ANY_NAME}`) } }
}

/** No pattern names it, so what matches it matches everything there. */
const ANY_NAME = '\u0001'

interface Place {
  base: string
  pattern: string
}

function anchored(specifier: string, cwd: string, home: string): Place {
  if (specifier.startsWith('//')) return { base: '/', pattern: specifier.slice(1) }
  if (specifier.startsWith('~/')) return { base: home, pattern: specifier.slice(1) }
  if (specifier.startsWith('./')) return { base: cwd, pattern: specifier.slice(1) }
  return { base: cwd, pattern: specifier }
}

/** The same pattern from the directory that its names lead to, as far as they are no wildcards; none where that is the same. */
function whereItLeads(base: string, pattern: string): Place[] {
  if (!pattern.includes('/')) return []
  const parts = pattern.split('/').filter((part) => part !== '')
  const wild = parts.findIndex((part) => /[*?[\\]/.test(part))
  const names = wild < 0 ? parts : parts.slice(0, wild)
  const named = join(base, ...names)
  const real = realTarget(named)
  if (real === named) return []
  if (wild >= 0) return [{ base: real, pattern: `/${parts.slice(wild).join('/')}` }]
  return [{ base: dirname(real), pattern: `/${basename(real).replace(/[\\*?[\]!#]/g, '\\$&')}` }]
}
