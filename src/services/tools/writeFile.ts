/** `write_file`: a file's whole content. */
import * as z from 'zod/mini'
import { wellFormed } from '../../machines/messages.ts'
import { count } from '../../machines/words.ts'
import { absolutePath, pathField, realTarget } from './files/paths.ts'
import { failure } from './files/reasons.ts'
import { replaceFile } from './files/replaceFile.ts'
import { noteWritten } from './files/seen.ts'
import { changedMessage, writeTarget } from './files/target.ts'
import { defineTool } from './tool.ts'

const input = z.strictObject({
  path: pathField('Relative, absolute or ~/…'),
  content: z.string().check(z.describe('The whole new content, byte for byte')),
})

/**
 * The file then holds exactly `content` as UTF-8: a byte-order mark or CRLF of the old file is not carried over. An
 * existing file the agent has not read may be replaced; one that someone else changed since it was read may not.
 */
export const writeFileTool = defineTool<z.infer<typeof input>>({
  name: 'write_file',
  description:
    'Create a file or replace its whole content; missing directories are made. To change a part of a file use ' +
    'edit_file.',
  input,
  effect: ({ path }, cwd) => ({ kind: 'write', paths: [absolutePath(path, cwd)] }),
  plan: ({ path }, cwd) => ({ key: realTarget(absolutePath(path, cwd)) }),
  async run({ path, content }, env) {
    if (wellFormed(content) !== content) return failure(halfCharacter('content'))
    const target = await writeTarget(path, env)
    if (target.kind === 'refused') return failure(target.message)
    const bytes = Buffer.from(content)
    const version = target.kind === 'file' ? target.version : null
    const replaced = await replaceFile(target.real, bytes, version)
    switch (replaced.kind) {
      case 'changedMeanwhile':
        return failure(changedMessage(path))
      case 'failed':
        return failure(`${path} cannot be written because ${replaced.reason}. Nothing was written.`)
      case 'written':
        await noteWritten(env.seen, target.real, bytes)
        return {
          kind: 'ok',
          content: `${version === null ? 'Created' : 'Replaced'} ${path} (${count(bytes.length, 'byte')}).`,
        }
    }
  },
})

/** Half of a surrogate pair has no UTF-8: writing it would put another character in its place. */
export function halfCharacter(field: string): string {
  return `${field} holds half a character (a lone UTF-16 surrogate), which no file can hold; nothing was written. Send the whole character, or its escape as text.`
}
