/** "Always" at a question: a rule more in the user's settings, the rest of the file as it was, comments and all. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from '../ports.ts'
import { type Change, changeOwnFile } from './ownFile.ts'

/**
 * Adds rules to `permissions.allow` of `$AGENT_HOME/settings.json`, those that are not there yet.
 * @returns a sentence where the file cannot be read, understood or written; it is as it was then
 */
export async function keepRules(home: string, rules: readonly string[]): Promise<Result<null>> {
  const file = join(home, 'settings.json')
  const { addAllowed } = await import('./addAllowed.ts')
  return changeOwnFile(file, (text): Result<Change<null>> => {
    // Settings with this rule alone would stand where others are meant to be (loadSettings refuses such a link too).
    if (text === null && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      return { ok: false, message: `${file} is a link to nothing. Mend or remove it.` }
    const changed = addAllowed(text ?? '', rules)
    if (changed === null)
      return { ok: false, message: `${file} is not understood; mend it, then add the rule by hand.` }
    return { ok: true, value: { text: changed === text ? null : changed, value: null } }
  })
}
