/** A memory's file: front matter in YAML, then the text. Written by us, edited by people. */
import { readFrontMatter } from '../frontMatter.ts'
import type { Memory, NewMemory } from '../memoryPorts.ts'
import { cleaned, lineOf, typeType } from './item.ts'

/** Keys that are read; others stay in the file and mean nothing. */
const FIELDS = ['name', 'description', 'type', 'consolidated'] as const

/**
 * @param memory already clean
 * @param consolidated whether it has been through a consolidation, which then need not look at it again soon
 * @returns the file's text
 */
export async function renderMemory(memory: NewMemory, consolidated = false): Promise<string> {
  const { stringify } = await import('yaml')
  const { name, description, type, body } = memory
  const fields = { name, description, type, ...(consolidated && { consolidated: true }) }
  return `---\n${stringify(fields, { lineWidth: 0 })}---\n\n${body}\n`
}

/**
 * @param file its name in `.memory`, which stands in for a missing name
 * @param text the whole file, decoded; any line ends
 * @returns the memory, whatever was made of its front matter by hand; null where there is no text in it
 */
export async function parseMemory(file: string, text: string): Promise<Memory | null> {
  const { fields, body: rest } = await readFrontMatter(text.replace(/^\ufeff/, ''), FIELDS)
  const body = rest.replace(/\r\n?/g, '\n').trim()
  const stem = file.replace(/\.md$/i, '')
  const firstLine = body.split('\n').find((line) => line.trim() !== '') ?? ''
  const description = lineOf(fields.description ?? '') || lineOf(firstLine.replace(/^#+/, ''))
  if (description === '') return null
  const type = typeType(fields.type) ?? 'project'
  const memory = cleaned({ name: lineOf(fields.name ?? '') || stem, type, description, body: body || description })
  return { file, ...memory, consolidated: fields.consolidated === 'true' }
}
