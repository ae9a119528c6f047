/** Where a path really leads: real paths decide, not their spelling (contract.md, 8). */
import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

/**
 * @param path absolute; it need not exist
 * @returns the real path of its nearest existing ancestor (itself, if it exists) with the rest appended
 */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realPathOf(parent), basename(path))
  }
}

/** @returns whether `path` is `directory` or lies below it; both real paths. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
