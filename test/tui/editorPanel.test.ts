/** The input box without a terminal: keys in, text out. */
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { createEditorPanel, type EditorPanel } from '../../src/tui/editorPanel.ts'
import { createKeyReader } from '../../src/tui/keys.ts'

interface Box extends EditorPanel {
  type(text: string): void
  sent: string[]
}

function openBox(history: string[] = []): Box {
  const sent: string[] = []
  const panel = createEditorPanel({
    colors: picocolors.createColors(false),
    history: () => ({ all: () => history, add: () => {} }),
    files: async () => [],
    commands: () => [],
    submit: (text) => sent.push(text),
    takeBack: () => null,
    changed: () => {},
  })
  const reader = createKeyReader()
  return {
    ...panel,
    sent,
    type(text) {
      for (const input of reader.push(text)) panel.take(input)
    },
  }
}

const paste = (text: string): string => `\x1b[200~${text}\x1b[201~`
const LONG = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n')
const WORDS = '[pasted text 1: 40 lines]'

test.each<[what: string, keys: string, is: string]>([
  ['Ctrl-W', '\x17', 'see  end'],
  ['Alt-Backspace', '\x1b\x7f', 'see  end'],
  ['Backspace', '\x7f', 'see  end'],
  ['Left, then Delete', '\x1b[D\x1b[3~', 'see  end'],
  ['Left, then Alt-D', '\x1b[D\x1bd', 'see  end'],
  ['Ctrl-W, then Ctrl-Y', '\x17\x19', `see ${WORDS} end`],
  ['Left, then a letter', '\x1b[Dx', `see x${WORDS} end`],
  ['Left, Right, then a letter', '\x1b[D\x1b[Cx', `see ${WORDS}x end`],
])('the words for a long paste stay whole, or go as a whole: %s', (_, keys, is) => {
  const box = openBox()
  box.type(`see  end${'\x1b[D'.repeat(4)}${paste(LONG)}${keys}`)
  expect(box.text()).toBe(is)
  box.type('\r')
  expect(box.sent).toEqual([is.replace(WORDS, LONG)])
})

test('a cut that begins beside a paste takes all of it, and a paste that holds such words is sent as it is', () => {
  const box = openBox()
  box.type(`a ${paste(LONG)}xyz\x17`)
  expect(box.text()).toBe('a ')
  const holding = `${WORDS}\n${LONG}`
  box.type(`${paste(holding)}\r`)
  expect(box.sent).toEqual([`a ${holding}`])
})

test('what comes back into the box in megabytes stands there in a few words, drafts with pastes included', () => {
  const box = openBox()
  const huge = 'many words '.repeat(200_000)
  box.type(paste(LONG))
  box.setText(`${huge}${box.text()}`)
  expect(box.text()).toBe('[pasted text 2: 40 lines]')
  expect(box.view(80, 24).lines.join('\n')).toContain('> [pasted text 2: 40 lines]')
  box.type('\r')
  expect(box.sent).toEqual([`${huge}${LONG}`])
})

test('Up and Down keep the column on the screen and never stop within a character', () => {
  const box = openBox()
  box.type('宽宽宽\nab👩‍👩‍👧‍👦d\n👍🏽👍🏽\x1b[Ax\x1b[Ay\x1b[B\x1b[Bz')
  expect(box.text()).toBe('宽宽y宽\nab👩‍👩‍👧‍👦xd\n👍🏽👍🏽z')
})

test('an entry of several lines comes back from the history, and the draft after it', () => {
  const box = openBox(['first', 'one\ntwo'])
  box.type('draft\x1b[A')
  expect(box.text()).toBe('one\ntwo')
  box.type('\x1b[A\x1b[A')
  expect(box.text()).toBe('first')
  box.type('\x1b[B\x1b[B')
  expect(box.text()).toBe('draft')
})
