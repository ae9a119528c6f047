/** What a memory must be, wherever it comes from: a tool call, a model's list, a file. Pure. */
import { firstUnits } from '../../machines/cut.ts'
import { isBlank, wellFormed } from '../../machines/messages.ts'
import { MEMORY_TYPES, type MemoryType, type NewMemory } from '../memoryPorts.ts'

/** UTF-16 units. A memory is a note, not a document. */
export const MEMORY_LIMITS = { name: 120, description: 300, body: 8_000 }

/** @returns the memory that a value of a model's list is, cleaned; null where a field is missing or of no use. */
export function memoryFrom(value: unknown): NewMemory | null {
  if (value === null || typeof value !== 'object') return null
  const { name, type, description, body } = value as Record<string, unknown>
  if (typeof name !== 'string' || typeof description !== 'string' || typeof body !== 'string') return null
  const kind = typeType(type)
  if (kind === null || [name, description, body].some(isBlank)) return null
  return cleaned({ name, type: kind, description, body })
}

/** @returns the type that a text names, in any case; null where it names none. */
export function typeType(value: unknown): MemoryType | null {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
  return MEMORY_TYPES.find((type) => type === word) ?? null
}

/** Name and description become one line each, the body has plain line ends; what is too long is cut and says so. */
export function cleaned({ name, type, description, body }: NewMemory): NewMemory {
  return {
    name: cut(lineOf(name), MEMORY_LIMITS.name),
    type,
    description: cut(lineOf(description), MEMORY_LIMITS.description),
    body: cut(withoutControls(body.replace(/\r\n?/g, '\n')).trim(), MEMORY_LIMITS.body),
  }
}

/** @returns a text on one line: white space and control characters become single spaces. */
export function lineOf(text: string): string {
  return wellFormed(text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim())
}

/** Tabs and line ends stay; a terminal acts on the others, and the file would pass for a binary one. */
function withoutControls(text: string): string {
  return wellFormed(text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '\ufffd'))
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${firstUnits(text, most - 1)}…`
}

/** @returns what two texts have in common that say the same: case and white space aside. */
export function sameText(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

/** @returns the list in a value: itself, or the one list in an object around it (`{"memories": […]}`); else null. */
export function listIn(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value
  if (value === null || typeof value !== 'object') return null
  const lists = Object.values(value).filter((item) => Array.isArray(item))
  return lists.length === 1 ? (lists[0] as unknown[]) : null
}
