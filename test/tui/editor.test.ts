import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Editor, EMPTY_EDITOR, edit, insert, withText } from '../../src/tui/editor.ts'
import type { Key } from '../../src/tui/keys.ts'
import { layOut } from '../../src/tui/wrap.ts'

const press = (editor: Editor, ...names: string[]): Editor =>
  names.reduce((now, spelled) => {
    const [, ctrl, alt, name = ''] = /^(C-)?(A-)?(.*)$/.exec(spelled) ?? []
    const key: Key = { kind: 'key', name, ctrl: ctrl !== undefined, alt: alt !== undefined, shift: false }
    return edit(now, key) ?? now
  }, editor)
/** The text with the cursor in it. */
const shown = ({ text, cursor }: Editor): string => `${text.slice(0, cursor)}|${text.slice(cursor)}`

describe('the editor', () => {
  test.each<[keys: string, from: string, presses: string[], is: string]>([
    ['Ctrl-A goes to the beginning of the line', 'one\ntwo', ['C-a'], 'one\n|two'],
    ['Ctrl-E to its end', 'one\ntwo', ['C-a', 'up', 'C-e'], 'one\ntwo|'],
    ['Alt-B and Alt-F move by words', 'git log --oneline', ['A-b', 'A-b', 'A-f'], 'git log| --oneline'],
    ['Ctrl-W cuts to the last blank', 'rm -rf ./src', ['C-w'], 'rm -rf |'],
    ['Alt-Backspace cuts a word', 'rm -rf ./src', ['A-backspace'], 'rm -rf ./|'],
    ['Alt-D cuts the next one', 'one two', ['C-a', 'A-d'], '| two'],
    ['Ctrl-U cuts to the beginning, Ctrl-Y puts it back', 'one two', ['C-u', 'C-y', 'C-y'], 'one twoone two|'],
    ['Ctrl-K cuts to the end of the line', 'one\ntwo', ['C-a', 'C-k'], 'one\n|'],
    ['Ctrl-K at the end joins lines', 'one\ntwo', ['C-a', 'left', 'C-k'], 'one|two'],
    ['Backspace takes a whole grapheme', 'a👩‍👩‍👧‍👦', ['backspace'], 'a|'],
    ['Left steps over a whole grapheme', 'ae\u0301b', ['left', 'left'], 'a|e\u0301b'],
  ])('%s', (_, from, presses, is) => {
    expect(shown(press(withText(EMPTY_EDITOR, from), ...presses))).toBe(is)
  })

  test('whatever is typed and pressed, the cursor stays in the text and every row fits', () => {
    const keys = 'left right home end backspace delete C-a C-e C-k C-u C-w C-y A-b A-f A-d A-backspace'.split(' ')
    const words = ['a', ' ', '\n', 'wörd', '你好', '👩‍👩‍👧‍👦', 'e\u0301', '\t', 'שלום']
    const action = fc.oneof(
      fc.constantFrom(...keys).map((name) => (editor: Editor) => press(editor, name)),
      fc.constantFrom(...words).map((text) => (editor: Editor) => insert(editor, text)),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), fc.integer({ min: 4, max: 30 }), (actions, columns) => {
        const editor = actions.reduce((now, act) => act(now), EMPTY_EDITOR)
        const { rows, cursor } = layOut(editor.text, editor.cursor, columns)
        expect(editor.cursor).toBeLessThanOrEqual(editor.text.length)
        expect(rows.join('')).toBe(editor.text.replaceAll('\n', '').replaceAll('\t', '    '))
        expect(cursor.row).toBeLessThan(rows.length)
        expect(cursor.column).toBeLessThanOrEqual(columns)
      }),
    )
  })
})
