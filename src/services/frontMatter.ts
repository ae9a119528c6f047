/** The block of YAML at the head of a skill or a memory, as people really write it. */

/** The fields that were asked for and are there; the others mean nothing here. */
export type Fields<Key extends string> = Partial<Record<Key, string>>

/** `broken`: the YAML had to be mended, or a part of it could not be read. */
export interface FrontMatter<Key extends string> {
  kind: 'absent' | 'closed' | 'unclosed'
  fields: Fields<Key>
  broken: boolean
  /** What follows the block; the whole text where there is none. */
  body: string
}

const FENCE = /^---[ \t]*$/
const END = /^(---|\.\.\.)[ \t]*$/

/**
 * @param text a whole file or its head, decoded; any line ends
 * @param wanted the fields to read, in lower case; they are found in any
 * @returns the fields as far as they can be read, never an error
 */
export async function readFrontMatter<Key extends string>(
  text: string,
  wanted: readonly Key[],
): Promise<FrontMatter<Key>> {
  const lines = text.split(/\r\n?|\n/)
  const first = lines.findIndex((line) => line.trim() !== '')
  if (first < 0 || !FENCE.test(lines[first] ?? '')) return { kind: 'absent', fields: {}, broken: false, body: text }
  const rest = lines.slice(first + 1)
  const end = rest.findIndex((line) => END.test(line))
  const length = end < 0 ? lengthUnclosed(rest) : end
  const { fields, broken } = await readFields(rest.slice(0, length), wanted)
  const body = rest.slice(end < 0 ? length : end + 1).join('\n')
  return { kind: end < 0 ? 'unclosed' : 'closed', fields, broken, body }
}

/** A block that nobody closed ends at the first blank line or heading. */
function lengthUnclosed(lines: string[]): number {
  const end = lines.findIndex((line) => line.trim() === '' || line.startsWith('#'))
  return end < 0 ? lines.length : end
}

/** The first try takes the block as it is; the second takes the fields one by one, quoted where they must be. */
async function readFields<Key extends string>(
  lines: string[],
  wanted: readonly Key[],
): Promise<{ fields: Fields<Key>; broken: boolean }> {
  const pick = (get: (key: Key) => string | undefined) => fieldsOf(wanted, get)
  const simple = simpleValues(lines)
  if (simple !== null) return { fields: pick((key) => simple.get(key)), broken: false }
  const parse = await parser()
  const yaml = lines.join('\n')
  const whole = parse(yaml)
  if (whole !== null && wanted.every((key) => whole.get(key) !== null)) {
    return { fields: pick((key) => whole.get(key) ?? undefined), broken: false }
  }
  const parts = new Map(chunks(yaml).map((chunk) => [keyOf(chunk), chunk]))
  const fields = pick((key) => {
    const chunk = parts.get(key)
    if (chunk === undefined) return undefined
    return parse(chunk)?.get(key) ?? parse(quoted(chunk))?.get(key) ?? undefined
  })
  return { fields, broken: true }
}

function fieldsOf<Key extends string>(wanted: readonly Key[], get: (key: Key) => string | undefined): Fields<Key> {
  const fields: Fields<Key> = {}
  for (const key of wanted) {
    const value = get(key)
    if (value !== undefined) fields[key] = value
  }
  return fields
}

/** A key and a plain value on one line that YAML reads as it stands. */
const SIMPLE = /^([A-Za-z][\w-]*)[ \t]*:[ \t]+([\p{L}\p{N}](?:(?!:[ \t]|:$|[ \t]#)[^\n])*)$/u

/** @returns the values of a block of such lines; null for any other, which takes the parser, that takes long to load */
function simpleValues(lines: string[]): Map<string, string> | null {
  const values = new Map<string, string>()
  for (const line of lines) {
    const [, key, value] = SIMPLE.exec(line.trimEnd()) ?? []
    if (key === undefined || value === undefined) return null
    values.set(key.toLowerCase(), value)
  }
  return values
}

/** A field's value as text; null where it is neither text nor a list of texts. */
type Values = Map<string, string | null>

/** Loaded only where there is a block to read: it costs tens of milliseconds. */
async function parser(): Promise<(yaml: string) => Values | null> {
  const { parseDocument } = await import('yaml')
  return (yaml) => {
    try {
      // Of the failsafe schema, in which every scalar is the text that was written: `name: 007`, `yes`, `1.0`.
      const document = parseDocument(yaml, { schema: 'failsafe', uniqueKeys: false, strict: false, logLevel: 'silent' })
      if (document.errors.length > 0) return null
      const value: unknown = document.toJS({ mapAsMap: true })
      if (value === null || value === '') return new Map()
      if (!(value instanceof Map)) return null
      return new Map([...value].map(([key, item]) => [String(key).toLowerCase(), textOf(item)]))
    } catch {
      // Aliases that would grow without end, nesting that is too deep.
      return null
    }
  }
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return null
  const texts = value.filter((item) => typeof item === 'string')
  return texts.length === value.length ? texts.join(', ') : null
}

/** A top-level `key:` with the lines that belong to it. */
function chunks(yaml: string): string[] {
  const found: string[] = []
  for (const line of yaml.split('\n')) {
    if (/^[A-Za-z][\w-]*[ \t]*:/.test(line)) found.push(line)
    else if (found.length > 0) found.push(`${found.pop()}\n${line}`)
  }
  return found
}

function keyOf(chunk: string): string {
  return chunk.slice(0, chunk.indexOf(':')).trim().toLowerCase()
}

/** The same field with its value as one quoted text. */
function quoted(chunk: string): string {
  const value = chunk
    .slice(chunk.indexOf(':') + 1)
    .replace(/^[ \t]*[|>][+-]?\d?[ \t]*\n/, '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${keyOf(chunk)}: '${value.replaceAll("'", "''")}'`
}
