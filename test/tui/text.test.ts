import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { createAnswer } from '../../src/tui/answer.ts'
import { fuzzy, wantedAt } from '../../src/tui/completion.ts'
import { renderDiff } from '../../src/tui/diff.ts'
import * as markdown from '../../src/tui/markdown.ts'
import { statusLine } from '../../src/tui/status.ts'
import { layOut, widthOf, wrap } from '../../src/tui/wrap.ts'

const plain = picocolors.createColors(false)
const colors = picocolors.createColors(true)
const bare = (text: string): string => text.replace(/\x1b\[[\d;]*m/g, '')

describe('wrapping', () => {
  test('words stay whole where they can, and colours end with their row', () => {
    expect(wrap(`one ${colors.red('two three')} four`, 9)).toEqual([
      'one \x1b[31mtwo\x1b[0m',
      '\x1b[31mthree\x1b[39m',
      'four',
    ])
  })
  test('no row is wider than the terminal, and nothing but blanks at breaks is lost', () => {
    const part = fc.constantFrom(
      'a',
      'word',
      ' ',
      '  ',
      '你好',
      'e\u0301',
      '👍🏽',
      'averyverylongword',
      '\x1b[31m',
      '\x1b[39m',
      '.',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.integer({ min: 4, max: 20 }), (parts, columns) => {
        const line = parts.join('')
        const rows = wrap(line, columns)
        for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns)
        expect(bare(rows.join('')).replace(/ /g, '')).toBe(bare(line).replace(/ /g, ''))
      }),
    )
  })
})

describe('a line that is very long', () => {
  const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'

  test('of one word is broken at the columns, also below an indent', () => {
    const word = 'x'.repeat(1_000_000)
    const rows = wrap(`say ${word}`, 100, '  ')
    expect(rows.slice(0, 3)).toEqual(['say', `  ${'x'.repeat(98)}`, `  ${'x'.repeat(98)}`])
    expect(rows.map((row) => row.trim()).join('')).toBe(`say${word}`)
    expect(wrap('one twothree', 5, '      ').map((row) => row.replaceAll(' ', ''))).toEqual(['onet', ...'wothree'])
  })

  test('keeps joined characters whole wherever it is looked at in parts, and its width', () => {
    for (const before of ['', 'a', 'ab', 'abc', 'abcde']) {
      const rows = wrap(before + family.repeat(50_000), 10)
      expect(rows.slice(1).filter((row) => row !== family.repeat(5)).length).toBeLessThanOrEqual(1)
      expect(widthOf(before + family.repeat(50_000))).toBe(before.length + 100_000)
    }
    expect(layOut(family.repeat(1_000), family.length * 502, 10).cursor).toEqual({ row: 100, column: 4 })
  })

  test('is shown whole as a change, and at once', () => {
    const line = `{${'"key":"value",'.repeat(100_000)}`
    const { lines, added } = renderDiff({ before: `${line}}`, after: `${line}]` }, 80, plain, Number.POSITIVE_INFINITY)
    expect({ added, isWhole: lines.join('').replace(/[ \d]/g, '').includes(`${line}]`) }).toEqual({
      added: 1,
      isWhole: true,
    })
  })
})

const DOCUMENT = `# Title

Some *text* with \`code\` and a
second line.

- one
- two
  - nested

\`\`\`ts
const a: number = 1

const b = "two"
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted
> more

1. first
2. second

The end.`

describe('a streamed answer', () => {
  const lay = (chunks: string[]): string[] => {
    const answer = createAnswer(plain, () => markdown)
    const blocks = chunks.flatMap((chunk) => answer.push(chunk))
    return [...blocks, ...answer.end()].flatMap((block) => block(60))
  }
  test('reads the same wherever it is cut, and as if it had come whole', () => {
    const whole = markdown.renderBlocks(markdown.blocksOf(DOCUMENT), 60, plain)
    fc.assert(
      fc.property(fc.array(fc.nat(DOCUMENT.length), { maxLength: 30 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), DOCUMENT.length]
        expect(lay(at.slice(1).map((end, i) => DOCUMENT.slice(at[i], end)))).toEqual(whole)
      }),
    )
  })
  test('what is finished is given out while the rest still comes', () => {
    const answer = createAnswer(plain, () => markdown)
    const first = answer.push('One.\n\nTwo').flatMap((block) => block(60))
    expect([first, answer.tail(60)]).toEqual([['One.'], ['', 'Two']])
  })
  test('a line without end is cut, and it is said how much is missing', () => {
    const lines = lay(['x'.repeat(50_000), 'x'.repeat(50_000), '\nshort'])
    expect(lines.join('').length).toBeLessThan(9_000)
    expect(lines.join(' ')).toMatch(/… \(92000 more characters in\s+this line\)\s+short$/)
  })
  test('code keeps its text whatever the colours', () => {
    const lines = markdown.renderBlocks(markdown.blocksOf(DOCUMENT), 60, colors).map(bare)
    expect(lines).toEqual(markdown.renderBlocks(markdown.blocksOf(DOCUMENT), 60, plain))
    const code = markdown.renderBlocks(markdown.blocksOf('```ts\nconst a = 1 < 2 && "x" // &amp;\n```'), 60, colors)
    expect(code.map(bare)).toEqual(['  const a = 1 < 2 && "x" // &amp;'])
    expect(code[0]).toContain('\x1b[35mconst\x1b[39m')
  })
})

describe('differences', () => {
  test('lines have their numbers, what is far from a change is left out', () => {
    const before = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`)
    const after = before.with(14, 'changed').toSpliced(20, 1)
    const { lines, added, removed } = renderDiff(
      { before: `${before.join('\n')}\n`, after: `${after.join('\n')}\n` },
      60,
      plain,
    )
    expect({ lines, added, removed }).toEqual({
      lines: [
        '12   line 12',
        '13   line 13',
        '14   line 14',
        '15 - line 15',
        '15 + changed',
        '16   line 16',
        '17   line 17',
        '18   line 18',
        '19   line 19',
        '20   line 20',
        '21 - line 21',
        '21   line 22',
        '22   line 23',
        '23   line 24',
      ],
      added: 1,
      removed: 2,
    })
  })
  test('control sequences in a file are shown, not sent', () => {
    const numbers = renderDiff({ before: 'a\n'.repeat(10), after: 'b\n' }, 60, plain).lines
    expect([numbers[0], numbers[9], numbers[10]]).toEqual([' 1 - a', '10 - a', ' 1 + b'])
    expect(renderDiff({ before: '', after: '\x1b[2Jx\n' }, 60, plain).lines).toEqual(['1 + ␛[2Jx'])
  })
})

describe('completion', () => {
  test.each<[text: string, wanted: ReturnType<typeof wantedAt>]>([
    ['/he', { kind: 'command', from: 0, query: 'he' }],
    ['say /he', null],
    ['look at @src/a', { kind: 'file', from: 8, query: 'src/a' }],
    ['@', { kind: 'file', from: 0, query: '' }],
    ['me@example', null],
    ['@a b', null],
  ])('of %j', (text, wanted) => {
    expect(wantedAt(text, text.length)).toEqual(wanted)
  })
  test('names that begin so come first, then those that hold it, then letters in order', () => {
    const paths = [
      'docs/editor.md',
      'src/tui/editorPanel.ts',
      'src/tui/editor.ts',
      'src/edits/index.ts',
      'e/d/i/t.txt',
      'README.md',
    ]
    expect(fuzzy('edit', paths, 5)).toEqual([
      'docs/editor.md',
      'src/tui/editor.ts',
      'src/tui/editorPanel.ts',
      'src/edits/index.ts',
      'e/d/i/t.txt',
    ])
    expect(fuzzy('tuied', paths, 2)).toEqual(['src/tui/editor.ts', 'src/tui/editorPanel.ts'])
    expect(fuzzy('zzz', paths, 5)).toEqual([])
  })
})

describe('the status line', () => {
  const figures = {
    activity: { kind: 'works', state: 'calling', words: null, since: 0 } as const,
    model: 'claude-sonnet-5-5',
    used: 12_345,
    budget: 160_000,
    cost: 0.0123,
    branch: 'main',
    session_id: 'ab12cd34-0000',
    approvesAll: false,
  }
  test('says what the machine does, with what, and what it has cost', () => {
    expect(statusLine(figures, 200, 2_400, plain)).toBe(
      '- thinking 2.4s · claude-sonnet-5-5 · 12.3k/160.0k (8%) · $0.0123 · main · ab12cd34',
    )
  })
  test('says that nothing asks, down to the last column', () => {
    const all = { ...figures, approvesAll: true }
    expect(statusLine(all, 200, 2_400, plain)).toBe(
      '- thinking 2.4s · --yes · claude-sonnet-5-5 · 12.3k/160.0k (8%) · $0.0123 · main · ab12cd34',
    )
    expect(statusLine(all, 30, 2_400, plain)).toBe('- thinking 2.4s · --yes')
  })
  test('what matters least goes first where there is no room, and it always fits', () => {
    const narrow = statusLine(figures, 50, 2_400, plain)
    expect(narrow).toBe('- thinking 2.4s · 12.3k/160.0k (8%) · $0.0123')
    for (let columns = 1; columns < 100; columns++)
      expect(widthOf(statusLine(figures, columns, 2_400, plain))).toBeLessThanOrEqual(Math.max(1, columns))
  })
})
