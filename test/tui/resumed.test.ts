/** A session that is opened again looks as it looked while it went on. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import type { JournalRecord } from '../../src/machines/journal.ts'
import { NO_USAGE } from '../../src/machines/messages.ts'
import { showPast } from '../../src/tui/past.ts'
import type { Block } from '../../src/tui/screen.ts'
import { createTranscript } from '../../src/tui/transcript.ts'
import { temporaryDirectory } from '../support/agent.ts'
import { call, held, reply, startFakeModel } from '../support/fakeModel.ts'
import { openScreen, type Screen } from './tmux.ts'

const SIZE = { columns: 100, rows: 60 }

/** From the first prompt to the input box, without what only one of the two can know: how long calls took. */
function conversationOf(screen: string): string {
  const from = screen.indexOf('> ')
  const to = screen.indexOf('\n───', from)
  return screen.slice(from, to).replace(/\b\d+\.\ds\b/g, '0.0s')
}

async function say(screen: Screen, text: string): Promise<void> {
  await screen.type(text)
  await screen.press('Enter')
}

test('rounds of calls, failures, edits, interrupts and summaries look the same when a session is opened again', async () => {
  const never = held(reply('It never comes.'))
  const model = await startFakeModel({
    replies: [
      reply(['I look.', call('read_file', { path: 'a.txt' }), call('read_file', { path: 'missing.txt' })]),
      reply(['Then I change it.', call('edit_file', { path: 'a.txt', old_text: 'two', new_text: 'zwei' })]),
      reply([call('write_file', { path: 'b.txt', content: 'new\nfile\n' })]),
      reply('# Done\n\nIt is **changed**.'),
      reply(['A while.', call('bash', { command: 'sleep 60' })]),
      never,
      reply('The summary.'),
      reply('After it.'),
    ],
  })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'a.txt'), 'one\ntwo\nthree\n')
  const live = await openScreen({ url: model.url, home, cwd, ...SIZE, args: ['--yes'] })
  await live.until('ready')
  await say(live, 'Look at a.txt, and more.')
  await live.until(/It is changed\.[\s\S]*ready/)
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one\nzwei\nthree\n')
  await say(live, 'Wait.')
  await live.sees('running bash sleep 60')
  await live.press('Escape')
  await live.until(/Interrupted[\s\S]*ready/)
  await say(live, 'Tell me.')
  await model.waitForRequest(5)
  await live.press('Escape')
  await live.until(/Interrupted[\s\S]*> Tell me\.[\s\S]*Interrupted[\s\S]*ready/)
  never.release()
  await say(live, '/compact the file')
  await live.until(/the file[\s\S]*~[\s\S]*ready/)
  await say(live, 'Go on.')
  const before = await live.until(/After it\.[\s\S]*ready/)
  await live.press('C-d')
  await live.until('To go on with this conversation')

  const again = await openScreen({ url: model.url, home, cwd, ...SIZE, args: ['-c'] })
  const after = await again.until(/After it\.[\s\S]*ready/)
  expect(conversationOf(after)).toBe(conversationOf(before))
  expect(conversationOf(after)).toMatch(
    /✗ read_file missing\.txt failed[\s\S]* missing\.txt [\s\S]*✓ edit_file a\.txt[\s\S]*2 - two\n {4}2 \+ zwei[\s\S]*1 \+ new[\s\S]*\n\nDone\n\nIt is changed[\s\S]*✗ bash sleep 60 interrupted\nInterrupted/,
  )

  // The calls of before can be opened, the newest first.
  await again.press('C-o')
  await again.until('┌ write_file b.txt')
  await again.press('C-o')
  await again.until('┌ edit_file a.txt')
  expect(model.problems).toEqual([])
})

test('calls that the end of a process cut off, or that never began, say so', async () => {
  const model = await startFakeModel({
    replies: [
      reply([
        call('bash', { command: 'sleep 60' }),
        call('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'eins' }),
      ]),
    ],
  })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'a.txt'), 'one\n')
  writeFileSync(join(cwd, 'settings.json'), '{}')
  const live = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await live.until('ready')
  await say(live, 'Start.')
  await live.until('May bash do this?')
  await new Promise((resolve) => setTimeout(resolve, 800))
  await live.type('1')
  await live.until('May edit_file do this?')
  await live.sees('asks you')
  process.kill(await live.pid(), 'SIGKILL')
  await live.until('Killed')

  const again = await openScreen({ url: model.url, home, cwd, ...SIZE, args: ['-c'] })
  const shown = await again.until('ready')
  expect(shown).toMatch(
    /> Start\.\n\n✗ bash sleep 60 interrupted\n✗ edit_file a\.txt never started\nThe last turn was cut off before its answer/,
  )
})

const LIMITS = { max_turns: 100, input_tokens: 100_000 }
const USUAL = { id: 'm', model: 'm', stop_reason: null, usage: NO_USAGE, measured: true, ms: 5 }

/** What is printed of a session with these records, without colours. */
function shownOf(past: JournalRecord[]): string[] {
  const colors = picocolors.createColors(false)
  const lines: string[] = []
  const print = (...blocks: Block[]): void => void lines.push(...blocks.flatMap((block) => block(79)))
  const renderers = () => undefined
  const transcript = createTranscript({ colors, columns: () => 80, now: () => 0, cwd: () => '/p', renderers, print })
  showPast({ past, cwd: '/p' }, { transcript, print, tell: (text) => void lines.push(text), colors })
  return lines.filter((line) => line !== '')
}

test('of a turn with many calls its request is seen, and how much is left out', () => {
  const rounds = Array.from({ length: 40 }, (_, i): JournalRecord[] => [
    {
      ...USUAL,
      type: 'reply',
      content: [{ type: 'tool_use', id: `c${i}`, name: 'read_file', input: { path: `f${i}` } }],
    },
    { type: 'toolStarted', id: `c${i}` },
    { type: 'toolFinished', id: `c${i}`, content: 'text', is_error: false, ms: 1_200 },
  ])
  const shown = shownOf([
    { type: 'opened', session_id: 's', cwd: '/p', model: 'm' },
    { type: 'prompt', text: 'Read them all.', blocks: [{ type: 'text', text: 'Read.' }], cwd: '/p', limits: LIMITS },
    ...rounds.flat(),
    { type: 'turnEnded', status: 'failed', subtype: 'error_max_turns', message: 'Stopped after 40 model calls.' },
  ])
  expect(shown).toEqual([
    '… 17 earlier messages (/trace shows what happened)',
    '> Read them all.',
    '… what came of it first is left out',
    ...Array.from({ length: 24 }, (_, i) => `✓ read_file f${i + 16} 1.2s`),
    'error: Stopped after 40 model calls.',
  ])
})

test('what became of the calls of an interrupted turn is said once', () => {
  const calls = ['one', 'two'].map((command, i) => ({
    type: 'tool_use' as const,
    id: `c${i}`,
    name: 'bash',
    input: { command },
  }))
  const prompt = (text: string): JournalRecord => ({ type: 'prompt', text, blocks: [], cwd: '/p', limits: LIMITS })
  const ended: JournalRecord = { type: 'turnEnded', status: 'cancelled', subtype: 'error_interrupted' }
  const begun: JournalRecord[] = [
    { type: 'opened', session_id: 's', cwd: '/p', model: 'm' },
    prompt('Run both.'),
    { ...USUAL, type: 'reply', content: calls },
    { type: 'toolStarted', id: 'c0' },
  ]
  const cut = ['> Run both.', '✗ bash one interrupted', '✗ bash two never started']
  expect(shownOf(begun)).toEqual(cut)
  expect(shownOf([...begun, prompt('Why?')])).toEqual([...cut, '> Why?'])
  expect(shownOf([...begun, ended, prompt('Why?')])).toEqual([
    ...cut,
    'Interrupted. What is to be done instead?',
    '> Why?',
  ])
})

test('a file that was replaced says that the journal does not know what was there', () => {
  const input = { path: 'a.txt', content: 'new' }
  expect(
    shownOf([
      { type: 'opened', session_id: 's', cwd: '/p', model: 'm' },
      { ...USUAL, type: 'reply', content: [{ type: 'tool_use', id: 'c', name: 'write_file', input }] },
      { type: 'toolStarted', id: 'c' },
      { type: 'toolFinished', id: 'c', content: 'Replaced a.txt (3 bytes).', is_error: false, ms: 5 },
    ]),
  ).toEqual(['✓ write_file a.txt 0.0s', '    (what was replaced is not in the journal)'])
})
