/** The file a write is meant for, as it is before the write. */
import type { ToolEnv } from '../../ports.ts'
import { openRegular } from './opened.ts'
import { absolutePath, movedSince, realTarget } from './paths.ts'
import { standingOf } from './seen.ts'

type Place = Pick<ToolEnv, 'cwd' | 'seen' | 'approved'>

export type Target =
  /** `real` is where the bytes go, `version` what `replaceFile` compares. */
  | { kind: 'file'; real: string; size: number; version: string }
  | { kind: 'missing'; real: string }
  /** A whole sentence for the model. */
  | { kind: 'refused'; message: string }

/**
 * Looks where a path leads and whether it may be written: not where something else than a file is, nor where someone
 * else changed the file since the agent saw it.
 * @param path as the model gave it
 */
export async function writeTarget(path: string, { cwd, seen, approved }: Place): Promise<Target> {
  if (path.endsWith('/')) {
    return {
      kind: 'refused',
      message: `${path} names a directory; give the path of a file, without a slash at its end.`,
    }
  }
  const absolute = absolutePath(path, cwd)
  const real = realTarget(absolute)
  const moved = movedSince(absolute, real, approved)
  if (moved !== null) return { kind: 'refused', message: `${path} cannot be written because ${moved}.` }
  const opened = await openRegular(real)
  switch (opened.kind) {
    case 'missing':
      return { kind: 'missing', real }
    case 'refused':
      return { kind: 'refused', message: `${path} cannot be written because ${opened.reason}.` }
    case 'file': {
      await opened.handle.close()
      if ((await standingOf(seen, real)) === 'changed') return { kind: 'refused', message: changedMessage(path) }
      return { kind: 'file', real, size: opened.size, version: opened.version }
    }
  }
}

/** What a write says that is refused for the sake of someone else's change. */
export function changedMessage(path: string): string {
  return `${path} was changed since you read it, by someone else or by a command; nothing was written. Read it again with read_file, then repeat the change on what it holds now.`
}
