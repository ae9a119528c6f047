/** A whole session at the terminal, as a person sees it, at two sizes. The fixtures are what the screen showed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runAgent, temporaryDirectory } from '../support/agent.ts'
import { call, type FakeModel, held, reply, startFakeModel } from '../support/fakeModel.ts'
import { openScreen, type Size, steady } from './tmux.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/terminal')
const SIZES: Array<Size & { name: string }> = [
  { name: '80x24', columns: 80, rows: 24 },
  { name: '200x50', columns: 200, rows: 50 },
]

const ANSWER = [
  '# What I found',
  '',
  'The project has **one** file, `a.txt`. It says:',
  '',
  '```js',
  'export const greeting = "hello" // said often',
  '```',
  '',
  '| file | lines |',
  '|---|---|',
  '| a.txt | 1 |',
  '',
  '1. first',
  '2. second, with a [link](https://example.com/x)',
  '',
  '> quoted words',
].join('\n')

const PARAGRAPHS = Array.from({ length: 30 }, (_, i) => `Paragraph ${i + 1}: ${'words and more words '.repeat(6)}.`)

describe.each(SIZES)('at $name', ({ name, columns, rows }) => {
  test('a session: rounds of tools, a granted and a refused call, interrupts, what is queued, a summary, another session', async () => {
    const slowReply = held(reply('It never comes.'))
    const model = await startFakeModel({
      replies: [
        // Two rounds of tools, one call granted.
        reply(['I look around.', call('bash', { command: 'cat a.txt' })]),
        reply(['Now the file.', call('read_file', { path: 'a.txt' })]),
        reply(ANSWER, { deltaChars: 7, chunkDelayMs: 2 }),
        // A change, refused with a reason.
        reply([call('edit_file', { path: 'a.txt', old_text: 'hello', new_text: 'good morning' })]),
        reply('Then I leave it as it is.'),
        // The same, granted.
        reply([call('edit_file', { path: 'a.txt', old_text: 'hello', new_text: 'good morning' })]),
        reply('Changed.'),
        // Interrupted in a tool.
        reply(['This takes a while.', call('bash', { command: 'sleep 60' })]),
        // Interrupted in a reply; before it, something is queued.
        slowReply,
        reply('The second answer.'),
        // A summary.
        reply('We looked at a.txt and changed it.'),
        reply('After the summary.'),
      ],
    })
    const home = temporaryDirectory()
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'a.txt'), 'hello\nworld\n')
    const screen = await openScreen({ url: model.url, home, cwd, columns, rows })
    // What is on the screen, and above it as much as has room: how far it has scrolled depends on the moment.
    const keep = async (shot: string, _shown: string): Promise<void> => {
      const text = steadyState((await screen.all()).split('\n').slice(-rows).join('\n'))
      await expect(steady(text, { [cwd]: '/project', [home]: '/home' })).toMatchFileSnapshot(
        join(FIXTURES, name, `${shot}.txt`),
      )
    }
    const say = async (text: string): Promise<void> => {
      await screen.type(text)
      await screen.press('Enter')
    }
    await keep('01-start', await screen.until('ready'))

    await say('What is here?')
    await screen.until('May bash do this?')
    await pause()
    await keep('02-question', await screen.shown())
    await screen.type('1')
    await keep('03-answer', await screen.until(/quoted words[\s\S]*ready/))

    await say('Greet better.')
    await screen.until('May edit_file do this?')
    await pause()
    await keep('04-change', await screen.shown())
    await screen.type('5')
    await screen.until('instead?')
    await screen.type('keep it short')
    await screen.press('Enter')
    await keep('05-refused', await screen.until(/leave it[\s\S]*ready/))
    expect(toolTexts(model, 4)).toEqual([
      'Permission refused: The user said no to this call. They say: keep it short. Nothing was run. Do not try to reach the same in another way; ask what to do instead if it is not clear.',
    ])
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('hello\nworld\n')

    await say('Do it.')
    await screen.until('May edit_file do this?')
    await pause()
    await screen.press('Enter')
    await keep('06-granted', await screen.until(/Changed\.[\s\S]*ready/))
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('good morning\nworld\n')

    await say('Wait.')
    await screen.until('May bash do this?')
    await pause()
    await screen.type('y')
    await screen.sees('running bash sleep 60')
    await screen.press('Escape')
    await keep('07-interrupted-tool', await screen.until(/Interrupted[\s\S]*ready/))

    await say('Tell me.')
    await model.waitForRequest(8)
    await say('And then?')
    await keep('08-queued', await screen.sees('queued: And then?'))
    await screen.press('C-c')
    await screen.until(/Interrupted[\s\S]*> And then\?/)
    await keep('09-interrupted-reply', await screen.until('ready'))
    await screen.press('Enter')
    await screen.until(/The second answer\.[\s\S]*ready/)
    slowReply.release()

    await say('/compact the file')
    await keep('10-summary', await screen.until(/compacted 100 → [\d.]+k tokens \(as asked\)[\s\S]*ready/))
    await say('Go on.')
    await screen.until(/After the summary\.[\s\S]*ready/)
    expect(model.problems).toEqual([])

    await say('/clear')
    const cleared = await screen.until(/goes back to it\.[\s\S]*ready/)
    expect(steady(cleared, { [cwd]: '/project' })).toMatch(
      /^agent \S+ · \/project · \/help shows what can be typed\nThe session before is kept: \/resume <id> goes back to it\.\n─+\n>\n─+\nready .*\n$/,
    )
    await screen.type('/res')
    await keep('11-command-list', await screen.until('go on with an older session'))
    await screen.press('Tab')
    await screen.press('Enter')
    await keep('12-picker', await screen.until('Go on with which session?'))
    await screen.press('Enter')
    await keep('13-resumed', await screen.until(/After the summary[\s\S]*ready/))
    await screen.press('C-c')
    await screen.press('C-c')
    const left = await screen.until(/To go on with this conversation: .*\n\$/)
    await keep('14-left', left)

    // All of it is in the journal, the interrupts and the summary too, and the machine follows it.
    const id = /agent -r (\S+)/.exec(left)?.[1] ?? ''
    const replayed = await runAgent(['replay', id, '--json'], { home })
    expect(replayed.code).toBe(0)
    expect(JSON.parse(replayed.stdout)).toMatchObject({ session_id: id, state: 'done', matches: true })
  })

  test('the size changes while an answer streams', async () => {
    const model = await startFakeModel({
      replies: [reply(PARAGRAPHS.join('\n\n'), { deltaChars: 25, chunkDelayMs: 8 })],
    })
    const home = temporaryDirectory()
    const screen = await openScreen({ url: model.url, home, columns, rows })
    await screen.until('ready')
    await screen.type('Go.')
    await screen.press('Enter')
    await screen.sees('Paragraph 5:')
    await screen.resize({ columns: columns - 20, rows: rows - 4 })
    await screen.sees('Paragraph 9:')
    await screen.resize({ columns: columns + 10, rows: rows + 2 })
    await screen.sees('Paragraph 14:')
    await screen.resize({ columns, rows })
    const end = await screen.until(/Paragraph 30:[\s\S]*ready/)
    expect(steady(end, {})).toMatch(/\n─+\n>\n─+\nready · /)
    expect(end.match(/ready/g)).toHaveLength(1)
    const whole = (await screen.all()).replace(/\s+/g, ' ')
    const missing = PARAGRAPHS.filter((paragraph) => !whole.includes(paragraph.replace(/\s+/g, ' ')))
    expect(missing).toEqual([])
  })
})

/** Keys that come right after a question are taken for typing that was under way. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 800))
}

/** A screen that still moves: what it says of the work depends on the moment. */
function steadyState(screen: string): string {
  return screen.replace(/^[-\\|/] [a-z].*? · /gm, '* works · ')
}

function toolTexts(model: FakeModel, request: number): unknown[] {
  const last = model.requests[request]?.body.messages.at(-1)
  return (last?.content ?? []).flatMap((block) => (block.type === 'tool_result' ? [block.content] : []))
}
