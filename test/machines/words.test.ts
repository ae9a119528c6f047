import { expect, test } from 'vitest'
import { count } from '../../src/machines/words.ts'

test('a number and its word agree', () => {
  expect([0, 1, 2, 250].map((number) => count(number, 'model call'))).toEqual([
    '0 model calls',
    '1 model call',
    '2 model calls',
    '250 model calls',
  ])
  expect([1, 3].map((number) => count(number, 'memory', 'memories'))).toEqual(['1 memory', '3 memories'])
})
