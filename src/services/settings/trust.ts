/**
 * The directories a user trusts, kept in `$AGENT_HOME/trust.json` as `{"trusted": ["/absolute/real/path"]}`.
 * A trusted directory's settings and instructions count like the user's own, those of its sub-directories too.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** @returns the file's path. */
export function trustFile(home: string): string {
  return join(home, 'trust.json')
}

/** @returns the trusted directories; none where the file is missing or cannot be understood. */
export function readTrusted(home: string): string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(trustFile(home), 'utf8').replace(/^\ufeff/, ''))
    const trusted = (value as { trusted?: unknown } | null)?.trusted
    return Array.isArray(trusted) ? trusted.filter((entry): entry is string => typeof entry === 'string') : []
  } catch {
    return []
  }
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
