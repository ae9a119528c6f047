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

const LINE = 'some line of text with $(x) and "quotes"\n'

describe('command lines of unusual size and depth are judged, and none breaks the parser for the next', () => {
  test.each([
    ['a large file in a quoted here-document', `cat > f <<'EOF'\n${LINE.repeat(12_000)}EOF`, 'allow'],
    ['a here-document with substitutions', `cat > f <<EOF\n${LINE.repeat(2_000)}EOF`, 'allow'],
    ['a here-document that hides a command', `cat > f <<EOF\n${LINE.repeat(500)}$(git push)\nEOF`, 'deny'],
    ['a long list', 'echo a; '.repeat(20_000), 'allow'],
    ['a long list with a command at its end', `${'echo a; '.repeat(5_000)}git push`, 'deny'],
    ['a long pipeline', `${'echo a | '.repeat(5_000)}cat`, 'allow'],
    ['many words', `echo ${'a '.repeat(100_000)}`, 'allow'],
    ['many options', `git ${'-c a=b '.repeat(20_000)}status`, 'allow'],
    ['many options before what is denied', `git ${'-c a=b '.repeat(20_000)}push`, 'deny'],
    ['a long quoted word', `echo '${'x'.repeat(400_000)}'`, 'allow'],
    ['stars without end', `git ${'*'.repeat(20_000)}x`, 'allow'],
    ['stars that may be the word', `git ${'*'.repeat(20_000)}h`, 'deny'],
    ['deep substitutions', `${'$('.repeat(20_000)}git push${')'.repeat(20_000)}`, 'deny'],
    ['deep subshells', `${'('.repeat(20_000)}a${')'.repeat(20_000)}`, 'deny'],
    ['substitutions that are not closed', '$('.repeat(20_000), 'deny'],
    ['deep conditions', `${'if a; then '.repeat(3_000)}b${'; fi'.repeat(3_000)}`, 'deny'],
    ['a chain', `${'a && '.repeat(20_000)}b`, 'deny'],
    ['quotes', '"'.repeat(20_001), 'deny'],
    ['here-documents that never come', '<<a '.repeat(2_000), 'deny'],
    ['wrappers in wrappers', `${'env '.repeat(5_000)}git status`, 'deny'],
    ['actions of find', `find . ${'-exec a '.repeat(20_000)}`, 'deny'],
    ['shells in shells', `sh -c "${"sh -c '".repeat(50)}`, 'deny'],
    ['more than is read at all', `echo '${'x'.repeat(600_000)}'`, 'deny'],
  ] as const)('%s', async (_, command, decision) => {
    const judge = await judgeWith({ allow: ['Bash'], deny: ['Bash(git push:*)'] })
    expect((await judge.bash(command)).kind).toBe(decision)
    const allowing = await judgeWith({ allow: ['Bash(echo:*)', 'Bash(cat:*)'] })
    expect(['allow', 'ask']).toContain((await allowing.bash(command)).kind)
    expect([(await judge.bash('git status')).kind, (await judge.bash('git push')).kind]).toEqual(['allow', 'deny'])
  })
})
