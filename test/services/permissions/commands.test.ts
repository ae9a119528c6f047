import { describe, expect, test } from 'vitest'
import { GROUPS } from './commandTable.ts'
import { judgeWith } from './support.ts'

test('the table holds more than 200 commands', () => {
  expect(GROUPS.flatMap(({ cases }) => cases).length).toBeGreaterThan(200)
})

describe.each(GROUPS)('$name', ({ cases, ...rules }) => {
  test.each(cases)('%j: %s', async (command, decision) => {
    const judge = await judgeWith(rules)
    const decided = await judge.bash(command)
    expect({ ...decided, command }).toMatchObject({ command, kind: decision })
  })
})
