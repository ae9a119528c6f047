/** The rules that would allow what was just asked for, as narrow as rules can be. */
import { relative } from 'node:path'
import { isInside } from '../paths.ts'
import type { PlainCommand } from './shell/plain.ts'

const EDITORS = ['write_file', 'edit_file']
const READERS = ['read_file', 'glob', 'grep']

/** @returns a rule for this path alone, a directory's contents with it; of tools without paths of their own, the tool */
export function pathRule(tool: string, real: string, cwd: string): string {
  const name = EDITORS.includes(tool) ? 'Edit' : READERS.includes(tool) ? 'Read' : null
  if (name === null) return tool
  const inside = isInside(cwd, real) && real !== cwd
  const path = inside ? `/${relative(cwd, real)}` : `/${real}`
  return `${name}(${path.replace(/[\\*?[\]!#]/g, '\\$&')})`
}

/** @returns a rule for exactly this command, or null where none can be written */
export function commandRule({ words, redirections, inputs }: PlainCommand): string | null {
  if (inputs.length > 0 || redirections > 0 || words.some(({ glob }) => glob)) return null
  const texts = words.map(({ value }) => quoted(value))
  return texts.some((text) => text === null) ? null : `Bash(${texts.join(' ')})`
}

function quoted(value: string): string | null {
  if (/^[\p{L}\p{N}_./:=,@%+^~-]+$/u.test(value) && !value.endsWith(':*')) return value
  return value.includes("'") ? null : `'${value}'`
}
