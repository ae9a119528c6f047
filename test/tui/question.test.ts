/** What a person is asked about is seen in full, however long it is and however small the terminal. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { renderDiff } from '../../src/tui/diff.ts'
import { changeOf } from '../../src/tui/edits.ts'
import { temporaryDirectory } from '../support/agent.ts'
import { call, held, reply, startFakeModel } from '../support/fakeModel.ts'
import { openScreen, type Screen } from './tmux.ts'

const SIZE = { columns: 80, rows: 24 }
const plain = picocolors.createColors(false)

/** Keys that come right after a question are taken for typing that was under way. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 800))
}

/** Turns the pages of a question to its end. @returns the rows that they showed, in order */
async function rowsOf(screen: Screen): Promise<string[]> {
  await pause()
  const rows: string[] = []
  for (;;) {
    const shown = await screen.until(/May \w+ do this\?[\s\S]*asks you/)
    expect(shown).toMatch(/› 1 \(o\) once[\s\S]*5 \(r\) no, and say what to do instead\nasks you/)
    const [line = '', from, to, of] = /^── rows (\d+) to (\d+) of (\d+).*/m.exec(shown) ?? []
    const lines = shown.split('\n')
    const end = lines.indexOf(line)
    const count = Number(to) - Number(from) + 1
    rows.splice(Number(from) - 1, rows.length, ...lines.slice(end - count, end))
    if (to === of) return rows
    await screen.press('PageDown')
    await screen.until(new RegExp(`^── rows \\d+ to (?!${to} )`, 'm'))
  }
}

test('a command of 30 lines: its beginning is on the screen with the choices, the rest a key away', async () => {
  const lines = Array.from({ length: 30 }, (_, i) => `echo "line ${String(i + 1).padStart(2, '0')}"`)
  const model = await startFakeModel({
    replies: [reply(['I run it.', call('bash', { command: lines.join('\n') })]), reply('Well.')],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await screen.type('Run it.')
  await screen.press('Enter')
  const first = await screen.until('May bash do this?')
  expect(first).toMatch(/\? bash asks\n {4}echo "line 01"\n[\s\S]*── rows 1 to \d+ of 3\d · PgDn, Space: on\n─+\nMay/)
  expect((await rowsOf(screen)).slice(1, 31)).toEqual(lines.map((line) => `    ${line}`))
  await screen.type('n')
  await screen.until(/Well\.[\s\S]*ready/)
  // It stands in the scrollback once, whole.
  const all = await screen.all()
  expect(lines.filter((line) => all.split(line).length !== 2)).toEqual([])
})

test('a very long line is broken, not cut; an edit of 100 lines can be seen to its last', async () => {
  const long = `node -e ${'abcdefghi '.repeat(300)}THE_END`
  const old = Array.from({ length: 100 }, (_, i) => `old ${i + 1}.`).join('\n')
  const model = await startFakeModel({
    replies: [
      reply([call('bash', { command: long })]),
      reply([call('edit_file', { path: 'a.txt', old_text: old, new_text: old.replaceAll('old', 'new') })]),
      reply('Well.'),
    ],
  })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'a.txt'), `${old}\n`)
  const screen = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await screen.until('ready')
  await screen.type('Run it.')
  await screen.press('Enter')
  await screen.until('May bash do this?')
  expect((await rowsOf(screen)).join('').replace(/\s+/g, '')).toContain(long.replace(/\s+/g, ''))
  await screen.type('n')
  await screen.until('May edit_file do this?')
  const numbered = (mark: string, word: string) =>
    Array.from({ length: 100 }, (_, i) => `    ${String(i + 1).padStart(3)} ${mark} ${word} ${i + 1}.`)
  expect((await rowsOf(screen)).slice(2, 202)).toEqual([...numbered('-', 'old'), ...numbered('+', 'new')])
  await screen.type('1')
  await screen.until(/Well\.[\s\S]*ready/)
})

test('Ctrl-C at a question interrupts; a question that was not asked yet is not shown', async () => {
  const model = await startFakeModel({
    replies: [reply([call('bash', { command: 'echo one' }), call('bash', { command: 'echo two' })])],
  })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await screen.type('Run both.')
  await screen.press('Enter')
  await screen.until('May bash do this?')
  await screen.press('C-c')
  const shown = await screen.until(/Interrupted[\s\S]*ready/)
  expect(shown).toMatch(/\n✗ bash echo one never started\n✗ bash echo two never started\nInterrupted\./)
  expect(shown.split('bash asks')).toHaveLength(2)
})

test('in a terminal of 6 rows the command is seen, and the chosen answer', async () => {
  const model = await startFakeModel({
    replies: [reply([call('bash', { command: 'echo one\necho two' })]), reply('Well.')],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, columns: 40, rows: 6 })
  await screen.until('ready')
  await screen.type('Run it.')
  await screen.press('Enter')
  const shown = await screen.until('once')
  expect(shown).toMatch(/── rows 1 to \d of \d · PgDn, Space: on\n› 1 \(o\) once\nasks you/)
  await pause()
  await screen.type(' ')
  await screen.until('rows 2 to')
  await screen.type(' ')
  await screen.until('echo two')
  await screen.press('Down')
  await screen.until('› 2 (s)')
})

test('one line of a large file is shown in its place; what takes too long to compare is shown as it would be', () => {
  const cwd = temporaryDirectory()
  const lines = Array.from({ length: 60_000 }, (_, i) => `"package-${i}": "1.0.${i}",`)
  writeFileSync(join(cwd, 'lock.json'), lines.join('\n'))
  const input = { path: 'lock.json', old_text: '"package-50000": "1.0.50000"', new_text: '"package-50000": "2.0.0"' }
  const edit = changeOf({ type: 'tool_use', id: 'e', name: 'edit_file', input }, cwd)
  expect(edit === null ? null : renderDiff(edit, 76, plain).lines).toEqual([
    '49998   "package-49997": "1.0.49997",',
    '49999   "package-49998": "1.0.49998",',
    '50000   "package-49999": "1.0.49999",',
    '50001 - "package-50000": "1.0.50000",',
    '50001 + "package-50000": "2.0.0",',
    '50002   "package-50001": "1.0.50001",',
    '50003   "package-50002": "1.0.50002",',
    '50004   "package-50003": "1.0.50003",',
  ])
  const whole = { path: 'lock.json', content: 'short\n' }
  const written = changeOf({ type: 'tool_use', id: 'w', name: 'write_file', input: whole }, cwd)
  expect(written === null ? null : renderDiff(written, 76, plain).lines).toEqual([
    '(too long to be compared; what the file would hold:)',
    '1 + short',
  ])
})

/** A conversation whose model will want to run a command as soon as `asking` is released. */
async function soonAsked() {
  const asking = held(reply([call('bash', { command: 'echo one' })]))
  const model = await startFakeModel({ replies: [asking, reply('Done.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await screen.type('Run it.')
  await screen.press('Enter')
  await screen.sees('thinking')
  return { asking, screen, model }
}

test('Esc on a question is a no: nothing runs, the model is told, and it goes on', async () => {
  const { asking, screen, model } = await soonAsked()
  asking.release()
  await screen.until('May bash do this?')
  await new Promise((resolve) => setTimeout(resolve, 900))
  await screen.press('Escape')
  expect(await screen.until(/Done\.[\s\S]*ready/)).toContain('→ refused')
  expect(model.requests[1]?.body.messages.at(-1)?.content).toMatchObject([
    { type: 'tool_result', is_error: true, content: expect.stringContaining('The user said no to this call.') },
  ])
})

test('a question that comes while a sentence is typed takes none of its words', async () => {
  const { asking, screen } = await soonAsked()
  await screen.type('Then ')
  asking.release()
  for (const letter of 'yes, tell me.') await screen.type(letter)
  await screen.until('May bash do this?')
  await new Promise((resolve) => setTimeout(resolve, 900))
  await screen.type('1')
  expect(await screen.until(/Done\.[\s\S]*ready/)).toContain('> Then yes, tell me.')
})

test('a question that comes over a list leaves the list open, and the status says that it asks', async () => {
  const { asking, screen } = await soonAsked()
  await screen.press('C-r')
  await screen.until('Said before:')
  await new Promise((resolve) => setTimeout(resolve, 900))
  asking.release()
  await screen.until('May bash do this?')
  await screen.type('1')
  await screen.until(/Done\.[\s\S]*Said before:[\s\S]*asks you/)
  await screen.press('Enter')
  await screen.until(/> Run it\.\n─+\nready/)
})
