import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeadTail } from '../../../src/services/tools/shell/headTail.ts'
import { plain } from '../../../src/services/tools/shell/plain.ts'

describe('terminal output as plain text', () => {
  test.each([
    ['plain', 'tab\tand\nline ends\n', 'tab\tand\nline ends\n'],
    ['colours', '\x1b[1;38;5;196mred\x1b[0m \x1b[4:3mwavy\x1b[m', 'red wavy'],
    ['8-bit CSI', '\x9b31mred\x9b0m', 'red'],
    ['cursor and private modes', '\x1b[?25l\x1b[2J\x1b[1;1Hx\x1b[?2004h', 'x'],
    ['a title ended by BEL', '\x1b]0;title\x07x', 'x'],
    ['a title ended by ST', '\x1b]2;title\x1b\\x', 'x'],
    ['an 8-bit OSC', '\x9d0;title\x9cx', 'x'],
    ['a hyperlink', '\x1b]8;;http://a.b/\x1b\\text\x1b]8;;\x1b\\', 'text'],
    ['a title without end', '\x1b]0;title\nnext \x07line', '0;title\nnext line'],
    ['a picture', '\x1bPq#0;2;0\n~~@@\x1b\\x', 'x'],
    ['APC and PM', '\x1b_Gi=1\x1b\\\x1b^pm\x1b\\x', 'x'],
    ['character sets and keypad', '\x1b(B\x1b=\x1b>\x1b7x\x1b8\x1bc', 'x'],
    ['CR LF', 'a\r\nb\r\r\nc', 'a\nb\nc'],
    ['a progress bar', ' 10%\r 50%\r100%\n', '100%\n'],
    ['a progress bar with its end', ' 10%\r100%\r\nnext', '100%\nnext'],
    ['a line taken away', 'working…\r         \rdone', 'done'],
    ['a spinner', '|\b/\b-\b\\\bok', 'ok'],
    ['a man page', 'N\bNA\bAM\bM _\bb', 'NAM b'],
    ['backspaces beyond the start', '\b\b\bx', 'x'],
    ['a backspace over an emoji', '😀\bx', 'x'],
    ['bells, NULs, DEL and C1', 'a\x07b\x00c\x7fd\x85e\x1b', 'abcde'],
    ['other scripts', 'é日😀 \u00a0', 'é日😀 \u00a0'],
  ])('%s', (_, input, expected) => {
    expect(plain(input)).toBe(expected)
  })

  const noise = fc.string({
    unit: fc.constantFrom(
      '\x1b',
      '[',
      ']',
      '0',
      ';',
      'm',
      '\x07',
      '\\',
      'P',
      '\x9d',
      '\x9c',
      '\r',
      '\n',
      '\b',
      'a',
      '😀',
    ),
  })

  test('never leaves a control character, and is then plain already', () => {
    fc.assert(
      fc.property(noise, (text) => {
        const once = plain(text)
        expect(once).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
        expect(plain(once)).toBe(once)
      }),
    )
  })

  test.each(['\x1b]', '\x9d', '\x1b[', '\x1bP', '\x1b[0;', '\x1b]8;;', 'a\b', 'a\r'])(
    'a megabyte of unended %j does not take for ever',
    (part) => {
      const text = plain(part.repeat(1_000_000 / part.length))
      expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    },
  )
})

describe('output in bounded memory', () => {
  const written = (limit: number, bytes: Uint8Array, cuts: number[]) => {
    const kept = new HeadTail(limit)
    // One buffer for all chunks, as the reader has it.
    const lent = Buffer.alloc(bytes.length)
    let from = 0
    for (const to of [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
      const length = to - from
      lent.set(bytes.subarray(from, to))
      kept.write(lent.subarray(0, length))
      lent.fill(0)
      from = to
    }
    return kept.text()
  }

  test('what fits is kept whole, however it is cut into chunks', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'é', '日', '😀') }), fc.array(fc.nat()), (text, cuts) => {
        expect(written(2000, Buffer.from(text), cuts)).toBe(text)
      }),
    )
  })

  test('of more the two ends are kept in whole characters, and the bytes between them counted', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'é', '日', '😀'), { minLength: 100 }),
        fc.array(fc.nat()),
        (parts, cuts) => {
          const text = parts.join('')
          const bytes = Buffer.from(text)
          fc.pre(bytes.length > 40)
          const [first = '', note = '', last = ''] = written(20, bytes, cuts).split('\n')
          const gap = Number(/\d+/.exec(note)?.[0])
          expect(text.startsWith(first) && text.endsWith(last)).toBe(true)
          expect(Buffer.byteLength(first) + gap + Buffer.byteLength(last)).toBe(bytes.length)
          expect([first, last].every((end) => Buffer.byteLength(end) >= 17 && Buffer.byteLength(end) <= 20)).toBe(true)
        },
      ),
    )
  })

  test('the cut goes to a line end where one is near, so that no sequence is cut', () => {
    const lines = Array.from({ length: 100 }, (_, n) => `\x1b[31mline ${n}\x1b[0m\n`).join('')
    const [first, second, note, last] = written(40, Buffer.from(lines), []).split('\n')
    expect([first, second, note, last]).toEqual([
      'line 0',
      'line 1',
      `[… ${Buffer.byteLength(lines) - 31 - 34} bytes of output left out here. To see them, send the output to a file and read its parts …]`,
      'line 98',
    ])
  })
})
