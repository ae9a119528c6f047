/**
 * A directory held open while a file in it is written: whoever swaps it for a link meanwhile does not lead the write
 * elsewhere. Node has no `openat`; on Linux `/proc/self/fd/<n>/` is the same, elsewhere the place is looked at again.
 */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf } from './reasons.ts'

export interface HeldDirectory {
  /** @returns a path to a name in this very directory */
  at(name: string): string
  /** Rejects with SWAPPED where the directory's path leads elsewhere by now. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The code of the error: the place is not what it was when the path was resolved. */
export const SWAPPED = 'SWAPPED'

/** Opens a directory only to name files in it, which takes no right to read it; Linux alone has it. */
const O_PATH = process.platform === 'linux' ? 0o10000000 : 0

/**
 * @param path a real path; what is missing of it is made
 * @param made gets the directories that were made, outermost first
 * @returns the directory; rejects with a system's error, or SWAPPED where the path leads through a link by now
 */
export async function holdDirectory(path: string, made: string[]): Promise<HeldDirectory> {
  try {
    return await hold(path, path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
  }
  const parent = await holdDirectory(dirname(path), made)
  try {
    // Not with `recursive`: where a file system has no such place though the parent is there, Node 20 never ends.
    await mkdir(parent.at(basename(path))).then(
      () => made.push(path),
      (error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error
      },
    )
    return await hold(parent.at(basename(path)), path)
  } finally {
    await parent.close()
  }
}

/** @param way how to reach it  @param path where it must be */
async function hold(way: string, path: string): Promise<HeldDirectory> {
  const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_RDONLY } = constants
  const handle = await open(way, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_PATH)
  const own = `/proc/self/fd/${handle.fd}`
  const place = await readlink(own).catch(() => null)
  const held = place === null ? byName(path, handle) : byHandle(own, path, handle)
  try {
    await held.check()
    return held
  } catch (error) {
    await handle.close()
    throw error
  }
}

function byHandle(own: string, path: string, handle: FileHandle): HeldDirectory {
  return {
    at: (name) => join(own, name),
    check: async () => {
      if ((await readlink(own)) !== path) throw swapped()
    },
    close: () => handle.close(),
  }
}

function byName(path: string, handle: FileHandle): HeldDirectory {
  return {
    at: (name) => join(path, name),
    check: async () => {
      if ((await realpath(path)) !== path) throw swapped()
    },
    close: () => handle.close(),
  }
}

function swapped(): Error {
  return Object.assign(new Error('The directory was moved or replaced.'), { code: SWAPPED })
}
