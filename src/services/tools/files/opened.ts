/** Opening a file for reading without ever waiting for it, and knowing it again. */
import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises'
import { codeOf, reasonOf, specialKind } from './reasons.ts'

export type Opened =
  | { kind: 'file'; handle: FileHandle; size: number; version: string }
  | { kind: 'missing' }
  /** Something else than a regular file, or one that must not be read; `reason` completes "because …". */
  | { kind: 'refused'; reason: string }

/**
 * Opens a regular file. Others are refused before they are opened, since opening a device can act on it, and once
 * more after it, since the name may lead elsewhere by then; without O_NONBLOCK a named pipe would hold the call.
 * @param real where the path must lead, if that was settled before
 * @returns `file` with a handle the caller closes
 */
export async function openRegular(path: string, real?: string): Promise<Opened> {
  try {
    const special = specialKind(await stat(path))
    if (special !== null) return { kind: 'refused', reason: `it is ${special}` }
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    const stats = await handle.stat({ bigint: true })
    const isThere = real === undefined || (await placeOf(handle, path)) === real
    const elsewhere = isThere ? null : 'it leads elsewhere than when it was allowed'
    const swapped = stats.isFile() ? elsewhere : 'it is no regular file any more'
    if (swapped === null) return { kind: 'file', handle, size: Number(stats.size), version: versionOf(stats) }
    await handle.close()
    return { kind: 'refused', reason: swapped }
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? { kind: 'missing' } : { kind: 'refused', reason: reasonOf(error) }
  }
}

/** Where an open file is: Linux tells of the file itself, elsewhere its path is resolved once more. */
async function placeOf({ fd }: FileHandle, path: string): Promise<string> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => realpath(path))
}

/** A string that changes with any change of a file, as far as the system tells: which file, its size and its times. */
export function versionOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':')
}

/** @returns the file's version now, null where there is none */
export async function currentVersion(path: string): Promise<string | null> {
  try {
    return versionOf(await stat(path, { bigint: true }))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null
    throw error
  }
}

/**
 * The bytes of an open file from its beginning, in pieces. A file that has nothing to give at the moment (kernel
 * files opened without waiting) ends there.
 */
export async function* pieces(handle: FileHandle, signal?: AbortSignal): AsyncGenerator<Buffer> {
  for (;;) {
    signal?.throwIfAborted()
    const piece = Buffer.allocUnsafe(PIECE)
    const read = await handle.read(piece, 0, PIECE, null).catch((error: unknown) => {
      if (codeOf(error) === 'EAGAIN') return { bytesRead: 0 }
      throw error
    })
    if (read.bytesRead === 0) return
    yield piece.subarray(0, read.bytesRead)
  }
}

const PIECE = 256 * 1024
