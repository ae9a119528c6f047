/** One word of a shell command, from its spelling to what bash would make of it. */
import type { Parts } from './wild.ts'

export type Word =
  /** Exactly this word. */
  | { kind: 'literal'; value: string }
  /** Names of files that match, or the text itself: `*.ts`, `g?t`. `parts`: any wildcard as a star. */
  | { kind: 'glob'; value: string; parts: Parts }
  /** Computed when the command runs; any number of words. `raw`: as typed. `head`: what the first begins with. */
  | { kind: 'computed'; raw: string; head: string; basename: string | null }

/** What is not known at all. */
export const UNKNOWN: Word = { kind: 'computed', raw: '', head: '', basename: null }

/** @returns a word without quoting or expansion */
export function literal(value: string): Word {
  return { kind: 'literal', value }
}

/**
 * @param raw a word as it stands in the command, quotes and all
 * @returns what it means; `computed` where that depends on variables, substitutions, braces or anything not understood
 */
export function evaluate(raw: string): Word {
  let value = ''
  const parts = ['']
  const add = (text: string): void => {
    value += text
    parts[parts.length - 1] += text
  }
  const computed = (): Word => ({ kind: 'computed', raw, head: value, basename: knownBasename(raw) })
  for (let i = 0; i < raw.length; i++) {
    const c = raw[i] ?? ''
    switch (c) {
      case "'": {
        const end = raw.indexOf("'", i + 1)
        if (end < 0) return computed()
        add(raw.slice(i + 1, end))
        i = end
        break
      }
      case '"': {
        const inside = doubleQuoted(raw, i + 1)
        if (inside === null) return computed()
        add(inside.value)
        i = inside.end
        break
      }
      case '\\':
        i += 1
        if (raw[i] !== '\n') add(raw[i] ?? '\\')
        break
      case '$': {
        if (raw[i + 1] !== "'") {
          if (raw[i + 1] === undefined) add('$')
          else return computed()
          break
        }
        const inside = ansiQuoted(raw, i + 2)
        if (inside === null) return computed()
        add(inside.value)
        i = inside.end
        break
      }
      case '`':
      case '(':
      case ')':
        return computed()
      case '{':
        if (/^\{[^}]*(?:,|\.\.)/.test(raw.slice(i))) return computed()
        add(c)
        break
      case '[':
        // What a bracket matches, and what comes after it, does not matter where the word is a guess anyway.
        return { kind: 'glob', value: raw, parts: [...parts, ''] }
      case '*':
      case '?':
        value += c
        parts.push('')
        break
      default:
        add(c)
    }
  }
  return parts.length > 1 ? { kind: 'glob', value, parts } : literal(value)
}

/** Of `$DIR/git` the program is known though its directory is not. */
function knownBasename(raw: string): string | null {
  return /\/([\w.+-]+)"?$/.exec(raw)?.[1] ?? null
}

interface Inside {
  value: string
  /** Index of the closing quote. */
  end: number
}

/** @returns null where something in the quotes is expanded, or they are not closed */
function doubleQuoted(raw: string, from: number): Inside | null {
  let value = ''
  for (let i = from; i < raw.length; i++) {
    const c = raw[i] ?? ''
    if (c === '"') return { value, end: i }
    if (c === '`') return null
    if (c === '$' && /[\w({@*#?!$'"-]/.test(raw[i + 1] ?? '') && raw[i + 1] !== '"') return null
    if (c !== '\\') value += c
    else {
      i += 1
      const next = raw[i] ?? ''
      if (next === '\n') continue
      value += '$`"\\'.includes(next) ? next : `\\${next}`
    }
  }
  return null
}

const ANSI: Record<string, string> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
}

/** `$'…'`: the escapes of C. Bytes above 127 and `\c` are not worked out. */
function ansiQuoted(raw: string, from: number): Inside | null {
  let value = ''
  for (let i = from; i < raw.length; i++) {
    const c = raw[i] ?? ''
    if (c === "'") return { value, end: i }
    if (c !== '\\') {
      value += c
      continue
    }
    const rest = raw.slice(i + 1)
    const code = /^(?:x([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{1,4})|U([\dA-Fa-f]{1,8})|([0-7]{1,3}))/.exec(rest)
    const plain = ANSI[rest[0] ?? '']
    if (code) {
      const [whole, x, u, big, octal] = code
      const number = octal === undefined ? Number.parseInt(x ?? u ?? big ?? '', 16) : Number.parseInt(octal, 8)
      // NUL ends the word for bash; what that leaves is not worth guessing.
      if (!(number > 0 && number < 128)) return null
      value += String.fromCharCode(number)
      i += whole.length
    } else if (plain !== undefined) {
      value += plain
      i += 1
    } else return null
  }
  return null
}
