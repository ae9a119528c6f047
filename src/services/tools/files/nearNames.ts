/** What the model may have meant by a path that leads nowhere. */
import { readdir, readlink } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'

const MOST_NAMES = 5

/**
 * @param path absolute
 * @returns a sentence that names the file as it is spelt in that directory, or the first directory that is not there
 */
export async function whatIsThere(path: string): Promise<string> {
  const directory = dirname(path)
  const names = await namesIn(directory)
  if (names === null) return directory === path ? '' : `The directory ${await firstMissing(directory)} does not exist.`
  if (names.includes(basename(path))) return danglingLink(path)
  const near = nearest(basename(path), names)
  if (near.length > 0) return `Did you mean ${near.map((name) => join(directory, name)).join(' or ')}?`
  return names.length === 0 ? `The directory ${directory} is empty.` : 'Find it with glob.'
}

/** The name is there, and yet the file is not. */
async function danglingLink(path: string): Promise<string> {
  try {
    return `It is a symbolic link to ${await readlink(path)}, which is not there.`
  } catch {
    return 'Try again: it was made or removed just now.'
  }
}

async function namesIn(directory: string): Promise<string[] | null> {
  try {
    return await readdir(directory)
  } catch {
    return null
  }
}

async function firstMissing(directory: string): Promise<string> {
  const parent = dirname(directory)
  if (parent === directory || (await namesIn(parent)) !== null) return directory
  return firstMissing(parent)
}

/** Same letters in another case, same name with another extension, or a slip or two of the keyboard; best first. */
function nearest(wanted: string, names: string[]): string[] {
  const slips = Math.max(1, Math.floor(wanted.length / 4))
  return names
    .map((name) => ({ name, distance: distanceOf(wanted, name) }))
    .filter(({ distance }) => distance <= slips)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ name }) => name)
}

function distanceOf(a: string, b: string): number {
  const [small, other] = [a.toLowerCase().normalize(), b.toLowerCase().normalize()]
  if (small === other) return 0
  if (basename(small, extname(small)) === basename(other, extname(other))) return 1
  return Math.abs(a.length - b.length) > a.length / 4 + 1 ? Number.POSITIVE_INFINITY : editDistance(small, other)
}

/** Levenshtein's distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
