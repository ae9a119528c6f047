/** One settings file: JSON with comments, checked, with errors that name file, line and key. */
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import type { Result } from '../ports.ts'
import { checkSettings } from './schema.ts'
import type { SettingsFile } from './settings.ts'

const MAX_DEPTH = 100

export interface ParsedFile {
  value: SettingsFile
  warnings: string[]
}

/**
 * @param file the name errors and warnings give
 * @param text the file's contents; a blank file says nothing
 * @param refine takes keys out before the check and warns of them
 */
export function parseSettings(
  file: string,
  text: string,
  refine: (value: Record<string, unknown>) => { rest: Record<string, unknown>; warnings: string[] },
): Result<ParsedFile> {
  const source = text.replace(/^\ufeff/, '')
  if (source.trim() === '') return { ok: true, value: { value: {}, warnings: [] } }
  const fail = (offset: number, what: string): Result<never> => ({
    ok: false,
    message: `${file}, line ${lineOf(source, offset)}: ${what}`,
  })
  const deep = tooDeepAt(source)
  if (deep !== null) return fail(deep, `this is nested more than ${MAX_DEPTH} deep, which no settings are.`)
  const errors: ParseError[] = []
  const tree = parseTree(source, errors, { allowTrailingComma: true })
  const [error] = errors
  if (error !== undefined || tree === undefined) {
    const problem = error === undefined ? 'no value' : spaced(printParseErrorCode(error.error))
    return fail(error?.offset ?? 0, `this is not valid JSON (${problem}). Correct it and start again.`)
  }
  if (tree.type !== 'object') return fail(tree.offset, 'settings must be one JSON object, such as {"model": "…"}.')
  const twice = findDuplicate(tree)
  if (twice !== null) return fail(twice.offset, `the key ${twice.key} is given twice. Remove one of them.`)

  const { rest, warnings } = refine(getNodeValue(tree) as Record<string, unknown>)
  const checked = checkSettings(rest)
  if (checked.kind === 'invalid') {
    const { path, message } = checked.problem
    const node = findNodeAtLocation(tree, path)
    const given = node === undefined ? '' : `, not ${shorten(source.slice(node.offset, node.offset + node.length))}`
    return fail(node?.offset ?? tree.offset, `${keyName(path)} ${message}${given}.`)
  }
  const unknown = checked.unknown.map((path) => {
    const key = findNodeAtLocation(tree, path)?.parent?.children?.[0]
    return `${file}, line ${lineOf(source, key?.offset ?? 0)}: the key ${keyName(path)} is not known and was ignored.`
  })
  return { ok: true, value: { value: checked.value, warnings: [...warnings, ...unknown] } }
}

/** The parser calls itself for each level, and a project's file must not bring it down. */
function tooDeepAt(source: string): number | null {
  let depth = 0
  for (const { 0: token, index } of source.matchAll(/"(?:[^"\\\n]|\\.)*"|\/\/.*|\/\*[\s\S]*?\*\/|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1
    if (token === ']' || token === '}') depth -= 1
    if (depth > MAX_DEPTH) return index
  }
  return null
}

/** A key given twice: readers differ on which one counts, and a deny rule must not hang on that. */
function findDuplicate(node: Node, path: string[] = []): { key: string; offset: number } | null {
  const seen = new Set<string>()
  for (const child of node.children ?? []) {
    const [key, value] = child.type === 'property' ? (child.children ?? []) : [undefined, child]
    if (key !== undefined && seen.has(key.value)) return { key: keyName([...path, key.value]), offset: key.offset }
    if (key !== undefined) seen.add(key.value)
    const deeper = value && findDuplicate(value, key === undefined ? path : [...path, key.value])
    if (deeper) return deeper
  }
  return null
}

function keyName(path: ReadonlyArray<string | number>): string {
  const name = path.reduce<string>(
    (joined, step) => (typeof step === 'number' ? `${joined}[${step}]` : joined === '' ? step : `${joined}.${step}`),
    '',
  )
  return JSON.stringify(name)
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length <= 60 ? line : `${line.slice(0, 57)}…`
}

/** `CommaExpected` → `comma expected`. */
function spaced(code: string): string {
  return code.replace(/\B[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase()
}
