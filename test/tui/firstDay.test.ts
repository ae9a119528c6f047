/** What hands do without thinking: undo, taking back, completing, choosing, in terminals of any size. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EMPTY_EDITOR, insert } from '../../src/tui/editor.ts'
import { createUndo } from '../../src/tui/undo.ts'
import { temporaryDirectory } from '../support/agent.ts'
import { held, reply, startFakeModel } from '../support/fakeModel.ts'
import { openScreen } from './tmux.ts'

const SIZE = { columns: 80, rows: 24 }

test('a word typed is one change to take back, and so is a cut or a paste', () => {
  const undo = createUndo()
  let editor = EMPTY_EDITOR
  const type = (text: string): void => {
    const next = insert(editor, text)
    undo.note(editor, next)
    editor = next
  }
  for (const letter of 'one two') type(letter)
  type('a long paste')
  const texts: string[] = []
  for (;;) {
    const before = undo.back(editor)
    if (before === null) break
    editor = before
    texts.push(editor.text)
  }
  expect(texts).toEqual(['one two', 'one ', 'one', ''])
})

test('what was cut comes back with Ctrl-_, cleared words too; a long paste goes as a whole', async () => {
  const model = await startFakeModel({ replies: [] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await screen.type('hello big world')
  await screen.press('C-w')
  await screen.until(/> hello big\n/)
  await screen.press('C-_')
  await screen.until('> hello big world')
  await screen.press('C-c')
  await screen.until(/^>$/m)
  await screen.press('C-_')
  await screen.until('> hello big world')
  await screen.paste(Array.from({ length: 500 }, (_, i) => `line ${i}`).join('\n'))
  await screen.until('> hello big world[pasted text 1: 500 lines]')
  await screen.press('BSpace')
  await screen.until(/> hello big world\n/)
})

test('Up takes back what waits, once; it is sent as it was changed', async () => {
  const slow = held(reply('First.'))
  const model = await startFakeModel({ replies: [slow, reply('Second.'), reply('Third.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await screen.type('Begin.')
  await screen.press('Enter')
  await model.waitForRequest(0)
  for (const text of ['then this', 'and that']) {
    await screen.type(text)
    await screen.press('Enter')
    await screen.sees(`queued: ${text}`)
  }
  await screen.press('Up')
  await screen.sees(/queued: then this\n─+\n> and that/)
  expect(await screen.shown()).not.toContain('queued: and that')
  await screen.type(', please')
  await screen.press('Enter')
  slow.release()
  await screen.until(/Second\.[\s\S]*> and that, please[\s\S]*Third\.[\s\S]*ready/)
  expect(model.requests.map(({ body }) => (body.messages.at(-1)?.content.at(-1) as { text?: string })?.text)).toEqual([
    'Begin.',
    'then this',
    'and that, please',
  ])
})

test('a name with spaces is completed within its quotes; a list that is longer says so', async () => {
  const model = await startFakeModel({ replies: [] })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  mkdirSync(join(cwd, 'my notes'))
  writeFileSync(join(cwd, 'my notes/to do.txt'), 'x')
  const screen = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await screen.until('ready')
  await screen.type('look at @"my notes/t')
  await screen.until('› @"my notes/to do.txt"')
  await screen.press('Tab')
  await screen.until(/> look at @"my notes\/to do\.txt"\n/)
  await screen.press('C-u')
  await screen.type('/')
  await screen.until(/› \/help[\s\S]*… 11 more/)
})

test('a list is searched, paged, and put away by Ctrl-C with what was being typed left alone', async () => {
  const model = await startFakeModel({ replies: [] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  for (const text of ['/cost', '/model', '/nothing']) {
    await screen.type(text)
    await screen.press('Enter')
    await screen.until(new RegExp(`> ${text}[\\s\\S]*ready`))
  }
  await screen.type('a draft')
  await screen.press('C-r')
  await screen.until('› /nothing')
  await screen.press('C-r')
  await screen.until('› /model')
  await screen.press('End')
  await screen.until('› /cost')
  await screen.press('PageUp')
  await screen.until('› /nothing')
  await screen.press('C-c')
  await screen.until(/> a draft[\s\S]*ready/)
  await screen.press('C-r')
  await screen.type('mod')
  await screen.until(/› \/model\n1 of 3/)
  await screen.press('Enter')
  await screen.until(/> \/model\n/)
})

test('a terminal of 20 columns and 5 rows can be typed in, and shows all again when it is large', async () => {
  const model = await startFakeModel({ replies: [reply('It **works** in a very small terminal.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await screen.resize({ columns: 20, rows: 5 })
  await screen.type('Does it work here?')
  await screen.until(/work here|k here/)
  await screen.press('Enter')
  await screen.until(/terminal\.\n[\s\S]*ready/)
  await screen.type('/cos')
  await screen.until('› /cost')
  await screen.press('C-u')
  await screen.resize(SIZE)
  await screen.until(/> Does it work here\?\n\nIt works in a very small terminal\.\n\n─{79}\n>\n─{79}\nready/)
})
