/** What the page gets to see: never the shape of a token, and with the veil drawn no content at all. */
import { masked, withoutTokens } from '../redact.ts'

export type Veil = 'tokens' | 'all'

/** Properties whose texts are structure, not content. */
const STRUCTURE: ReadonlySet<string> = new Set([
  'type',
  'role',
  'id',
  'tool_use_id',
  'session_id',
  'name',
  'service',
  'status',
  'subtype',
  'stop_reason',
  'media_type',
  'trigger',
  'layer',
  'reason',
  'purpose',
  'by',
  'model',
  'hash',
])

/** What is not text: a picture, and what only the model's server can read. */
const OPAQUE: ReadonlySet<string> = new Set(['data', 'signature'])

/** @returns one text of the session */
export function veiledText(text: string, veil: Veil): string {
  return veil === 'all' ? masked(text) : withoutTokens(text)
}

/** @returns a message, a record or any part of them, its structure as it was */
export function veiled<T>(value: T, veil: Veil): T {
  return walk(value, '', veil) as T
}

function walk(value: unknown, key: string, veil: Veil): unknown {
  if (typeof value === 'string') {
    if (OPAQUE.has(key)) return veil === 'all' ? '' : value
    return STRUCTURE.has(key) ? value : veiledText(value, veil)
  }
  if (Array.isArray(value)) return value.map((item) => walk(item, key, veil))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, name, veil)]))
}
