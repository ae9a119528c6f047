/** "Always" at a question: a rule more in the user's settings, the rest of the file as it was, comments and all. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from '../ports.ts'
import { writePrivate } from './writePrivate.ts'

/**
 * Adds rules to `permissions.allow` of `$AGENT_HOME/settings.json`, those that are not there yet.
 * @returns a sentence where the file cannot be read, understood or written; it is as it was then
 */
export async function keepRules(home: string, rules: readonly string[]): Promise<Result<null>> {
  const file = join(home, 'settings.json')
  const { applyEdits, modify, parse } = await import('jsonc-parser')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return { ok: false, message: `${file} cannot be read.` }
    text = '{}\n'
  }
  if (text.trim() === '') text = '{}\n'
  const errors: unknown[] = []
  const value: unknown = parse(text.replace(/^\ufeff/, ''), errors as never[], { allowTrailingComma: true })
  const known = allowedIn(value)
  if (errors.length > 0 || known === null)
    return { ok: false, message: `${file} is not understood; mend it, then add the rule by hand.` }
  const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
  let changed = text.slice(mark.length)
  let count = known.length
  for (const rule of rules.filter((rule) => !known.includes(rule))) {
    const path = ['permissions', 'allow', count]
    const formattingOptions = { insertSpaces: true, tabSize: 2, eol: changed.includes('\r\n') ? '\r\n' : '\n' }
    changed = applyEdits(changed, modify(changed, path, rule, { formattingOptions, isArrayInsertion: true }))
    count += 1
  }
  return changed === text.slice(mark.length) ? { ok: true, value: null } : writePrivate(file, mark + changed)
}

/** @returns the rules that are there, null where there is something else in their place */
function allowedIn(value: unknown): unknown[] | null {
  if (!isObject(value)) return null
  if (value.permissions === undefined) return []
  if (!isObject(value.permissions)) return null
  const { allow } = value.permissions
  return allow === undefined ? [] : Array.isArray(allow) ? allow : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
