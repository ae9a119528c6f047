/** What a settings file may hold. Loaded only where there is a file: zod takes time to start. */
import { z } from 'zod'
import type { SettingsFile } from './settings.ts'

const text = z.string().trim().min(1, 'must not be empty')
const rules = z.array(text)
const count = z.int('must be a whole number').positive('must be greater than 0')

/** Keys that are no settings of ours but known to editors. */
const schema = z.strictObject({
  $schema: z.string().optional(),
  model: text
    .refine((name) => !name.startsWith('replay:'), 'must name a model; recordings are played by --model only')
    .optional(),
  max_output_tokens: count.optional(),
  base_url: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
  compaction: z.strictObject({ input_tokens: count.optional(), always: z.boolean().optional() }).optional(),
  permissions: z.strictObject({ allow: rules.optional(), ask: rules.optional(), deny: rules.optional() }).optional(),
  memory: z.strictObject({ enabled: z.boolean().optional() }).optional(),
  store: text.optional(),
  sandbox: z.strictObject({ enabled: z.boolean().optional(), network: z.boolean().optional() }).optional(),
  env: z.record(z.string(), z.string()).optional(),
  hooks: z.record(z.string(), z.unknown()).optional(),
  mcpServers: z.record(z.string(), z.unknown()).optional(),
})

export interface SchemaProblem {
  /** Steps from the top of the file to the wrong value. */
  path: Array<string | number>
  /** Goes after the key's name: `must be …`. */
  message: string
}

export type SchemaResult =
  | { kind: 'valid'; value: SettingsFile; unknown: Array<Array<string | number>> }
  | { kind: 'invalid'; problem: SchemaProblem }

/**
 * Checks a settings file's value. Unknown keys are left out and named; the first wrong value is the problem.
 */
export function checkSettings(value: unknown): SchemaResult {
  const checked = schema.safeParse(value)
  if (checked.success) return { kind: 'valid', value: checked.data, unknown: [] }
  const unknown: Array<Array<string | number>> = []
  for (const issue of checked.error.issues) {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
    if (issue.code !== 'unrecognized_keys') return { kind: 'invalid', problem: { path, message: wording(issue) } }
    unknown.push(...issue.keys.map((key) => [...path, key]))
  }
  const known = schema.parse(unknown.reduce<unknown>((rest, path) => withoutKey(rest, path), value))
  return { kind: 'valid', value: known, unknown }
}

const EXPECTED: Record<string, string> = {
  string: 'a string',
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list of strings',
  object: 'an object',
  record: 'an object',
}

function wording(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message
  return `must be ${EXPECTED[issue.expected] ?? issue.expected}`
}

function withoutKey(value: unknown, path: ReadonlyArray<string | number>): unknown {
  const [key, ...deeper] = path
  const entries = Object.entries(value as Record<string, unknown>)
  if (deeper.length === 0) return Object.fromEntries(entries.filter(([name]) => name !== key))
  return Object.fromEntries(entries.map(([name, child]) => [name, name === key ? withoutKey(child, deeper) : child]))
}
