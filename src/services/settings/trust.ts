/**
 * The directories a user trusts, kept in `$AGENT_HOME/trust.json` as `{"trusted": ["/absolute/real/path"]}`.
 * A trusted directory's settings and instructions count like the user's own, those of its sub-directories too.
 */
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Result } from '../ports.ts'
import { type Change, changeOwnFile, readOwnFile } from './ownFile.ts'

/** @returns the file's path. */
export function trustFile(home: string): string {
  return join(home, 'trust.json')
}

/** @returns the trusted directories; none where the file is missing or cannot be understood. */
export function readTrusted(home: string): string[] {
  const trusted = listTrusted(home)
  return trusted.ok ? trusted.value : []
}

/** @returns the trusted directories; a sentence where the file cannot be read or understood, so that none counts. */
export function listTrusted(home: string): Result<string[]> {
  const file = trustFile(home)
  const text = readOwnFile(file)
  return text.ok ? trustedIn(file, text.value) : text
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
export function changeTrust(home: string, change: 'add' | 'remove', directory: string): Promise<Result<boolean>> {
  const file = trustFile(home)
  return changeOwnFile(file, (text): Result<Change<boolean>> => {
    const before = trustedIn(file, text)
    if (!before.ok) return before
    const there = before.value.includes(directory)
    if (there === (change === 'add')) return { ok: true, value: { text: null, value: false } }
    const trusted =
      change === 'add' ? [...before.value, directory].sort() : before.value.filter((entry) => entry !== directory)
    return { ok: true, value: { text: `${JSON.stringify({ trusted }, null, 2)}\n`, value: true } }
  })
}

/** Before a change a file that is not understood is an error: what it lists must not be lost. */
function trustedIn(file: string, text: string | null): Result<string[]> {
  if (text === null) return { ok: true, value: [] }
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
