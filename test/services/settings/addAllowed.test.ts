/** A rule put into settings that people keep by hand. */
import fc from 'fast-check'
import { parse } from 'jsonc-parser'
import { describe, expect, test } from 'vitest'
import { addAllowed } from '../../../src/services/settings/addAllowed.ts'

const CASES: Array<[what: string, before: string, after: string]> = [
  ['no file', '', '{\n  "permissions": {\n    "allow": [\n      "Bash(a)"\n    ]\n  }\n}\n'],
  ['a rule that is there', '{"permissions":{"allow":["Bash(a)"]}}', '{"permissions":{"allow":["Bash(a)"]}}'],
  ['one line', '{"permissions": {"allow": ["x"]}} // end', '{"permissions": {"allow": ["x", "Bash(a)"]}} // end'],
  ['a comma at the end of a line', '{"permissions":{"allow":["x",]}}', '{"permissions":{"allow":["x", "Bash(a)",]}}'],
  [
    'a comment behind the last rule of a line',
    '{"permissions": {"allow": ["x" /* y */ // z\n]}}',
    '{"permissions": {"allow": ["x", "Bash(a)" /* y */ // z\n]}}',
  ],
  [
    'tabs, and a comment about the last rule',
    '{\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"x", // why\n\t\t],\n\t},\n}\n',
    '{\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"x", // why\n\t\t\t"Bash(a)",\n\t\t],\n\t},\n}\n',
  ],
  [
    'rules that are commented out',
    '{\n  "permissions": {\n    "allow": [\n      "x" // why\n      // "y"\n    ]\n  }\n}\n',
    '{\n  "permissions": {\n    "allow": [\n      "x", // why\n      "Bash(a)"\n      // "y"\n    ]\n  }\n}\n',
  ],
  [
    'commas at the beginning of lines',
    '{"permissions": {"allow": [\n  "x"\n  ,\n]}}',
    '{"permissions": {"allow": [\n  "x"\n  ,\n  "Bash(a)",\n]}}',
  ],
  [
    'no allow yet, line ends of Windows and a mark',
    '\ufeff{\r\n    "permissions": {\r\n        "deny": ["x"] // no\r\n    }\r\n}\r\n',
    '\ufeff{\r\n    "permissions": {\r\n        "deny": ["x"], // no\r\n        "allow": [\r\n            "Bash(a)"\r\n        ]\r\n    }\r\n}\r\n',
  ],
  [
    'no permissions yet',
    '{\n  // mine\n  "model": "m" // cheap\n}\n',
    '{\n  // mine\n  "model": "m", // cheap\n  "permissions": {\n    "allow": [\n      "Bash(a)"\n    ]\n  }\n}\n',
  ],
  ['no permissions yet, one line', '{"model": "m"}', '{"model": "m", "permissions": {"allow": ["Bash(a)"]}}'],
]

describe('a rule is added to', () => {
  test.each(CASES)('%s', (_, before, after) => {
    expect(addAllowed(before, ['Bash(a)'])).toBe(after)
  })
})

test.each(['{', '[]', '"x"', 'null', '{"permissions": 5}', '{"permissions": {"allow": "x"}}'])(
  '%j is nothing',
  (text) => {
    expect(addAllowed(text, ['Bash(a)'])).toBeNull()
  },
)

test('several rules are added once each, whatever is in them', () => {
  const rules = ['Bash(echo "$1" \\n)', 'x', 'Bash(a $& b)', 'x', 'y']
  const after = addAllowed('{"permissions": {"allow": ["x"]}}', rules)
  expect(parse(after ?? '')).toEqual({ permissions: { allow: ['x', rules[0], 'Bash(a $& b)', 'y'] } })
})

/** What may stand between two tokens. */
const gap = fc.constantFrom('', ' ', '\n', '\n\t', '\r\n  ', ' // c\n', '/* c */', '\n// , "d"\n', '/* e\n */ ')

const settings = fc
  .record({
    gaps: fc.array(gap, { minLength: 16, maxLength: 16 }),
    rules: fc.array(fc.constantFrom('x', 'y', 'Bash(z "1")'), { maxLength: 3 }),
    comma: fc.constantFrom('', ','),
    others: fc.constantFrom('', '"deny": ["n"],'),
  })
  .map(({ gaps, rules, comma, others }) => {
    const next = (): string => gaps.pop() ?? ''
    const items = rules.map((rule) => `${next()}${JSON.stringify(rule)}${next()}`).join(',')
    const end = rules.length > 0 ? comma + next() : ''
    return `${next()}{${next()}"permissions"${next()}:${next()}{${others}${next()}"allow":[${items}${end}]${next()}}${next()}}${next()}`
  })

test('whatever stands around the rules, one more is there, and nothing else is less', () => {
  const tokens = (text: string): string[] => text.match(/\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\])*"/g) ?? []
  fc.assert(
    fc.property(settings, (before) => {
      const after = addAllowed(before, ['NEW']) ?? ''
      const errors: [] = []
      const was = parse(before, [], { allowTrailingComma: true }) as { permissions: { allow: string[] } }
      const { permissions } = was
      expect(parse(after, errors, { allowTrailingComma: true })).toEqual({
        ...was,
        permissions: { ...permissions, allow: [...permissions.allow, 'NEW'] },
      })
      expect(errors).toEqual([])
      expect(tokens(after).filter((token) => token !== '"NEW"')).toEqual(tokens(before))
    }),
    { numRuns: 2_000 },
  )
})
