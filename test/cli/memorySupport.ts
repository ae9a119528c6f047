/** A scripted model for runs with memory: one script for the conversation, one for each kind of side call. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CapturedRequest, ScriptedReply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

export type Kind = 'main' | 'recall' | 'extract' | 'consolidate'

/** A list is used up in its order; one reply is given again and again. */
export type Script = Partial<Record<Kind, ScriptedReply | ScriptedReply[]>>

export interface MemorySetUp extends SetUp {
  /** The requests of one kind, in their order. */
  sent(kind: Kind): CapturedRequest[]
  /** Changes what is answered from now on. */
  answer(script: Script): void
}

export function kindOf({ body }: CapturedRequest): Kind {
  if ((body.tools ?? []).length > 0) return 'main'
  if (body.system?.startsWith('You choose which notes')) return 'recall'
  if (body.system?.startsWith('You keep the long-term memory')) return 'extract'
  if (body.system?.startsWith('You tidy the long-term memory')) return 'consolidate'
  throw new Error(`an unknown request: ${body.system}`)
}

const NOTHING: Script = { main: 'ok', recall: '[]', extract: '[]', consolidate: '[]' }

export async function setUpMemory(first: Script = {}): Promise<MemorySetUp> {
  let script: Script = { ...NOTHING, ...first }
  const counts: Record<Kind, number> = { main: 0, recall: 0, extract: 0, consolidate: 0 }
  const agent = await setUp((request) => {
    const kind = kindOf(request)
    const given = script[kind] ?? ''
    if (!Array.isArray(given)) return given
    return given[counts[kind]++] ?? `no reply ${counts[kind]} of ${kind}`
  })
  return {
    ...agent,
    sent: (kind) => agent.model.requests.filter((request) => kindOf(request) === kind),
    answer: (next) => {
      script = { ...NOTHING, ...next }
      for (const kind of Object.keys(counts) as Kind[]) counts[kind] = 0
    },
  }
}

export interface Note {
  name: string
  type?: string
  description: string
  body: string
}

/** Writes memories by hand, with an index. */
export function writeNotes(dir: string, notes: Note[]): void {
  mkdirSync(join(dir, '.memory'), { recursive: true })
  for (const { name, type = 'project', description, body } of notes) {
    writeFileSync(
      join(dir, '.memory', `${name}.md`),
      `---\nname: ${name}\ndescription: ${description}\ntype: ${type}\n---\n\n${body}\n`,
    )
  }
  const lines = notes.map(({ name, description }) => `- [${name}](${name}.md) — ${description}\n`)
  writeFileSync(join(dir, '.memory', 'MEMORY.md'), lines.join(''))
}

/** @returns every file in `.memory` with its text, hidden ones and folders too */
export function memoryOf(dir: string): Record<string, string> {
  const folder = join(dir, '.memory')
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    names.map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')]
    }),
  )
}

/** @returns the text blocks of a request's message */
export function textsOf(request: CapturedRequest | undefined, message: number): string[] {
  const content = request?.body.messages[message]?.content ?? []
  return content.flatMap((block) => (block.type === 'text' ? [String(block.text)] : []))
}
