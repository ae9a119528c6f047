/**
 * The directories a user trusts, kept in `$AGENT_HOME/trust.json` as `{"trusted": ["/absolute/real/path"]}`.
 * A trusted directory's settings and instructions count like the user's own, those of its sub-directories too.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Result } from '../ports.ts'
import { writePrivate } from './writePrivate.ts'

/** @returns the file's path. */
export function trustFile(home: string): string {
  return join(home, 'trust.json')
}

/** @returns the trusted directories; none where the file is missing or cannot be understood. */
export function readTrusted(home: string): string[] {
  try {
    // Opening a pipe would wait for a writer.
    if (!statSync(trustFile(home)).isFile()) return []
    const value: unknown = JSON.parse(readFileSync(trustFile(home), 'utf8').replace(/^\ufeff/, ''))
    const trusted = (value as { trusted?: unknown } | null)?.trusted
    return Array.isArray(trusted) ? trusted.filter((entry): entry is string => typeof entry === 'string') : []
  } catch {
    return []
  }
}

/** @returns the trusted directories; a sentence where the file cannot be read or understood, so that none counts. */
export function listTrusted(home: string): Result<string[]> {
  return trustedIn(trustFile(home))
}

/**
 * @param home the agent's home (`$AGENT_HOME`)
 * @param directory a directory by any of its names
 * @returns whether its real path, or that of a directory above it, is listed
 */
export function isTrusted(home: string, directory: string): boolean {
  const trusted = readTrusted(home)
  if (trusted.length === 0) return false
  let real: string
  try {
    real = realpathSync(directory)
  } catch {
    return false
  }
  for (let at = real; ; at = dirname(at)) {
    if (trusted.includes(at)) return true
    if (at === dirname(at)) return false
  }
}

/**
 * Adds a directory, or takes one away.
 * @param directory as a real path
 * @returns whether the list changed; a sentence where the file cannot be understood or written, and is as it was
 */
export function changeTrust(home: string, change: 'add' | 'remove', directory: string): Result<boolean> {
  const file = trustFile(home)
  const before = trustedIn(file)
  if (!before.ok) return before
  const there = before.value.includes(directory)
  if (there === (change === 'add')) return { ok: true, value: false }
  const trusted =
    change === 'add' ? [...before.value, directory].sort() : before.value.filter((entry) => entry !== directory)
  const written = writePrivate(file, `${JSON.stringify({ trusted }, null, 2)}\n`)
  return written.ok ? { ok: true, value: true } : written
}

function unreadable(file: string, code: string | undefined): string {
  return `${file} cannot be read (${code}). Check its access rights, or set AGENT_HOME to another directory.`
}

/** Before a change a file that is not understood is an error: what it lists must not be lost. */
function trustedIn(file: string): Result<string[]> {
  let text: string
  try {
    if (!statSync(file).isFile()) return { ok: false, message: `${file} is not a file. Move it away.` }
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? { ok: true, value: [] } : { ok: false, message: unreadable(file, code) }
  }
  try {
    const { trusted } = JSON.parse(text.replace(/^\ufeff/, '')) as { trusted: unknown }
    if (Array.isArray(trusted) && trusted.every((entry) => typeof entry === 'string'))
      return { ok: true, value: trusted }
  } catch {
    // Said below.
  }
  return {
    ok: false,
    message: `${file} is not understood: it should be {"trusted": ["/a/directory"]}. Mend or remove it.`,
  }
}
