import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKeyReader, type Input } from '../../src/tui/keys.ts'

const key = (name: string, modifiers: object = {}): Input => ({
  kind: 'key',
  name,
  ctrl: false,
  alt: false,
  shift: false,
  ...modifiers,
})
const read = (...chunks: string[]): Input[] => {
  const reader = createKeyReader()
  return chunks.flatMap((chunk) => reader.push(chunk))
}

describe('keys', () => {
  test.each<[what: string, sent: string, is: Input]>([
    ['Enter', '\r', key('enter')],
    ['Shift-Enter, kitty', '\x1b[13;2u', key('enter', { shift: true })],
    ['Shift-Enter, xterm', '\x1b[27;2;13~', key('enter', { shift: true })],
    ['Alt-Enter', '\x1b\r', key('enter', { alt: true })],
    ['Ctrl-J', '\n', key('enter', { shift: true })],
    ['Escape, kitty', '\x1b[27u', key('escape')],
    ['Ctrl-C', '\x03', key('c', { ctrl: true })],
    ['Ctrl-C, kitty', '\x1b[99;5u', key('c', { ctrl: true })],
    ['Alt-B', '\x1bb', key('b', { alt: true })],
    ['Alt-F, kitty', '\x1b[102;3u', key('f', { alt: true })],
    ['Up', '\x1b[A', key('up')],
    ['Up, application mode', '\x1bOA', key('up')],
    ['Ctrl-Left', '\x1b[1;5D', key('left', { ctrl: true })],
    ['Shift-Tab', '\x1b[Z', key('tab', { shift: true })],
    ['Delete', '\x1b[3~', key('delete')],
    ['Backspace', '\x7f', key('backspace')],
    ['Alt-Backspace', '\x1b\x7f', key('backspace', { alt: true })],
    ['End', '\x1b[F', key('end')],
    ['a letter, kitty', '\x1b[97;2u', { kind: 'text', text: 'A' }],
    ['7 of the keypad, kitty', '\x1b[57406u', { kind: 'text', text: '7' }],
    ['Enter of the keypad, kitty', '\x1b[57414u', key('enter')],
    ['Up of the keypad, kitty', '\x1b[57419u', key('up')],
    ['Enter of the keypad, application mode', '\x1bOM', key('enter')],
    ['an emoji', '👍🏽', { kind: 'text', text: '👍🏽' }],
  ])('%s', (_, sent, is) => {
    expect(read(sent)).toEqual([is])
  })

  test('reports that nobody asked for are no typing', () => {
    expect(read('a\x1b[I\x1b[?1;2c\x1b]11;rgb:0/0/0\x07b')).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'b' },
    ])
  })

  test('an ESC alone waits for what may follow, and is the key after a silence', () => {
    const reader = createKeyReader()
    expect([reader.push('\x1b'), reader.waits(), reader.flush(), reader.waits()]).toEqual([[], 30, [key('escape')], 0])
  })

  test('half a sequence is waited for longer, and is nothing where no more comes: no Escape that would interrupt', () => {
    const reader = createKeyReader()
    expect([reader.push('\x1b[1;'), reader.waits(), reader.push('5D')]).toEqual([
      [],
      500,
      [key('left', { ctrl: true })],
    ])
    expect([reader.push('\x1b[1;'), reader.flush(), reader.push('a')]).toEqual([[], [], [{ kind: 'text', text: 'a' }]])
    expect([reader.push('\x1b['), reader.waits(), reader.flush()]).toEqual([[], 30, [key('[', { alt: true })]])
  })

  test('a mouse that was left on, keys let go and shortcuts with Super are no typing', () => {
    expect(read('\x1b[M !!', 'a\x1b[M', ' !', '!b\x1b[<0;3;4M\x1b[<0;3;4m\x1b[99;9u\x1b[97;1:3uc')).toEqual(
      [...'abc'].map((text) => ({ kind: 'text', text })),
    )
  })

  test('a paste that holds the mark of its own end is one paste; Ctrl-C gets one going whose end was lost', () => {
    const evil = 'a\x1b[201~\rb\x1b[201~\rc'
    expect(read(`\x1b[200~${evil}\x1b[201~`)).toEqual([{ kind: 'paste', text: evil.replaceAll('\r', '\n') }])
    expect(read('\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~')).toEqual([
      { kind: 'paste', text: 'a' },
      { kind: 'paste', text: 'b' },
    ])
    expect(read('\x1b[200~half of it', ' and more', '\x03', 'x')).toEqual([
      { kind: 'paste', text: 'half of it and more' },
      { kind: 'text', text: 'x' },
    ])
  })

  test('a paste is one piece, with what would be keys in it', () => {
    expect(read('x\x1b[200~a\r\nb\x03\x1b[A\x1b[201~y')).toEqual([
      { kind: 'text', text: 'x' },
      { kind: 'paste', text: 'a\nb\x03\x1b[A' },
      { kind: 'text', text: 'y' },
    ])
  })

  test('wherever the bytes are cut, the same is read', () => {
    const sent = 'hé👍🏽\x1b[200~pasted 🎉\nmore\x1b[201~\x1b[1;5D\x1bb\r\x1b[13;2uend\x03'
    const flat = (inputs: Input[]): string => {
      const parts = inputs.map((input) =>
        input.kind === 'key'
          ? `<${input.ctrl ? 'C-' : ''}${input.alt ? 'A-' : ''}${input.shift ? 'S-' : ''}${input.name}>`
          : input.kind === 'paste'
            ? `<paste ${input.text}>`
            : input.text,
      )
      return parts.join('')
    }
    const whole = flat(read(sent))
    fc.assert(
      fc.property(fc.array(fc.nat(sent.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), sent.length]
        const chunks = at.slice(1).map((end, i) => sent.slice(at[i], end))
        expect(flat(read(...chunks))).toBe(whole)
      }),
    )
  })
})
