/** Text that is made to break a terminal, laid out and put on a screen: what comes out is text, colours and our own moves. */
import fc from 'fast-check'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { createAnswer } from '../../src/tui/answer.ts'
import { revealed } from '../../src/tui/blocks.ts'
import { renderDiff } from '../../src/tui/diff.ts'
import * as markdown from '../../src/tui/markdown.ts'
import { createScreen } from '../../src/tui/screen.ts'
import { widthOf, wrap } from '../../src/tui/wrap.ts'

const plain = picocolors.createColors(false)
const colors = picocolors.createColors(true)
const COLUMNS = 60

/** @returns the lines that a reply comes to, without colours */
function laidOut(text: string, paint = plain, columns = COLUMNS): string[] {
  const answer = createAnswer(paint, () => markdown)
  return [...answer.push(text), ...answer.end()]
    .flatMap((block) => block(columns))
    .map((line) => line.replace(/\x1b\[[\d;]*m/g, ''))
}

test('a control character that is written as an entity of HTML is shown, wherever in a reply it stands', () => {
  expect(laidOut('a &#27;]52;c;eA==&#7; **b&#x9b;2J** [c&#27;](http://d)')).toEqual([
    'a ␛]52;c;eA==␇ b<U+009B>2J c␛ (http://d)',
  ])
  const part = fc.constantFrom(
    ...['&#27;', '&#x1b;', '&#155;', '&#13;', '&#10;', '&#9;', '&Tab;', '&NewLine;', '&#0;', '&#x202e;', '&#xd800;'],
    ...[
      '# ',
      '> ',
      '- ',
      '| ',
      '|',
      '\n',
      '\n\n',
      '**',
      '`',
      '[',
      '](',
      ')',
      '![',
      '<',
      '>',
      '"',
      '\\',
      '---',
      '===',
      'a',
      ' ',
    ],
    ...['| a | b |\n|---|---|\n', '```\n', '    '],
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      for (const line of laidOut(parts.join(''), colors))
        expect(line).not.toMatch(/[\0-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]/)
    }),
    { numRuns: 500 },
  )
})

test('a heading of several lines is several lines, a tab is four columns, a definition of a link is seen', () => {
  expect(laidOut('one\ntwo\n---\n\na \tb\t\n\n| x\ty |\n|---|\n\n[1]: http://c')).toEqual([
    'one',
    'two',
    '',
    'a     b    ',
    '',
    'x    y',
    '──────',
    '',
    '[1]: http://c',
  ])
  expect(wrap(' \tx', 80)).toEqual(['     x'])
  expect(widthOf('\tx')).toBe(5)
})

test.each([
  ['quotations', '>'],
  ['spaced quotations', '> '],
  ['lists', '- '],
  ['numbers', '1. '],
  ['brackets', '['],
  ['links', '[a]('],
  ['emphasis', '*a '],
])('thousands of %s within each other fit the screen, and nothing of them is lost', (_, sign) => {
  const lines = laidOut(`${sign.repeat(1_500)}end`, colors)
  expect(lines.filter((line) => widthOf(line) > COLUMNS)).toEqual([])
  expect(lines.join('')).toContain('end')
})

test('a table of 150,000 rows that comes in one piece is laid out', () => {
  expect(laidOut(`| a |\n|---|\n${'| x |\n'.repeat(150_000)}`)).toHaveLength(150_002)
})

test('what is no colour in a line never leaves the screen for the terminal, whoever made the line', () => {
  let out = ''
  const screen = createScreen({
    write: (text) => {
      out += text
    },
    columns: () => 40,
    rows: () => 10,
  })
  screen.print(() => ['\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x9b2J', 'two\nlines\rof\tone'])
  screen.draw({ lines: ['live \x1bc'], cursor: { row: 0, column: 0 } })
  expect(out).toContain('\x1b[31mred\x1b[0m ␛]0;title␇ ␛[2J<U+009B>2J\x1b[K\r\ntwo lines of one\x1b[K\r\n')
  expect(out).toContain('live ␛c')
  expect(out.replace(/\x1b\[\?(?:2026|7)[hl]|\x1b\[\d*[KJmAC]|\r\n?/g, '')).not.toMatch(/[\0-\x1f\x7f-\x9f]/)
})

test('what is hidden in a command or an edit is in sight where a person is asked; emoji and scripts stay as they are', () => {
  const tags = [...'rm'].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')
  expect(revealed(`ls${tags} a\u200bb c\u200dd \u2028x\u061c \ufe0f 👩‍👩‍👧‍👦 می‌خواهم e\u0301`)).toBe(
    'ls<U+E0072><U+E006D> a<U+200B>b c<U+200D>d <U+2028>x<U+061C> \ufe0f 👩‍👩‍👧‍👦 می‌خواهم e\u0301',
  )
  const { lines } = renderDiff({ before: 'let a', after: 'let a\u200b' }, 60, plain)
  expect(lines).toEqual(['1 - let a', '1 + let a<U+200B>'])
})
