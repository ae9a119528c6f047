/** Allow rules put into the text of a settings file. Loaded where one is kept. */
import { applyEdits, findNodeAtLocation, modify, type ParseError, parse, parseTree } from 'jsonc-parser'
import { insertLast, type Layout, lineEndOf } from './insertLast.ts'

/**
 * @param text settings as people write them: comments, trailing commas, a byte-order mark; blank ones are empty
 * @returns the text with the rules last in `permissions.allow`, those that are not there yet; null where it is not
 *   understood, or something else is in that place
 */
export function addAllowed(text: string, rules: readonly string[]): string | null {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
  const bare = text.slice(mark.length)
  const settings = bare.trim() === '' ? '{}\n' : bare
  const known = allowedIn(settings)
  if (known === null) return null
  const missing = [...new Set(rules)].filter((rule) => !known.includes(rule))
  return missing.length === 0 ? text : mark + missing.reduce(addOne, settings)
}

/** @returns the rules that are there, null where there is something else in their place */
function allowedIn(text: string): unknown[] | null {
  const errors: ParseError[] = []
  const value: unknown = parse(text, errors, { allowTrailingComma: true })
  if (errors.length > 0 || !isObject(value)) return null
  if (value.permissions === undefined) return []
  if (!isObject(value.permissions)) return null
  const { allow } = value.permissions
  return allow === undefined ? [] : Array.isArray(allow) ? allow : null
}

function addOne(text: string, rule: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true })
  if (root === undefined) return text
  const unit = indentationOf(text)
  const permissions = findNodeAtLocation(root, ['permissions'])
  const allow = findNodeAtLocation(root, ['permissions', 'allow'])
  const [holder, item] =
    allow !== undefined
      ? [allow, (layout: Layout) => written(rule, unit, layout)]
      : permissions !== undefined
        ? [permissions, (layout: Layout) => `"allow": ${written([rule], unit, layout)}`]
        : [root, (layout: Layout) => `"permissions": ${written({ allow: [rule] }, unit, layout)}`]
  const last = holder.children?.at(-1)
  if (last !== undefined) return insertLast(text, last, item)
  const isByTabs = unit.startsWith('\t')
  const formattingOptions = {
    insertSpaces: !isByTabs,
    tabSize: isByTabs ? 1 : unit.length,
    eol: lineEndOf(text),
  }
  return applyEdits(
    text,
    modify(text, ['permissions', 'allow', 0], rule, { formattingOptions, isArrayInsertion: true }),
  )
}

/** @returns one step of indentation: that of the first line that has any */
function indentationOf(text: string): string {
  return /^([ \t]+)"/m.exec(text)?.[1] ?? '  '
}

function written(value: unknown, unit: string, layout: Layout): string {
  switch (layout.kind) {
    case 'sameLine':
      return JSON.stringify(value).replace('{"allow":', '{"allow": ')
    case 'ownLine':
      return JSON.stringify(value, null, unit).replaceAll('\n', layout.newLine)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
