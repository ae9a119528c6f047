/** The tool `remember`: the model keeps a note for later sessions. */
import { join } from 'node:path'
import * as z from 'zod/mini'
import { isBlank } from '../../machines/messages.ts'
import { type KnownMemory, MEMORY_TYPES, type MemoryPort } from '../memoryPorts.ts'
import type { ToolResult } from '../ports.ts'
import { defineTool, type Tool } from './tool.ts'

const text = (most: number, what: string) => z.string().check(z.minLength(1), z.maxLength(most), z.describe(what))

const input = z.strictObject({
  name: text(120, 'Becomes the file name'),
  type: z
    .enum(MEMORY_TYPES)
    .check(
      z.describe('user: who they are, what they like; feedback: how to work; project: facts; reference: where to look'),
    ),
  description: text(300, 'One line that tells whether the note matters'),
  body: text(8_000, 'The note itself, with its reason'),
})

type Input = z.infer<typeof input>

/** @returns the tool over the notes of the working directory; it makes the folder where there is none */
export function rememberTool(notes: MemoryPort): Tool<Input> {
  return defineTool<Input>({
    name: 'remember',
    description:
      'Keep a note in .memory/ for later sessions: a lasting wish or correction of the user, a fact the project does ' +
      'not show. No secrets, nothing about the task at hand. To change a note, edit its file.',
    input,
    effect: (_, cwd) => ({ kind: 'write', paths: [join(cwd, '.memory', 'MEMORY.md')] }),
    // The index is one file: notes of one reply are written one after the other.
    plan: (_, cwd) => ({ key: join(cwd, '.memory') }),
    run: (item) => remember(notes, item),
  })
}

async function remember(notes: MemoryPort, item: Input): Promise<ToolResult> {
  const blank = (['name', 'description', 'body'] as const).find((key) => isBlank(item[key]))
  if (blank !== undefined) return { kind: 'error', content: `${blank} is blank: say what is to be remembered.` }
  const written = await notes.add([item])
  if (!written.ok) return { kind: 'error', content: `Nothing was remembered: ${written.message}.` }
  const { added, skipped } = written.value
  const [memory] = added
  if (memory !== undefined) return { kind: 'ok', content: `Remembered in .memory/${memory.file}.` }
  const [known] = skipped
  if (known === undefined) throw new Error('a memory was neither written nor skipped')
  return { kind: 'error', content: knownAlready(known) }
}

const SAME: Record<KnownMemory['same'], string> = {
  name: 'has this name',
  description: 'has this description',
  body: 'says the same',
}

function knownAlready({ same, file }: KnownMemory): string {
  return `Nothing was written: the memory .memory/${file} ${SAME[same]} already. Edit that file to change it, or take another name and description for something else.`
}
