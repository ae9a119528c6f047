import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readJson } from '../../../src/services/sideCalls/json.ts'

const lists = (value: unknown) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : null

describe('a list in a reply', () => {
  test.each([
    ['alone', '["a", "b"]', ['a', 'b']],
    ['in a fence', 'Here:\n```json\n["a"]\n```\nDone.', ['a']],
    ['after a bracket in prose', 'My [notes] and {thoughts}: ["a"]', ['a']],
    ['after another value', 'Of [1, 2] I take ["a"]', ['a']],
    ['with a trailing comma', '["a", "b",\n]', ['a', 'b']],
    ['with commas and brackets in its texts', '["a,]", "b\\",}", "[c"]', ['a,]', 'b",}', '[c']],
    ['empty', '[]', []],
    ['cut', '["a", "b', null],
    ['with a broken escape', '["\\u12"]', null],
    ['missing', 'none', null],
    ['of nothing', '', null],
  ])('%s', (_, text, expected) => {
    expect(readJson(text, lists)).toEqual(expected)
  })

  test('is found behind any prose without brackets, whatever its texts are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string()),
        fc.string().map((prose) => prose.replace(/["[\]{}]/g, '')),
        (list, prose) => {
          expect(readJson(`${prose}${JSON.stringify(list)}${prose}`, lists)).toEqual(list)
        },
      ),
    )
  })

  test('megabytes of brackets, quotes and commas are no list', () => {
    for (const text of ['[', '{', '[[]', '"', '",', '[,', '\\"'])
      expect(readJson(text.repeat(100_000), lists)).toBe(null)
  })
})
