/** Writing a file whole or not at all. */
import { constants } from 'node:fs'
import { access, type FileHandle, open, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type HeldDirectory, holdDirectory } from './heldDirectory.ts'
import { currentVersion } from './opened.ts'
import { codeOf, reasonOf } from './reasons.ts'

export type Replaced = { kind: 'written' } | { kind: 'changedMeanwhile' } | { kind: 'failed'; reason: string }

/**
 * Puts `content` at `target`, making its directories. A reader sees the old file or the new one, also after a power
 * cut: a new file beside it is written, synced and renamed. Mode and owner are kept; of several hard links only this
 * name gets the new content, which is what keeps a package store that others link to unharmed.
 * @param target real path of the file (a rename would replace a symlink)
 * @param version the file's version the content rests on (`versionOf`), null where there was none
 * @returns `changedMeanwhile` where that is no longer so: nothing was written then
 */
export async function replaceFile(target: string, content: Uint8Array, version: string | null): Promise<Replaced> {
  const made: string[] = []
  const replaced = await attempt(target, content, version, made)
  // Deepest first; one that someone has put something into meanwhile stays.
  if (replaced.kind !== 'written') for (const directory of made.reverse()) await rmdir(directory).catch(() => undefined)
  return replaced
}

async function attempt(target: string, content: Uint8Array, version: string | null, made: string[]): Promise<Replaced> {
  let held: HeldDirectory
  try {
    held = await holdDirectory(dirname(target), made)
  } catch (error) {
    const nowhere = codeOf(error) === 'ENOENT'
    return { kind: 'failed', reason: nowhere ? 'its directory cannot be made' : reasonOf(error) }
  }
  const file = held.at(basename(target))
  const aside = held.at(asideName(target))
  try {
    if (version !== null) await access(file, constants.W_OK)
    await writeAside(aside, content, version === null ? null : file)
    if ((await currentVersion(file)) !== version) return { kind: 'changedMeanwhile' }
    await held.check()
    await rename(aside, file)
    return { kind: 'written' }
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) }
  } finally {
    await rm(aside, { force: true }).catch(() => undefined)
    await held.close()
  }
}

let writes = 0

/** A name no other write takes, short enough where the file's own is at the limit. */
function asideName(target: string): string {
  writes += 1
  return `.${basename(target).slice(0, 20)}.agent-${process.pid}-${Date.now().toString(36)}-${writes}`
}

async function writeAside(aside: string, content: Uint8Array, like: string | null): Promise<void> {
  // Private until it has the old file's mode: a secret must not be readable for a moment.
  const handle = await open(aside, 'wx', like === null ? 0o666 : 0o600)
  try {
    await handle.writeFile(content)
    if (like !== null) await copyOwnerAndMode(handle, like)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function copyOwnerAndMode(handle: FileHandle, like: string): Promise<void> {
  const old = await stat(like)
  const own = await handle.stat()
  if (old.uid !== own.uid || old.gid !== own.gid) {
    // Only root may give files away; for others the new file is theirs, as with every editor that renames.
    await handle.chown(old.uid, old.gid).catch(() => undefined)
  }
  await handle.chmod(old.mode & 0o7777)
}
