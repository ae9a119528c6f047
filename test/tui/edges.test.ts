/** What goes wrong at a terminal: kills, closed windows, Ctrl-Z, hostile text, terminals that can do little. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runAgent, temporaryDirectory } from '../support/agent.ts'
import { apiError, call, held, reply, startFakeModel } from '../support/fakeModel.ts'
import { childrenOf, gone, openScreen, type Screen } from './tmux.ts'

const SIZE = { columns: 80, rows: 24 }

/** Cooked or raw, as the terminal itself says; only while a shell is there to be asked. */
async function modesOf(screen: Screen): Promise<string> {
  await screen.type(`echo "modes: ${MODES}"`)
  await screen.press('Enter')
  const shown = await screen.until(MODES_SHOWN)
  return MODES_SHOWN.exec(shown)?.[1]?.trim() ?? ''
}
const MODES_SHOWN = /^modes: ((?:-?(?:isig|icanon|echo|icrnl) ?)+)/m
const MODES = "$(stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(isig|icanon|echo|icrnl)' | sort | tr '\\n' ' ')"
const COOKED = 'echo icanon icrnl isig'

test('killed with -9 in a tool: the terminal is given back, and the session goes on and is told what happened', async () => {
  const model = await startFakeModel({
    replies: [reply(['Slowly.', call('bash', { command: 'sleep 60' })]), reply('Gone on.')],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE, args: ['--yes'] })
  await screen.until('ready')
  await screen.type('Start.')
  await screen.press('Enter')
  await screen.sees('running bash sleep 60')
  const pid = await screen.pid()
  process.kill(pid, 'SIGKILL')
  await screen.until('Killed')
  expect(await modesOf(screen)).toBe(COOKED)

  const again = await openScreen({ url: model.url, home, ...SIZE, args: ['-c', '--yes'] })
  const shown = await again.until('ready')
  expect(shown).toContain('Start.')
  expect(shown).toContain('bash sleep 60')
  expect(shown).toContain('The last turn was cut off before its answer')
  await again.press('Enter')
  await again.until(/Gone on\.[\s\S]*ready/)
  expect(JSON.stringify(model.requests[1]?.body.messages.at(-1))).toContain(
    'Interrupted: the run ended while this call was running.',
  )
  expect(model.problems).toEqual([])
})

test('a raw terminal is given back where the one that started the agent does not care', async () => {
  const model = await startFakeModel({ replies: [] })
  const home = temporaryDirectory()
  const after = `sleep 1; echo "modes: ${MODES}"`
  const screen = await openScreen({ url: model.url, home, ...SIZE, through: { shell: 'sh', after } })
  await screen.until('ready')
  // The watcher that does it is started a moment after the prompt stands.
  await new Promise((resolve) => setTimeout(resolve, 700))
  const [agent] = await childrenOf(await screen.pid())
  process.kill(agent ?? 0, 'SIGKILL')
  const shown = await screen.until(MODES_SHOWN)
  expect(MODES_SHOWN.exec(shown)?.[1]?.trim()).toBe(COOKED)
})

test('the window is closed: the process ends, and the session can be gone on with', async () => {
  const waiting = held(reply('Too late.'))
  const model = await startFakeModel({ replies: [waiting, reply('Gone on.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await screen.type('Think.')
  await screen.press('Enter')
  await model.waitForRequest(0)
  const pid = await screen.pid()
  await screen.close()
  await gone(pid)
  waiting.release()
  const end = await runAgent(['-c', '-p', 'Go on.', '--output-format', 'text'], { url: model.url, home })
  expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 0, stdout: 'Gone on.\n' })
  expect(model.problems).toEqual([])
})

test('Ctrl-Z gives the terminal to the shell, and fg brings the conversation back as it was', async () => {
  const model = await startFakeModel({ replies: [reply('An answer.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await screen.type('half a question')
  await screen.press('C-z')
  await screen.until('Stopped')
  expect(await modesOf(screen)).toBe(COOKED)
  await screen.type('fg')
  await screen.press('Enter')
  await screen.until(/> half a question[\s\S]*ready/)
  await screen.type(', and its end')
  await screen.press('Enter')
  await screen.until(/> half a question, and its end[\s\S]*An answer\.[\s\S]*ready/)
})

test('what a model or a tool says never reaches the terminal raw, and wide, combining and endless text keeps the layout', async () => {
  const evil = [
    'Title \x1b]0;owned\x07 clear \x1b[2J\x1b[H up \x1b[5A end',
    'wide 你好，世界 and 宽'.padEnd(30) + '宽'.repeat(60),
    'combining e\u0301\u0301\u0301 and emoji 👩‍👩‍👧‍👦 🇩🇪 and right to left \u202eabc\u202c שלום',
    'x'.repeat(10_000_000),
  ].join('\n\n')
  const model = await startFakeModel({
    replies: [
      reply(evil, { deltaChars: 100_000 }),
      reply([call('bash', { command: "printf '\\033[2J\\033[Hgone'; exit 3" })]),
      reply('Done.'),
    ],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE, args: ['--yes'] })
  await screen.until('ready')
  await screen.type('Say it.')
  await screen.press('Enter')
  await screen.until(/more characters in this line\)[\s\S]*ready/)
  const shown = await screen.all()
  expect(shown).toContain('Title ␛]0;owned␇ clear ␛[2J␛[H up ␛[5A end')
  expect(shown).toContain('right to left <U+202E>abc<U+202C>')
  expect(shown.length).toBeLessThan(20_000)
  expect(shown.split('\n').filter((line) => line.startsWith('─'))).toHaveLength(2)
  await screen.type('Run it.')
  await screen.press('Enter')
  await screen.until(/Done\.[\s\S]*ready/)
  expect(await screen.all()).toContain('Say it.')
  await screen.press('C-o')
  expect(await screen.until('┌ bash printf')).toContain('gone')
})

test('a paste is one input, whatever it holds; a long one stands there in a few words and is sent whole', async () => {
  const model = await startFakeModel({ replies: [reply('First.'), reply('Second.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await screen.paste('one\ntwo\nthree')
  await screen.until(/> one\n {2}two\n {2}three/)
  await screen.press('Enter')
  await screen.until(/First\.[\s\S]*ready/)
  const long = Array.from({ length: 400 }, (_, i) => `line ${i}`).join('\n')
  await screen.type('See: ')
  await screen.paste(long)
  await screen.until('> See: [pasted text 1: 400 lines]')
  await screen.press('Enter')
  await screen.until(/Second\.[\s\S]*ready/)
  const prompts = model.requests.map(({ body }) => (body.messages.at(-1)?.content[0] as { text?: string })?.text)
  expect(prompts).toEqual(['one\ntwo\nthree', `See: ${long}`])
})

test('completion: files by letters of their path, commands by their beginning; what .gitignore names is left out', async () => {
  const model = await startFakeModel({ replies: [reply('Read.')] })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  for (const name of ['secret.log', 'server.ts', 'read me.txt', '.gitignore'])
    writeFileSync(join(cwd, name), 'secret.log\n')
  const screen = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await screen.until('ready')
  await screen.type('look at @se')
  expect(await screen.until('› @server.ts')).not.toContain('secret')
  await screen.press('Tab')
  await screen.type('and @readme')
  await screen.until('› @"read me.txt"')
  await screen.press('Enter')
  await screen.until('> look at @server.ts and @"read me.txt"')
  await screen.press('Enter')
  await screen.until(/Read\.[\s\S]*ready/)
  expect(JSON.stringify(model.requests[0]?.body.messages.at(-1))).toContain('path=\\"read me.txt\\"')
})

test('a terminal that can do little gets lines and numbers', async () => {
  const model = await startFakeModel({
    replies: [reply([call('bash', { command: 'echo hello' })]), reply('It **said** hello.')],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE, terminal: 'dumb' })
  await screen.until(/\n>$/)
  await screen.type('Run it.')
  await screen.press('Enter')
  await screen.until('Number:')
  await screen.type('7')
  await screen.press('Enter')
  await screen.until(/Number: 7\nNumber:$/)
  await screen.type('1')
  await screen.press('Enter')
  await screen.until(/It \*\*said\*\* hello\.\n\n?>$/)
  await screen.type('/exit')
  await screen.press('Enter')
  const shown = await screen.until('To go on with this conversation')
  expect(shown).toContain('bash asks:\n    echo hello\n')
  expect(shown).toContain('3  always: adds Bash(echo hello) to your settings')
  expect(shown).toContain('✓ bash echo hello')
})

test('in lines: a prompt that was typed ahead is no answer to a question that comes meanwhile', async () => {
  const asking = held(reply([call('bash', { command: 'echo hello' })]))
  const model = await startFakeModel({ replies: [asking, reply('Said hello.'), reply('Next.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE, terminal: 'dumb' })
  await screen.until(/\n>$/)
  await screen.type('Run it.')
  await screen.press('Enter')
  await model.waitForRequest(0)
  await screen.type('1')
  await screen.press('Enter')
  asking.release()
  await screen.until(/Number:$/)
  expect(model.requests).toHaveLength(1)
  await screen.type('1')
  await screen.press('Enter')
  await screen.until(/Said hello\.[\s\S]*Next\.\s*>$/)
  const prompts = model.requests.map(({ body }) => body.messages.at(-1)?.content.map((block) => block.text))
  expect([prompts[0]?.[0], prompts[2]?.[0]]).toEqual(['Run it.', '1'])
})

test('a command of the own: a Markdown file, its arguments put in', async () => {
  const model = await startFakeModel({ replies: [reply('Reviewed.')] })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  mkdirSync(join(cwd, '.agent/commands'), { recursive: true })
  writeFileSync(
    join(cwd, '.agent/commands/review.md'),
    '---\ndescription: looks at a file\n---\nReview $ARGUMENTS closely.\n',
  )
  const screen = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await screen.until('ready')
  await screen.type('/rev')
  await screen.until('/review  looks at a file')
  await screen.press('Tab')
  await screen.type('a.ts $1')
  await screen.press('Enter')
  await screen.until(/Reviewed\.[\s\S]*ready/)
  expect(model.requests[0]?.body.messages.at(-1)?.content[0]).toMatchObject({ text: 'Review a.ts $1 closely.' })
})

test('a model that does not answer: the message is there, and the next prompt goes on', async () => {
  const model = await startFakeModel({ replies: [reply('Back again.')] })
  const home = temporaryDirectory()
  const wrong = await openScreen({
    home,
    ...SIZE,
    env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', ANTHROPIC_API_KEY: 'k', AGENT_RETRY_MS: '300' },
  })
  await wrong.until('ready')
  await wrong.type('Hello?')
  await wrong.press('Enter')
  await wrong.until(/error: [\s\S]*ready/)
  await wrong.press('C-d')
  await wrong.until('To go on with this conversation')
  const screen = await openScreen({ url: model.url, home, ...SIZE, args: ['-c'] })
  await screen.until('ready')
  await screen.press('Enter')
  await screen.until(/Back again\.[\s\S]*ready/)
  expect(model.problems).toEqual([])
})

test('a model that is to be asked later: the wait is shown and can be ended at once; what failed is tried again by Enter', async () => {
  const model = await startFakeModel({
    replies: [
      apiError(429, 'rate_limit_error', 'Slow down.', { 'retry-after': '50' }),
      apiError(401, 'authentication_error', 'invalid x-api-key'),
      reply('Here again.'),
    ],
  })
  const env = { AGENT_RETRY_MS: '120000' }
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE, env })
  await screen.until('ready')
  await screen.type('Hello?')
  await screen.press('Enter')
  await screen.sees(/retry 1 in 50s: .*Slow down[\s\S]*asks again in \d+s, waiting/)
  await screen.press('Escape')
  await screen.until(/Interrupted\.[\s\S]*ready/)
  await screen.type('And now?')
  await screen.press('Enter')
  await screen.until(/401[\s\S]*Enter on an empty line tries again\.[\s\S]*ready/)
  await screen.press('Enter')
  await screen.until(/Here again\.[\s\S]*ready/)
  expect(model.problems).toEqual([])
})

test('a command that can begin nothing does not tell again how the turn before it failed', async () => {
  const model = await startFakeModel({ replies: [apiError(401, 'authentication_error', 'invalid x-api-key')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await screen.type('Hello?')
  await screen.press('Enter')
  await screen.until(/401[\s\S]*ready/)
  await screen.type('/compact')
  await screen.press('Enter')
  const shown = await screen.until(/There is nothing to summarise[\s\S]*ready/)
  expect([shown.match(/^error:/gm)?.length, shown.split('401').length - 1]).toEqual([2, 1])
})

test('a command of the own without a text sends nothing and says so', async () => {
  const model = await startFakeModel({ replies: [] })
  const cwd = temporaryDirectory()
  mkdirSync(join(cwd, '.agent/commands'), { recursive: true })
  writeFileSync(join(cwd, '.agent/commands/empty.md'), '---\r\ndescription: nothing\r\n---\r\n')
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), cwd, ...SIZE })
  await screen.until('ready')
  await screen.type('/empty')
  await screen.press('Enter')
  await screen.until(/The file of \/empty has no text that could be sent\.[\s\S]*ready/)
  expect(model.requests).toEqual([])
})

test('what begins like a path or with a sign is a prompt; /? is /help', async () => {
  const model = await startFakeModel({ replies: [reply('Hidden.'), reply('Told.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  for (const [text, answer] of [
    ['/.env is what?', 'Hidden.'],
    ['/ and so on', 'Told.'],
    ['/?', 'Ctrl-D'],
  ]) {
    await screen.type(text ?? '')
    await screen.press('Enter')
    await screen.until(new RegExp(`${answer}[\\s\\S]*ready`))
  }
  const prompts = model.requests.map(({ body }) => (body.messages.at(-1)?.content[0] as { text?: string })?.text)
  expect(prompts).toEqual(['/.env is what?', '/ and so on'])
})

test('without a key nothing is opened: one sentence, exit 2', async () => {
  const screen = await openScreen({ home: temporaryDirectory(), ...SIZE })
  await screen.until('No API key')
  await screen.type('echo "code $?"')
  await screen.press('Enter')
  expect(await screen.until(/^code/m)).toMatch(/agent: No API key: set ANTHROPIC_API_KEY[\s\S]*\ncode 2/)
})

test('a reply that breaks off is marked as void, and the one that follows counts', async () => {
  const model = await startFakeModel({
    replies: [
      reply('Half an answer that will break.\n\nAnd more of it, so that something stands there.', {
        deltaChars: 20,
        chunkDelayMs: 10,
        cut: { after: 'block_stop', by: 'destroy' },
      }),
      reply('The whole answer.'),
    ],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await screen.type('Say it.')
  await screen.press('Enter')
  const shown = await screen.until(/The whole answer\.[\s\S]*ready/)
  expect(shown).toMatch(/Half an answer[\s\S]*its text above is void\.[\s\S]*The whole answer\./)
})

test('with NO_COLOR the conversation is the same without colours', async () => {
  const model = await startFakeModel({ replies: [reply('**Bold** and `code`.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE, env: { NO_COLOR: '1' } })
  await screen.until('ready')
  await screen.type('Say it.')
  await screen.press('Enter')
  await screen.until(/Bold and code\.[\s\S]*ready/)
  expect(await screen.coloured()).not.toMatch(/\x1b\[[\d;]*m/)
})

test('what was typed in a directory is there again in the next conversation, for its user only', async () => {
  const model = await startFakeModel({ replies: [reply('One.')] })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  const first = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await first.until('ready')
  await first.type('remember these words')
  await first.press('Enter')
  await first.until(/One\.[\s\S]*ready/)
  await first.press('C-d')
  await first.until('To go on with this conversation')
  const second = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await second.until('ready')
  await second.type('a draft')
  await second.press('Up')
  await second.until('> remember these words')
  await second.press('Down')
  await second.until('> a draft')
  await second.press('C-u', 'C-r')
  await second.type('words')
  await second.until('› remember these words')
  const elsewhere = await openScreen({ url: model.url, home, cwd: temporaryDirectory(), ...SIZE })
  await elsewhere.until('ready')
  await elsewhere.press('Up')
  expect(await elsewhere.until('ready')).not.toContain('remember these words')
  const [name = ''] = readdirSync(join(home, '.agent/history'))
  const modes = [join(home, '.agent/history'), join(home, '.agent/history', name)].map(
    (path) => statSync(path).mode & 0o777,
  )
  expect(modes).toEqual([0o700, 0o600])
})

test('words typed while the session is still opening are sent when it is open', async () => {
  const model = await startFakeModel({ replies: [reply('Heard.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.type('Early words.')
  await screen.press('Enter')
  await screen.until(/> Early words\.[\s\S]*Heard\.[\s\S]*ready/)
})

test.each([
  ['left', (screen: Screen) => screen.press('C-d')],
  ['killed with -9', async (screen: Screen) => void process.kill(await screen.pid(), 'SIGKILL')],
  ['ended by a signal', async (screen: Screen) => void process.kill(await screen.pid(), 'SIGTERM')],
  ['closed with its window', (screen: Screen) => screen.close()],
])('the inspector that was started here ends when the conversation is %s', async (_, end) => {
  const model = await startFakeModel({ replies: [reply('Hello.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), columns: 120, rows: 24 })
  await screen.until('ready')
  await screen.type('Hi.')
  await screen.press('Enter')
  await screen.until(/Hello\.[\s\S]*ready/)
  await screen.type('/inspect')
  await screen.press('Enter')
  const [address = ''] = /http:\/\/127\S+/.exec(await screen.until(/http:[\s\S]*ready/)) ?? []
  await screen.type('/inspect')
  await screen.press('Enter')
  // Asked for again, it is the same one.
  expect((await screen.until(/http:[\s\S]*http:[\s\S]*ready/)).split(address)).toHaveLength(3)
  expect((await fetch(address)).status).toBe(200)
  // The other child is the shell that gives the terminal back.
  const pids = (await childrenOf(await screen.pid())).filter((pid) => !commandOf(pid).startsWith('/bin/sh'))
  expect(pids).toHaveLength(1)
  await end(screen)
  for (const pid of pids) await gone(pid)
  await expect(fetch(address)).rejects.toThrow()
})

function commandOf(pid: number): string {
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout
}
