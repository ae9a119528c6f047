/** Writing the user's own files: whole or not at all, for nobody else to read. */
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { realTarget } from '../paths.ts'
import type { Result } from '../ports.ts'

/** @param path absolute; a link is followed, so that a file kept elsewhere stays there */
export function writePrivate(path: string, text: string): Result<null> {
  const target = realTarget(path)
  const aside = `${target}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    const mode = (statSync(target, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o700
    writeFileSync(aside, text, { flag: 'wx', mode })
    renameSync(aside, target)
    return { ok: true, value: null }
  } catch (error) {
    rmSync(aside, { force: true })
    const { code, message } = error as NodeJS.ErrnoException
    return { ok: false, message: `${path} cannot be written (${code ?? message}). Check its access rights.` }
  }
}
