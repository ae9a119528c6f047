import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clip,
  createPrinter,
  describeCall,
  displayWidth,
  duration,
  padTo,
  printable,
  printableLine,
  tokens,
} from '../../src/services/text.ts'

/** Text rich in what is dangerous, and in what is cut in two by chunks. */
const wild = fc.string({
  unit: fc.constantFrom(
    '\u001b',
    '[31m',
    '\u0007',
    '\u009c',
    '\0',
    '\r',
    '\n',
    '\t',
    '\u007f',
    '\u2066',
    'ä',
    '漢',
    '😀',
    '\ud83d',
    '\ude00',
    'e\u0301',
    'x',
  ),
})

describe('printable', () => {
  it('shows what it takes the power from', () => {
    expect(printable('\u001b[2Ja\u001b]52;c;eA==\u0007b\u001bPq\u001b\\c\u0000\u000b\u007f\u009b1m')).toBe(
      '␛[2Ja␛]52;c;eA==␇b␛Pq␛\\c␀␋␡<U+009B>1m',
    )
  })

  it('makes overrides of the reading direction visible', () => {
    expect(printable('rm \u202egpj.exe\u202c \u2066x\u2069')).toBe('rm <U+202E>gpj.exe<U+202C> <U+2066>x<U+2069>')
  })

  it('keeps tabs, line ends and every script, and the same string where there is nothing to do', () => {
    const text = 'a\tb\nשלום 漢字 👩‍👩‍👧 é\n'
    expect(printable(text)).toBe(text)
  })

  it('makes each kind of line end one line feed, so that no line overwrites itself', () => {
    expect(printable('a\r\nb\rc\r\r\nd')).toBe('a\nb\nc\n\nd')
  })

  it('gives half a surrogate pair a whole character', () => {
    expect(printable('\ud83d 😀 \ude00')).toBe('\ufffd 😀 \ufffd')
  })

  it('leaves nothing that a terminal acts on', () => {
    fc.assert(
      fc.property(wild, (text) => {
        expect(printable(text)).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/u)
        expect(printableLine(text)).not.toMatch(/[\0-\x1f\x7f-\x9f]/)
      }),
    )
  })

  it('prints chunks as it prints the whole, wherever they are cut', () => {
    fc.assert(
      fc.property(fc.array(wild), (chunks) => {
        const printer = createPrinter()
        expect(chunks.map(printer.push).join('') + printer.end()).toBe(printable(chunks.join('')))
      }),
    )
    const printer = createPrinter()
    const halves = [...'a\r\n😀\u001b[2J'].flatMap((character) => character.split(''))
    expect(halves.map(printer.push).join('') + printer.end()).toBe('a\n😀␛[2J')
  })
})

describe('widths', () => {
  it('are counted in terminal columns', () => {
    expect(['abc', '漢字', 'é', 'e\u0301', 'ｗ', '😀', '한글', '❤\ufe0f', ''].map(displayWidth)).toEqual([
      3, 4, 1, 1, 2, 2, 4, 1, 0,
    ])
  })

  it('bound a cut line, which says that it is cut', () => {
    expect([clip('abcdef', 6), clip('abcdef', 5), clip('漢字漢字', 6), clip('abc', 1), clip('abc', 0)]).toEqual([
      'abcdef',
      'abcd…',
      '漢字…',
      '…',
      '',
    ])
    fc.assert(
      fc.property(wild, fc.nat(40), (text, columns) => {
        const line = printableLine(text)
        expect(displayWidth(clip(line, columns))).toBeLessThanOrEqual(columns)
        expect(displayWidth(padTo(line, columns))).toBe(columns)
      }),
    )
  })
})

describe('describeCall', () => {
  const describeInput = (input: unknown, columns?: number) =>
    describeCall({ input: input as Record<string, unknown> }, columns)

  it('names what a call is about on one line', () => {
    expect(describeInput({ timeout: 5, command: 'cd a\n\tls \u001b[2J' })).toBe('cd a ls ␛[2J')
    expect(describeInput({ path: 'src', pattern: 'TODO' })).toBe('TODO src')
    expect(describeInput({ path: 'a.txt', content: 'x'.repeat(1e6) })).toBe('a.txt')
    expect(describeInput({ todos: 'none' })).toBe('{"todos":"none"}')
    expect(describeInput({ todos: [null, { content: 'x', status: 'completed' }] })).toBe('1 of 2 done')
    expect(describeInput({ todos: [{ content: 'mend it', status: 'in_progress' }] })).toBe('0 of 1 done: mend it')
    expect(describeInput({ command: 'x'.repeat(1e6) }, 10)).toBe('xxxxxxxxx…')
  })

  it('bears with inputs that no schema has seen', () => {
    expect([{}, null, undefined, { command: 5 }, []].map((input) => describeInput(input))).toEqual([
      '{}',
      '{}',
      '{}',
      '{"command":5}',
      '[]',
    ])
  })
})

describe('figures in words', () => {
  it('are short', () => {
    expect([-5, 0, 340, 9_949, 9_950, 59_400, 59_600, 125_000, 3_599_400, 3_720_000].map(duration)).toEqual([
      '0.0s',
      '0.0s',
      '0.3s',
      '9.9s',
      '10s',
      '59s',
      '1m 00s',
      '2m 05s',
      '59m 59s',
      '1h 02m',
    ])
    expect([0, 999, 1_000, 12_345, 999_949, 999_950, 1_234_567].map(tokens)).toEqual([
      '0',
      '999',
      '1.0k',
      '12.3k',
      '999.9k',
      '1.0M',
      '1.2M',
    ])
  })
})
