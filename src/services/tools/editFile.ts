/** `edit_file`: one place of a file, or every place with the same text. */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import * as z from 'zod/mini'
import { wellFormed } from '../../machines/messages.ts'
import { count } from '../../machines/words.ts'
import type { ToolResult } from '../ports.ts'
import { MOST_COUNTED, replaceText } from './files/changes.ts'
import { whatIsThere } from './files/nearNames.ts'
import { whyNoMatch } from './files/noMatch.ts'
import { absolutePath, pathField, realTarget } from './files/paths.ts'
import { failure } from './files/reasons.ts'
import { replaceFile } from './files/replaceFile.ts'
import { noteWritten } from './files/seen.ts'
import { changedMessage, writeTarget } from './files/target.ts'
import { defineTool } from './tool.ts'
import { halfCharacter } from './writeFile.ts'

/** Larger files are for stream editors: an edit holds the file in memory several times. */
const MOST_BYTES = 64 * 1024 * 1024
const MOST_LINES_NAMED = 10

const input = z.strictObject({
  path: pathField('Relative, absolute or ~/…'),
  old_text: z.string().check(z.minLength(1), z.describe('Text to replace, exactly as in the file, indentation too')),
  new_text: z.string().check(z.describe('Text to put there, taken literally')),
  replace_all: z.optional(z.boolean().check(z.describe('Replace every place, not just one'))),
})

type Input = z.infer<typeof input>

export const editFileTool = defineTool<Input>({
  name: 'edit_file',
  description:
    'Replace old_text by new_text in a UTF-8 text file. old_text must stand in it exactly once (add lines around it ' +
    'to make it unique) unless replace_all is true. Leave out line numbers of read_file. \\n matches any line ending; ' +
    "the file's own are kept.",
  input,
  effect: ({ path }, cwd) => ({ kind: 'write', paths: [absolutePath(path, cwd)] }),
  plan: ({ path }, cwd) => ({ key: realTarget(absolutePath(path, cwd)) }),
  async run(call, env) {
    if (call.old_text === call.new_text) return failure('old_text and new_text are the same; nothing was changed.')
    if (wellFormed(call.old_text) !== call.old_text) return failure(halfCharacter('old_text'))
    if (wellFormed(call.new_text) !== call.new_text) return failure(halfCharacter('new_text'))
    const target = await writeTarget(call.path, env)
    switch (target.kind) {
      case 'refused':
        return failure(target.message)
      case 'missing':
        return failure(await missingMessage(call.path, env.cwd))
      case 'file': {
        if (target.size > MOST_BYTES)
          return failure(`${call.path} is too large to edit (over 64 MB); change it with bash (sed, perl).`)
        const content = await readFile(target.real)
        const edited = edit(call, content)
        if (edited.kind === 'error') return edited
        const replaced = await replaceFile(target.real, edited.content, target.version)
        switch (replaced.kind) {
          case 'changedMeanwhile':
            return failure(changedMessage(call.path))
          case 'failed':
            return failure(`${call.path} cannot be written because ${replaced.reason}. Nothing was changed.`)
          case 'written':
            await noteWritten(env.seen, target.real, edited.content)
            return { kind: 'ok', content: edited.message }
        }
      }
    }
  },
})

async function missingMessage(path: string, cwd: string): Promise<string> {
  const there = await whatIsThere(absolutePath(path, cwd))
  return `${path} does not exist, so there is nothing to edit. ${there} To create a file use write_file.`
}

type EditOutcome = { kind: 'edited'; content: Buffer; message: string } | Extract<ToolResult, { kind: 'error' }>

function edit(call: Input, content: Buffer): EditOutcome {
  if (!isUtf8(content))
    return failure(`${call.path} is not UTF-8 text, so it is not edited. Change it with bash (sed, perl, iconv).`)
  if (content.includes(0)) return failure(`${call.path} is binary, so it is not edited. Change it with bash.`)
  const all = call.replace_all === true
  const edited = replaceText(content, { old: call.old_text, new: call.new_text, all })
  switch (edited.kind) {
    case 'noMatch':
      return failure(
        `old_text is not in ${call.path}; nothing was changed. ${whyNoMatch(content.toString(), call.old_text)}`,
      )
    case 'ambiguous':
      return failure(
        `old_text is in ${call.path} ${countOf(edited.lines)} times (${linesOf(edited.lines)}); nothing was changed. ` +
          'Add lines around it to make it unique, or set replace_all.',
      )
    case 'unchanged':
      return failure(`The change would leave ${call.path} as it is; nothing was changed.`)
    case 'edited': {
      const places = count(edited.lines.length, 'place')
      return {
        kind: 'edited',
        content: edited.content,
        message: `Replaced ${places} in ${call.path} (${linesOf(edited.lines)}).`,
      }
    }
  }
}

function countOf(places: number[]): string {
  return places.length === MOST_COUNTED ? `at least ${MOST_COUNTED}` : String(places.length)
}

function linesOf(lines: number[]): string {
  const [first, ...others] = [...new Set(lines)]
  if (others.length === 0) return `line ${first}`
  const named = [first, ...others].slice(0, MOST_LINES_NAMED).join(', ')
  return `lines ${named}${others.length >= MOST_LINES_NAMED ? ', …' : ''}`
}
