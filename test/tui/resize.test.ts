/** Another width: what is on the screen is laid out for it, once; what has scrolled off may stand there twice. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/agent.ts'
import { call, reply, startFakeModel } from '../support/fakeModel.ts'
import { openScreen } from './tmux.ts'

const paragraph = (n: number): string => `Paragraph ${n}: ${'some words and more '.repeat(6)}end ${n}.`
const TABLE = `| a | b |\n|---|---|\n| ${'wide cell '.repeat(6)} | x |`

test('narrower and wider, with a diff, a table, a long answer and a draft', async () => {
  const edit = { path: 'a.txt', old_text: 'line 5', new_text: 'LINE FIVE '.repeat(9) }
  const model = await startFakeModel({
    replies: [
      reply([[1, 2, 3].map(paragraph).join('\n\n'), call('edit_file', edit)]),
      reply([TABLE, paragraph(4), paragraph(5)].join('\n\n')),
    ],
  })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'a.txt'), Array.from({ length: 9 }, (_, i) => `line ${i}`).join('\n'))
  const screen = await openScreen({ url: model.url, home, cwd, columns: 80, rows: 24, args: ['--yes'] })
  await screen.until('ready')
  await screen.type('Go.')
  await screen.press('Enter')
  await screen.until(/end 5[\s\S]*ready/)
  const draft = 'a draft that is long enough for more than one line in any of the narrow widths here'
  await screen.type(draft)
  const before = await screen.until(draft.slice(-6))
  for (const columns of [50, 120, 200, 80]) {
    await screen.resize({ columns, rows: 24 })
    const rule = '─'.repeat(columns - 1)
    const shown = await screen.until(new RegExp(`\n${rule}\n> a draft[\\s\\S]*\n${rule}\nready[^\n]*$`))
    const words = shown.replace(/\s+/g, ' ')
    for (const n of [4, 5]) expect(words.split(paragraph(n)).length, `${columns}: ${n}`).toBe(2)
    expect(shown.split('ready').length).toBe(2)
    expect(shown.split('\n').filter((line) => line.length > columns - 1)).toEqual([])
    // How far it has scrolled depends on how it streamed.
    if (columns === 80) expect(shown.split('\n').slice(-18)).toEqual(before.split('\n').slice(-18))
  }
  // No two rows of it are one line for whoever copies them.
  expect(
    (await screen.all()).split('\n').filter((line) => / {20}\S/.test(line.slice(4)) && !/^a +b$/.test(line)),
  ).toEqual([])
})

test('a block that streams higher than the screen leaves it full when it ends, and stands in the scrollback once', async () => {
  const items = Array.from({ length: 60 }, (_, n) => `- item ${n} of a list`)
  const model = await startFakeModel({ replies: [reply(items.join('\n'), { deltaChars: 20, chunkDelayMs: 5 })] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), columns: 80, rows: 24 })
  await screen.until('ready')
  await screen.type('List them.')
  await screen.press('Enter')
  const shown = await screen.until(/item 59 of a list[\s\S]*ready/)
  expect(shown.split('\n')).toHaveLength(24)
  const rows = (await screen.all()).split('\n').filter((line) => line.includes('of a list'))
  expect(rows).toEqual(items.map((item) => item.replace('- ', '• ')))
})
