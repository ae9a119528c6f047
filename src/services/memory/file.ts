/** A memory's file: front matter in YAML, then the text. Written by us, edited by people. */
import type { Memory, NewMemory } from '../memoryPorts.ts'
import { cleaned, lineOf, typeType } from './item.ts'

const FENCE = /^---[ \t]*$/

/** Keys that are read; others stay in the file and mean nothing. */
type Fields = Partial<Record<'name' | 'description' | 'type' | 'consolidated', string>>

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
  const lines = text.replace(/^\ufeff/, '').split(/\r\n?|\n/)
  const { fields, body } = await readParts(lines)
  const stem = file.replace(/\.md$/i, '')
  const firstLine = body.split('\n').find((line) => line.trim() !== '') ?? ''
  const description = lineOf(fields.description ?? '') || lineOf(firstLine.replace(/^#+/, ''))
  if (description === '') return null
  const type = typeType(fields.type) ?? 'project'
  const memory = cleaned({ name: lineOf(fields.name ?? '') || stem, type, description, body: body || description })
  return { file, ...memory, consolidated: fields.consolidated === 'true' }
}

async function readParts(lines: string[]): Promise<{ fields: Fields; body: string }> {
  const first = lines.findIndex((line) => line.trim() !== '')
  if (!FENCE.test(lines[first] ?? '')) return { fields: {}, body: lines.join('\n').trim() }
  const rest = lines.slice(first + 1)
  const end = rest.findIndex((line) => FENCE.test(line))
  // A block that nobody closed ends at the first blank line.
  const blank = rest.findIndex((line) => line.trim() === '')
  const length = end >= 0 ? end : blank >= 0 ? blank : rest.length
  const body = rest
    .slice(length + 1)
    .join('\n')
    .trim()
  return { fields: await readFields(rest.slice(0, length)), body }
}

const KEY = /^(name|description|type|consolidated)[ \t]*:(?:[ \t]+(.*))?$/i
/** A plain one-line value that YAML reads as it stands: most files need no parser, which takes long to load. */
const PLAIN = /^[\p{L}\p{N}](?:(?!: |:$| #)[^\n])*$/u

async function readFields(lines: string[]): Promise<Fields> {
  const simple = simpleFields(lines)
  if (simple !== null) return simple
  const { parseDocument } = await import('yaml')
  try {
    // In the failsafe schema every scalar is the text that was written: `name: 007`, `yes`, `1.0`.
    const document = parseDocument(lines.join('\n'), { schema: 'failsafe', strict: false, logLevel: 'silent' })
    const value: unknown = document.errors.length > 0 ? null : document.toJS({ mapAsMap: true })
    if (value instanceof Map) return fieldsOf([...value])
  } catch {
    // Aliases that would grow without end, nesting that is too deep.
  }
  // No YAML (`description: User: likes tea`): each key's line is taken word for word.
  return fieldsOf(lines.flatMap((line) => (KEY.test(line) ? [keyAndValue(line)] : [])))
}

function simpleFields(lines: string[]): Fields | null {
  const pairs = lines.map(keyAndValue)
  const isSimple = lines.every((line, i) => KEY.test(line) && PLAIN.test(pairs[i]?.[1] ?? ''))
  return isSimple ? fieldsOf(pairs) : null
}

function keyAndValue(line: string): [string, string] {
  const [, key = '', value = ''] = KEY.exec(line) ?? []
  return [key, value.trim()]
}

function fieldsOf(pairs: ReadonlyArray<readonly [unknown, unknown]>): Fields {
  const fields: Fields = {}
  for (const [key, value] of pairs) {
    const name = String(key).toLowerCase()
    if (typeof value !== 'string') continue
    if (name === 'name' || name === 'description' || name === 'type' || name === 'consolidated') fields[name] = value
  }
  return fields
}
