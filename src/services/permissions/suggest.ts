/** The rules that would allow what was just asked for, as narrow as rules can be. */
import type { PlainCommand } from './shell/plain.ts'

const EDITORS = ['write_file', 'edit_file']
const READERS = ['read_file', 'glob', 'grep']

/**
 * It begins at the root: a rule that is kept holds in every directory, and in another one the same path below it is
 * another file.
 * @returns a rule for this path alone, a directory's contents with it; of tools without paths of their own, the tool
 */
export function pathRule(tool: string, real: string): string {
  const name = EDITORS.includes(tool) ? 'Edit' : READERS.includes(tool) ? 'Read' : null
  if (name === null) return tool
  return `${name}(/${real.replace(/[\\*?[\]!#]/g, '\\$&')})`
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
