/** Checks a call's input by its tool's schema, and says in words what is wrong with it. */
import type * as z from 'zod/mini'
import type { ToolSpec } from '../../machines/messages.ts'
import type { AnyTool } from './tool.ts'

export type CheckedInput = { kind: 'valid'; input: never } | { kind: 'invalid'; content: string }

type JsonSchema = { type?: string; description?: string; properties?: Record<string, JsonSchema>; required?: string[] }
type Issue = z.core.$ZodIssue

/**
 * What the schema does not allow is refused, unknown fields too: a field that is not understood may have been meant.
 * Only three slips that models make and that leave no doubt are put right first: a number or boolean sent as its
 * text ("20", "true") where the schema has one, and null for an optional field.
 * @param spec the tool as it is sent to the model
 * @returns the input as the tool's `run` takes it, or a text for the model that names each wrong field
 */
export function checkInput(tool: AnyTool, spec: ToolSpec, input: unknown): CheckedInput {
  const schema = spec.input_schema as JsonSchema
  const put = putRight(input, schema)
  const parsed = tool.input.safeParse(put)
  if (parsed.success) return { kind: 'valid', input: parsed.data as never }
  const problems = parsed.error.issues.map((issue) => `- ${problemOf(issue, put, tool.name)}`)
  const content = [`${tool.name} was not run because its input is not right:`, ...problems, fieldsOf(tool.name, schema)]
  return { kind: 'invalid', content: content.join('\n') }
}

function putRight(input: unknown, schema: JsonSchema): unknown {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return input
  const entries = Object.entries(input).flatMap(([key, value]): Array<[string, unknown]> => {
    const field = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties?.[key] : undefined
    if (field === undefined) return [[key, value]]
    if (value === null && !schema.required?.includes(key)) return []
    return [[key, fromText(value, field.type)]]
  })
  return Object.fromEntries(entries)
}

function fromText(value: unknown, type: string | undefined): unknown {
  if (typeof value !== 'string') return value
  if ((type === 'integer' || type === 'number') && /^-?\d{1,15}(\.\d{1,15})?$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

function problemOf(issue: Issue, input: unknown, tool: string): string {
  const field = fieldName(issue.path)
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], input)
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return `${field} is missing; it must be ${typeInWords(issue.expected)}.`
      return `${field} must be ${typeInWords(issue.expected)}, not ${valueInWords(value)}.`
    case 'unrecognized_keys':
      return `${issue.keys.map((key) => `"${key}"`).join(', ')}: ${tool} has no such field${issue.path.length > 0 ? ` in ${field}` : ''}.`
    case 'too_small':
      if (value === '') return `${field} must not be empty.`
      return `${field} must ${boundInWords(issue.origin)} ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}, not ${valueInWords(value)}.`
    case 'too_big':
      return `${field} must ${boundInWords(issue.origin)} ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}, not ${valueInWords(value)}.`
    case 'invalid_value': {
      const values = issue.values.map((allowed) => JSON.stringify(allowed)).join(', ')
      if (value === undefined) return `${field} is missing; it must be one of ${values}.`
      return `${field} must be one of ${values}, not ${valueInWords(value)}.`
    }
    default:
      return `${field} is not right: ${issue.message}.`
  }
}

/** `todos[2].status`; "the input" for the whole. */
function fieldName(path: PropertyKey[]): string {
  if (path.length === 0) return 'the input'
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`
    return name === '' ? String(key) : `${name}.${String(key)}`
  }, '')
}

function typeInWords(expected: string): string {
  if (expected === 'int') return 'a whole number'
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`
}

function boundInWords(origin: string): string {
  return origin === 'string' || origin === 'array' ? 'have a length of' : 'be'
}

const SHOWN_LENGTH = 60

function valueInWords(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value)
  if (text.length <= SHOWN_LENGTH) return text
  // The quotes around it are none of its characters: a length is what a bound is about.
  return `a ${typeof value} of ${String(value).length} characters`
}

function fieldsOf(tool: string, schema: JsonSchema): string {
  const names = Object.entries(schema.properties ?? {}).map(([name, { type }]) => {
    const optional = schema.required?.includes(name) ? '' : ', optional'
    return `${name} (${type ?? 'any'}${optional})`
  })
  return names.length === 0 ? `${tool} takes no fields: send {}.` : `The fields of ${tool}: ${names.join(', ')}.`
}
