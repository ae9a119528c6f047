/** The commands of the conversation, typed as a person types them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runAgent, temporaryDirectory } from '../support/agent.ts'
import { call, reply, startFakeModel } from '../support/fakeModel.ts'
import { openScreen, type Screen } from './tmux.ts'

const SIZE = { columns: 110, rows: 46 }

/** Types a command and gives what is shown from it on, once the conversation waits again. */
async function command(screen: Screen, text: string): Promise<string> {
  await screen.type(text)
  await screen.press('Enter')
  const shown = await screen.until(new RegExp(`^> ${text.replace(/[/.[\]]/g, '\\$&')}$[\\s\\S]*^>$[\\s\\S]*ready`, 'm'))
  return shown.slice(shown.lastIndexOf(`> ${text}`))
}

test('what can be asked about a session is what the command line says of it', async () => {
  const model = await startFakeModel({
    replies: [reply([call('glob', { pattern: '*' })]), reply('One file.'), reply('Bigger now.')],
  })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'a.txt'), 'hello\n')
  mkdirSync(join(home, '.agent'))
  writeFileSync(join(home, '.agent/settings.json'), '{ "permissions": { "allow": ["Bash(npm test)"] } }')
  const screen = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await screen.until('ready')
  expect(await command(screen, '/trace')).toContain('Nothing has happened yet.')
  expect(await command(screen, '/help')).toContain('/compact       summarise the conversation')
  await screen.type('What is here?')
  await screen.press('Enter')
  await screen.until(/One file\.[\s\S]*ready/)

  const status = await command(screen, '/status')
  const id = /session {4}(\S+)/.exec(status)?.[1] ?? ''
  expect(status).toMatch(new RegExp(`directory {2}${cwd}\\n.*branch {5}none\\n.*model {6}claude-sonnet-5-5`, 's'))
  const traced = await runAgent(['trace', id], { home })
  const shown = await command(screen, '/trace')
  expect(shown).toContain(traced.stdout.trimEnd().split('\n').at(-1))
  expect(await command(screen, '/permissions')).toMatch(/allow {2}from \S+settings\.json\n {4}Bash\(npm test\)/)
  expect(await command(screen, '/config')).toContain('compaction.input_tokens')
  expect(await command(screen, '/skills')).toContain('No skills here.')
  expect(await command(screen, '/memory')).toContain('No memories here.')
  expect(await command(screen, '/cost')).toContain('2 model calls')
  expect(await command(screen, '/nonsense')).toContain('There is no command /nonsense.')

  expect(await command(screen, '/model claude-haiku-4-5')).toContain('From the next call on the model is')
  await screen.type('And now?')
  await screen.press('Enter')
  await screen.until(/Bigger now\.[\s\S]*ready · claude-haiku-4-5/)
  expect(model.requests.map(({ body }) => body.model)).toEqual([
    'claude-sonnet-5-5',
    'claude-sonnet-5-5',
    'claude-haiku-4-5',
  ])

  await command(screen, '/export talk.md')
  expect(readFileSync(join(cwd, 'talk.md'), 'utf8')).toMatch(/^## User\n\nWhat is here\?\n\n## Agent\n\n```json\nglob /)
  expect(await command(screen, '/export talk.md')).toContain('is there already')
  await command(screen, '/export all.jsonl')
  expect(readFileSync(join(cwd, 'all.jsonl'), 'utf8')).toBe(
    (await runAgent(['sessions', 'export', id], { home })).stdout,
  )
  expect(model.problems).toEqual([])
})

test('a fork goes on by itself; the session it comes from stays as it is', async () => {
  const model = await startFakeModel({ replies: [reply('First.'), reply('Another first.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await screen.type('Begin.')
  await screen.press('Enter')
  await screen.until(/First\.[\s\S]*ready/)
  // After its third transition the prompt waits for an answer.
  expect(await command(screen, '/fork 3')).toMatch(
    /session [0-9a-f]{8}\n\n> Begin\.\n\nThe last turn was cut off [^\n]*\nA copy of session [0-9a-f]{8} up to transition 3;/,
  )
  await screen.press('Enter')
  await screen.until(/Another first\.[\s\S]*ready/)
  const { stdout } = await runAgent(['sessions', '--json'], { home })
  const sessions = JSON.parse(stdout) as Array<{ first_prompt: string; turns: number }>
  expect(sessions.map(({ first_prompt, turns }) => ({ first_prompt, turns }))).toEqual([
    { first_prompt: 'Begin.', turns: 1 },
    { first_prompt: 'Begin.', turns: 1 },
  ])
})

test('trust is asked for, and the settings of the project count from then on', async () => {
  const model = await startFakeModel({
    replies: [reply([call('bash', { command: 'npm --version' })]), reply('It ran.')],
  })
  const home = temporaryDirectory()
  const cwd = temporaryDirectory()
  mkdirSync(join(cwd, '.agent'))
  writeFileSync(join(cwd, '.agent/settings.json'), '{ "permissions": { "allow": ["Bash(npm --version)"] } }')
  const screen = await openScreen({ url: model.url, home, cwd, ...SIZE })
  await screen.until('ready')
  await screen.type('/trust')
  await screen.press('Enter')
  await screen.until(`Trust ${cwd}?`)
  await screen.press('Enter')
  await screen.until(/ready/)
  expect(existsSync(join(home, '.agent/trust.json'))).toBe(false)
  await screen.type('/trust')
  await screen.press('Enter')
  await screen.until(`Trust ${cwd}?`)
  await screen.press('Down', 'Enter')
  await screen.until('is trusted.')
  await screen.until('ready')
  await screen.type('Which npm?')
  await screen.press('Enter')
  await screen.until(/✓ bash npm --version[\s\S]*It ran\.[\s\S]*ready/)
})

test('a list of transitions fits the screen, and Enter runs the command that is marked in the list', async () => {
  const model = await startFakeModel({ replies: [reply('A long answer that goes on. '.repeat(20))] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), columns: 80, rows: 40 })
  await screen.until('ready')
  await screen.type('Begin.')
  await screen.press('Enter')
  await screen.until(/goes on\.[\s\S]*ready/)
  await screen.type('/tra')
  await screen.until('/trace')
  await screen.press('Enter')
  const shown = await screen.until(/> \/trace[\s\S]*persisting +.*[\s\S]*ready/)
  const rows = shown.slice(shown.indexOf('> /trace')).split('\n')
  const lines = rows.filter((row) => /^\s*\d/.test(row))
  // No row goes on in the next.
  expect(rows.slice(2, 2 + lines.length)).toEqual(lines)
})

test('step mode shows each service before it starts, and goes on when told', async () => {
  const model = await startFakeModel({ replies: [reply('Stepped.')] })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  await command(screen, '/step')
  await screen.type('Hello.')
  await screen.press('Enter')
  await screen.until(/loadContext[\s\S]*n next · c go on without stopping · q interrupt/)
  await screen.type('n')
  await screen.until(/persisting is about to start persist\n.*writes 2 records/)
  await screen.press('Enter')
  await screen.until('calling is about to start callModel')
  expect(model.requests).toEqual([])
  await screen.type('c')
  await screen.until(/Stepped\.[\s\S]*ready/)
})

test('step mode holds after an interrupt: the next turn stops again', async () => {
  const model = await startFakeModel({ replies: [reply('Stepped.')] })
  const screen = await openScreen({ url: model.url, home: temporaryDirectory(), ...SIZE })
  await screen.until('ready')
  await command(screen, '/step')
  await screen.type('Hello.')
  await screen.press('Enter')
  await screen.until('n next · c go on without stopping · q interrupt')
  await screen.type('q')
  // Nothing was kept of the prompt yet: it stands in the line again.
  await screen.until(/Interrupted\.[\s\S]*> Hello\.[\s\S]*ready/)
  expect(model.requests).toEqual([])
  await screen.press('Enter')
  await screen.until(/loadContext[\s\S]*n next · c go on without stopping · q interrupt/)
  await screen.type('c')
  await screen.until(/Stepped\.[\s\S]*ready/)
})

test('what is allowed for the session says what it covers, and is listed until the session is closed', async () => {
  const model = await startFakeModel({
    replies: [
      reply([call('bash', { command: 'npm --version' })]),
      reply([call('bash', { command: 'npm --version > version.txt' })]),
      reply([call('bash', { command: 'npm --version' })]),
      reply('It ran.'),
    ],
  })
  const home = temporaryDirectory()
  const screen = await openScreen({ url: model.url, home, ...SIZE })
  await screen.until('ready')
  expect(await command(screen, '/permissions')).not.toContain('for this session')
  await screen.type('Which npm?')
  await screen.press('Enter')
  await screen.until('2 (s) for this session: Bash(npm --version)')
  await pause()
  await screen.type('s')
  const second = await screen.until('2 (s) for this session: exactly this command')
  expect(second).toContain('→ allowed for this session: Bash(npm --version)')
  await pause()
  await screen.type('s')
  await screen.until(/It ran\.[\s\S]*ready/)
  expect(await command(screen, '/permissions')).toContain(
    [
      '  given for this session, until it is closed',
      '    Bash(npm --version)',
      '    bash, exactly: npm --version > version.txt',
    ].join('\n'),
  )
  await screen.type('/clear')
  await screen.press('Enter')
  await screen.until(/shows what can be typed\n[\s\S]*ready/)
  expect(await command(screen, '/permissions')).not.toContain('for this session')
})

/** Keys that come right after a question are taken for typing that was under way. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 800))
}
