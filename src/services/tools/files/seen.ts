/**
 * The guard against overwriting what someone else changed. Every read and write of a tool is noted with the content's
 * hash, not its time: a change within one tick of the clock, or one that puts the time back, counts too.
 *
 * - A file never seen may be overwritten: a call that names it means it.
 * - A file changed since it was seen is refused until it is read again.
 * - A change made while a command of the agent ran that names the file is the agent's own (`sed -i … f`). Nobody can
 *   tell for other changes in that time (a formatter over the whole tree, the user's editor): they are refused once.
 */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { SeenFile, SeenFiles } from '../../ports.ts'
import { currentVersion, openRegular, pieces } from './opened.ts'

/** Bytes up to which a file's whole content is read to know it again; larger ones are known by size and times. */
export const HASHED_SIZE = 16 * 1024 * 1024

/** @returns SHA-256 (hex) of a content */
export async function hashOf(content: Uint8Array): Promise<string> {
  return (await newHash()).update(content).digest('hex')
}

/** A SHA-256 to be fed piece by piece. */
export async function newHash() {
  // Loaded where needed: it costs some milliseconds at start-up.
  const { createHash } = await import('node:crypto')
  return createHash('sha256')
}

/** Notes what the agent has just written. @param path its real path */
export async function noteWritten(seen: SeenFiles, path: string, content: Uint8Array): Promise<void> {
  if (content.length <= HASHED_SIZE) {
    seen.set(path, { kind: 'content', hash: await hashOf(content) })
    return
  }
  const version = await currentVersion(path)
  if (version !== null) seen.set(path, { kind: 'version', version })
}

/** How a file stands to what the agent knows of it. */
export type Standing = 'unseen' | 'asSeen' | 'changed' | 'gone'

/** @param path the file's real path */
export async function standingOf(seen: SeenFiles, path: string): Promise<Standing> {
  const known = seen.get(path)
  if (known === undefined) return 'unseen'
  const now = await currentState(path, known)
  if (now === null) return 'gone'
  return now ? 'asSeen' : 'changed'
}

/** @returns whether the file is as known, null where it is no readable file any more */
async function currentState(path: string, known: SeenFile): Promise<boolean | null> {
  switch (known.kind) {
    case 'content': {
      const state = await snapshot(path)
      return state === null ? null : state.kind === 'content' && state.hash === known.hash
    }
    case 'version': {
      const version = await currentVersion(path)
      return version === null ? null : version === known.version
    }
    case 'time': {
      const stats = await stat(path).catch(() => null)
      return stats === null ? null : Math.floor(Math.max(stats.mtimeMs, stats.ctimeMs)) <= known.at
    }
  }
}

/** What there is to know of a file now, null where there is no readable file. */
async function snapshot(path: string): Promise<SeenFile | null> {
  const opened = await openRegular(path)
  if (opened.kind !== 'file') return null
  try {
    if (opened.size > HASHED_SIZE) return { kind: 'version', version: opened.version }
    const hash = await newHash()
    let size = 0
    for await (const piece of pieces(opened.handle)) {
      size += piece.length
      if (size > HASHED_SIZE) return { kind: 'version', version: opened.version }
      hash.update(piece)
    }
    return { kind: 'content', hash: hash.digest('hex') }
  } finally {
    await opened.handle.close()
  }
}

/**
 * Runs a command of the agent, and takes what it changed in files it names as seen, as long as nobody else had
 * changed them before.
 */
export async function asOwnCommand<T>(seen: SeenFiles, command: string, run: () => Promise<T>): Promise<T> {
  const named = [...seen.keys()].filter((path) => names(command, path))
  const standings = await Promise.all(named.map((path) => standingOf(seen, path)))
  try {
    return await run()
  } finally {
    await Promise.all(
      named.map(async (path, index) => {
        if (standings[index] !== 'asSeen') return
        const now = await snapshot(path)
        if (now === null) seen.delete(path)
        else seen.set(path, now)
      }),
    )
  }
}

/** Whether a command holds the file's name as a word of its own. */
function names(command: string, path: string): boolean {
  const name = basename(path)
  for (let at = command.indexOf(name); at !== -1; at = command.indexOf(name, at + 1)) {
    const around = (command[at - 1] ?? ' ') + (command[at + name.length] ?? ' ')
    if (!/[\p{L}\p{N}_]/u.test(around)) return true
  }
  return false
}
