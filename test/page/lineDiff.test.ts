import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLines, diffLists } from '../../src/inspectPage/lineDiff.ts'

test('a difference holds both lists, in their order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 })), fc.array(fc.integer({ min: 0, max: 5 })), (before, after) => {
      const lines = diffLists(before, after)
      expect(lines.flatMap(({ kind, item }) => (kind === 'added' ? [] : [item]))).toEqual(before)
      expect(lines.flatMap(({ kind, item }) => (kind === 'removed' ? [] : [item]))).toEqual(after)
    }),
  )
})

test('what is in both is never told as a change', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (list) => {
      expect(diffLists(list, list).every(({ kind }) => kind === 'same')).toBe(true)
    }),
  )
})

test('as little as can be is told', () => {
  expect(diffLines('a\nb\nc\nd', 'a\nc\nd\ne')).toEqual([
    { kind: 'same', text: 'a' },
    { kind: 'removed', text: 'b' },
    { kind: 'same', text: 'c' },
    { kind: 'same', text: 'd' },
    { kind: 'added', text: 'e' },
  ])
})
