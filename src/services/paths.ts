/**
 * Where a path leads. One resolver for everything that judges or opens a path: tools, permissions, instructions. What
 * is judged is then what is opened.
 */
import { readlinkSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** As many symlinks as Linux follows in one path. */
const MAX_SYMLINKS = 40

/** Characters; there is no file to open under a longer path. */
export const LONGEST_PATH = 4096

/** @returns the user's home; the root where a user has none, as in a container under any number */
export function userHome(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

/**
 * @param path relative to `cwd`, absolute, or beginning with `~/` (`~user` is a name like any other)
 * @returns the absolute path with `.` and `..` resolved by name, so that what is permitted is what is opened
 */
export function absolutePath(path: string, cwd: string): string {
  return resolve(cwd, path === '~' || path.startsWith('~/') ? userHome() + path.slice(1) : path)
}

/**
 * The real path of a file that exists or is to be made: every symlink followed, also one that leads nowhere yet.
 * @param path absolute
 * @returns an absolute path; that of the last link looked at where symlinks go round in circles, the path itself where
 *   it is too long to be any. Never throws.
 */
export function realTarget(path: string): string {
  return path.length > LONGEST_PATH ? path : follow(path, { links: MAX_SYMLINKS })
}

/** @returns `realTarget` for many paths at one moment: each directory is looked up once */
export function realTargets(): (path: string) => string {
  const directories = new Map<string, string>()
  return (path) => {
    const parent = dirname(path)
    const directory = directories.get(parent) ?? realTarget(parent)
    directories.set(parent, directory)
    const place = join(directory, basename(path))
    return linkAt(place) === null ? place : realTarget(place)
  }
}

function follow(path: string, left: { links: number }): string {
  const parent = dirname(path)
  if (parent === path) return path
  const place = join(realDirectory(parent, left), basename(path))
  const link = left.links > 0 ? linkAt(place) : null
  if (link === null) return place
  left.links -= 1
  return follow(resolve(dirname(place), link), left)
}

function realDirectory(path: string, left: { links: number }): string {
  try {
    return realpathSync.native(path)
  } catch {
    return follow(path, left)
  }
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

/** @returns whether `path` is `directory` or lies below it, by name: give both as real paths. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
