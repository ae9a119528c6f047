import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SessionsArgs, type SessionsDeps, sessionsCommand } from '../../src/commands/sessions.ts'
import { age } from '../../src/commands/sessionsList.ts'
import type { JournalEntry, JournalRecord, NewEntry } from '../../src/machines/journal.ts'
import { NO_USAGE, type ToolUseBlock } from '../../src/machines/messages.ts'
import type { StorePort } from '../../src/services/ports.ts'
import { createStore } from '../../src/services/store/index.ts'
import { Capture } from '../support/capture.ts'

const FIRST = '1111111a-0000-4000-8000-000000000001'
const SECOND = '1111111b-0000-4000-8000-000000000002'
const OTHER = '22222222-0000-4000-8000-000000000003'
const CHILD = '33333333-0000-4000-8000-000000000004'

const NOW = Date.parse('2026-11-20T12:00:00.000Z')
const MINUTE = 60_000

let home: string
let store: StorePort
let clock = NOW

beforeEach(async () => {
  home = await realpath(await mkdtemp(path.join(tmpdir(), 'sessions-')))
  store = createStore({ home, warn: () => {}, now: () => clock })
})

afterEach(async () => {
  await store.close()
  await rm(home, { recursive: true, force: true })
})

async function sessions(args: Partial<SessionsArgs>, deps: Partial<SessionsDeps> = {}) {
  const stdout = new Capture()
  const stderr = new Capture()
  const code = await sessionsCommand(
    { action: 'list', all: false, json: false, ...args },
    { store, cwd: home, stdout, stderr, stdoutIsTty: false, env: {}, now: NOW, ...deps },
  )
  return { code, stdout: stdout.text, stderr: stderr.text }
}

interface Made {
  cwd?: string
  /** Minutes before now. */
  ago?: number
  model?: string
  turns?: number
  prompt?: string
  parent?: string
  records?: JournalRecord[]
}

async function make(session_id: string, made: Made = {}): Promise<JournalEntry[]> {
  clock = NOW - (made.ago ?? 0) * MINUTE
  const { cwd = home, model = 'claude-sonnet-4-5', turns = 1, prompt = 'Fix the tests' } = made
  const opened: JournalRecord = { type: 'opened', session_id, cwd, model }
  const held = await store.hold(session_id)
  if (!held.ok) throw new Error(held.message)
  const entries = [opened, ...(made.records ?? [])].map((record): NewEntry => ({ in: 'persisting', record }))
  const head = { cwd, model, turns, first_prompt: prompt, gauge: 0, ...(made.parent && { parent: made.parent }) }
  const written = await held.value.append(entries, head)
  await held.value.release()
  return written
}

/** Two sessions here, one of them with a subagent's, and one elsewhere. */
async function makeSome() {
  await make(FIRST, { ago: 3 * 60, prompt: 'First\nof all', turns: 12 })
  await make(OTHER, { ago: 90, cwd: '/elsewhere', prompt: 'Elsewhere' })
  await make(CHILD, { ago: 6, parent: SECOND, prompt: 'Look around', model: 'a-model-with-a-very-long-name' })
  await make(SECOND, { ago: 5, prompt: `漢字 and \u001b[2J${' more'.repeat(40)}` })
}

/** One of each record, with a call of each fate. */
function everything(): JournalRecord[] {
  const call = (id: string, command: string): ToolUseBlock => ({
    type: 'tool_use',
    id,
    name: 'bash',
    input: { command },
  })
  const limits = { max_turns: 250, input_tokens: 1_000 }
  const answered = {
    type: 'reply',
    id: 'm',
    model: 'm',
    stop_reason: 'end_turn',
    usage: NO_USAGE,
    measured: true,
    ms: 1,
  } as const
  const text = (value: string) => ({ type: 'text' as const, text: value })
  const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data: 'AA==' } }
  const long = Array.from({ length: 9 }, (_, index) => `line ${index}\t${'x'.repeat(index * 20)}`).join('\r\n')
  return [
    {
      type: 'prompt',
      text: 'Fix it,\nplease \u001b]0;title\u0007',
      blocks: [text('Fix it'), text('@a.ts')],
      cwd: home,
      limits,
    },
    { type: 'context', hash: 'h', model: 'm', system: 's', tools: [] },
    {
      ...answered,
      content: [
        { type: 'thinking', thinking: 'secret', signature: 's' },
        text('I look.\n'),
        call('a', 'ls'),
        call('b', 'cat \u001b[2J'),
        call('c', 'rm x'),
        call('d', 'sleep 9'),
        call('e', 'true'),
      ],
    },
    { type: 'toolStarted', id: 'a' },
    { type: 'toolStarted', id: 'b' },
    { type: 'toolStarted', id: 'd' },
    { type: 'toolFinished', id: 'b', content: [text('no such\u001b[1m file'), image], is_error: true, ms: 40 },
    { type: 'toolFinished', id: 'a', content: long, is_error: false, ms: 61_000 },
    { type: 'toolFinished', id: 'c', content: 'Not allowed.', is_error: true, ms: 0, denied: true },
    { type: 'interrupted', reason: 'SIGINT' },
    { type: 'turnEnded', status: 'cancelled', subtype: 'error_interrupted', message: 'SIGINT came.' },
    { type: 'resumed', cwd: home, limits },
    { ...answered, content: [call('f', 'half')], incomplete: { reason: 'it was cut at max_tokens' } },
    { type: 'callFailed', reason: 'api_error', message: '529 overloaded', ms: 3 },
    { type: 'compactionFailed', trigger: 'budget', message: 'the summary was empty', usage: NO_USAGE, ms: 1 },
    {
      type: 'compacted',
      trigger: 'budget',
      summary: 'Goal: mend it.',
      kept: 0,
      transcript: null,
      before_tokens: 120_000,
      usage: NO_USAGE,
      ms: 1,
    },
    { type: 'fault', service: 'callModel', message: 'TypeError: x' },
    { ...answered, content: [text('Done.')] },
    { type: 'turnEnded', status: 'done', subtype: 'success' },
  ]
}

describe('agent sessions', () => {
  it('lists the sessions of the directory for people, subagents under their parent, in 80 columns', async () => {
    await makeSome()
    const { stdout, ...rest } = await sessions({})
    expect(rest).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'SESSION     USED           TURNS  MODEL              PROMPT',
      '1111111b    5 minutes ago      1  claude-sonnet-4-5  漢字 and ␛[2J more more mo…',
      '  33333333  6 minutes ago      1  a-model-with-a-v…  Look around',
      '1111111a    3 hours ago       12  claude-sonnet-4-5  First of all',
      '',
    ])
  })

  it('lists every directory under its name with --all, the one used last first', async () => {
    await makeSome()
    const { stdout } = await sessions({ all: true })
    expect(stdout.split('\n')).toEqual([
      'SESSION     USED           TURNS  MODEL              PROMPT',
      '',
      home,
      '1111111b    5 minutes ago      1  claude-sonnet-4-5  漢字 and ␛[2J more more mo…',
      '  33333333  6 minutes ago      1  a-model-with-a-v…  Look around',
      '1111111a    3 hours ago       12  claude-sonnet-4-5  First of all',
      '',
      '/elsewhere',
      '22222222    1 hour ago         1  claude-sonnet-4-5  Elsewhere',
      '',
    ])
  })

  it('shows a session', async () => {
    await make(FIRST, { ago: 5, records: everything() })
    const { stdout, ...rest } = await sessions({ action: 'show', id: '1' })
    expect(rest).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      `Session ${FIRST}`,
      `directory    ${home}`,
      'created      2026-11-20T11:55:00.000Z (5 minutes ago)',
      'used         2026-11-20T11:55:00.000Z (5 minutes ago)',
      'model        claude-sonnet-4-5',
      'turns        1',
      '',
      '> Fix it,',
      '  please ␛]0;title␇',
      '  (1 attached)',
      '',
      'I look.',
      '',
      '✓ bash ls 1m 01s',
      '  line 0',
      ...[1, 2, 3].map((index) => `  line ${index}  ${'x'.repeat(index * 20)}`),
      ...[4, 5].map((index) => `  line ${index}  ${'x'.repeat(69)}…`),
      '  … 3 more lines',
      '',
      '✗ bash cat ␛[2J failed 0.0s',
      '  no such␛[1m file',
      '  [image image/png]',
      '',
      '✗ bash rm x (refused)',
      '  Not allowed.',
      '',
      '[interrupted: SIGINT]',
      '',
      '✗ bash sleep 9 (interrupted, its outcome is unknown)',
      '',
      '✗ bash true (never started)',
      '',
      '[the turn ended with error_interrupted: SIGINT came.]',
      '',
      '[the unfinished turn is carried on]',
      '',
      '[the reply is not whole: it was cut at max_tokens]',
      '',
      '[the model call failed: 529 overloaded]',
      '',
      '[the compaction failed: the summary was empty]',
      '',
      '✗ bash half (not run)',
      '',
      '[compacted: a conversation of 120.0k tokens became a summary (budget)]',
      '  Goal: mend it.',
      '',
      '[callModel broke: TypeError: x]',
      '',
      'Done.',
      '',
    ])
  })

  it('is JSON for scripts, newest first, with exactly the public fields', async () => {
    await makeSome()
    const here = (await sessions({ json: true })).stdout
    const all = (await sessions({ json: true, all: true })).stdout
    const at = (minutes: number) => new Date(NOW - minutes * MINUTE).toISOString()
    const fields = { cwd: home, model: 'claude-sonnet-4-5', turns: 1 }
    const second = { ...fields, session_id: SECOND, created: at(5), used: at(5) }
    const child = { ...fields, session_id: CHILD, created: at(6), used: at(6), model: 'a-model-with-a-very-long-name' }
    const other = { ...fields, session_id: OTHER, created: at(90), used: at(90), cwd: '/elsewhere' }
    const first = { ...fields, session_id: FIRST, created: at(180), used: at(180), turns: 12 }
    const expected = [
      { ...second, first_prompt: `漢字 and \u001b[2J${' more'.repeat(40)}` },
      { ...child, first_prompt: 'Look around', parent: SECOND },
      { ...other, first_prompt: 'Elsewhere' },
      { ...first, first_prompt: 'First\nof all' },
    ]
    expect(JSON.parse(all)).toEqual(expected)
    expect(JSON.parse(here)).toEqual(expected.filter((head) => head.cwd === home))
    expect(here).not.toContain('\u001b')
  })

  it('finds the directory through a symbolic link', async () => {
    await make(FIRST)
    const link = path.join(home, 'link')
    await symlink(home, link)
    expect(JSON.parse((await sessions({ json: true }, { cwd: link })).stdout)).toHaveLength(1)
  })

  it('says so where there are none, and is an empty list for scripts', async () => {
    expect(await sessions({})).toEqual({
      code: 0,
      stdout: '',
      stderr: `There are no sessions of ${home}. \`agent sessions --all\` lists those of every directory.\n`,
    })
    expect(await sessions({ all: true })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There are no sessions yet. `agent -p "…"` starts one.\n',
    })
    expect(await sessions({ json: true })).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  })

  it('is coloured and as wide as the terminal only on one', async () => {
    await makeSome()
    const plain = (await sessions({ action: 'list' }, { env: { FORCE_COLOR: '1' } })).stdout
    const terminal = { stdoutIsTty: true, columns: 200 }
    const colored = (await sessions({ action: 'list' }, terminal)).stdout
    const uncolored = (await sessions({ action: 'list' }, { ...terminal, env: { NO_COLOR: '1' } })).stdout
    expect(plain).not.toContain('\u001b')
    expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(uncolored)
    expect(colored).not.toBe(uncolored)
    expect(Math.max(...plain.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(Math.max(...uncolored.split('\n').map((line) => line.length))).toBeGreaterThan(180)
  })

  it('exports the entries as they are stored, an object a line', async () => {
    const entries = await make(FIRST, { records: everything() })
    const { stdout, ...rest } = await sessions({ action: 'export', id: FIRST })
    expect(rest).toEqual({ code: 0, stderr: '' })
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(entries)
    const shown = JSON.parse((await sessions({ action: 'show', id: FIRST, json: true })).stdout)
    expect([shown.session_id, shown.entries]).toEqual([FIRST, entries])
  })

  it('shows the calls of a reply in their order, whichever ended first', async () => {
    const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: 'bash', input: { command: id } })
    const finished = (id: string): JournalRecord => ({ type: 'toolFinished', id, content: id, is_error: false, ms: 0 })
    const reply: JournalRecord = {
      type: 'reply',
      id: 'm',
      model: 'm',
      stop_reason: 'tool_use',
      usage: NO_USAGE,
      measured: true,
      content: [call('one'), call('two'), call('three')],
      ms: 1,
    }
    const started = (['one', 'two', 'three'] as const).map((id): JournalRecord => ({ type: 'toolStarted', id }))
    const records = [reply, ...started, finished('three'), finished('two')]
    await make(FIRST, { records: [...records, finished('one')] })
    await make(SECOND, { records })
    const shown = async (id: string) =>
      (await sessions({ action: 'show', id })).stdout.split('\n').filter((line) => /^[✓✗]/.test(line))
    expect(await shown(FIRST)).toEqual(['✓ bash one 0.0s', '✓ bash two 0.0s', '✓ bash three 0.0s'])
    expect(await shown(SECOND)).toEqual([
      '✗ bash one (interrupted, its outcome is unknown)',
      '✓ bash two 0.0s',
      '✓ bash three 0.0s',
    ])
  })

  it('says of the calls of a run that is at work that they run or wait, not that they were interrupted', async () => {
    await make(FIRST, { records: everything().slice(0, 6) })
    const held = await store.hold(FIRST)
    const shown = async () => (await sessions({ action: 'show', id: FIRST })).stdout.split('\n').slice(-10)
    expect(await shown()).toEqual([
      '… bash ls (running)',
      '',
      '… bash cat ␛[2J (running)',
      '',
      '… bash rm x (not started yet)',
      '',
      '… bash sleep 9 (running)',
      '',
      '… bash true (not started yet)',
      '',
    ])
    if (held.ok) await held.value.release()
    expect((await shown())[6]).toBe('✗ bash sleep 9 (interrupted, its outcome is unknown)')
  })

  it('shows what is left of a damaged session, with a warning', async () => {
    await make(FIRST)
    const damaged: StorePort = {
      ...store,
      async load(id) {
        const session = await store.load(id)
        return session && { ...session, warnings: ['Record 1 is damaged.'] }
      },
    }
    const { code, stdout, stderr } = await sessions({ action: 'export', id: FIRST }, { store: damaged })
    expect([code, stdout.split('\n').length, stderr]).toEqual([0, 2, 'warning: Record 1 is damaged.\n'])
  })

  it('removes a session with those of its subagents, and no other', async () => {
    await makeSome()
    expect(await sessions({ action: 'rm', id: '1111111b' })).toEqual({
      code: 0,
      stdout: `removed ${SECOND} and its subagent's session\n`,
      stderr: '',
    })
    expect((await store.list(null)).map((head) => head.session_id)).toEqual([OTHER, FIRST])
    expect((await sessions({ action: 'rm', id: FIRST, json: true })).stdout).toBe(`{"removed":["${FIRST}"]}\n`)
    expect(await store.load(FIRST)).toBeNull()
  })

  it('removes nothing of a session that a run holds', async () => {
    await makeSome()
    const held = await store.hold(SECOND)
    const { code, stdout, stderr } = await sessions({ action: 'rm', id: SECOND })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(
      new RegExp(`^agent: Nothing was removed\\. Session ${SECOND} is in use by process ${process.pid}\\b.*\n$`),
    )
    expect((await store.list(null)).length).toBe(4)
    if (held.ok) await held.value.release()
    expect((await sessions({ action: 'rm', id: SECOND })).code).toBe(0)
  })

  for (const action of ['show', 'export', 'rm'] as const) {
    it(`${action} asks for an id that means one session`, async () => {
      await makeSome()
      const failed = (stderr: string) => ({ code: 2, stdout: '', stderr })
      expect(await sessions({ action, id: '1111111' })).toEqual(
        failed(`agent: 2 sessions have an id that begins with "1111111"; name one of them: ${FIRST}, ${SECOND}\n`),
      )
      expect(await sessions({ action, id: 'no\u001bsuch' })).toEqual(
        failed('agent: Unknown session "no\\u001bsuch": agent sessions --all lists the ones there are.\n'),
      )
      const missing = failed(
        `agent: \`agent sessions ${action}\` needs the id of a session, or the first part of it.\n`,
      )
      expect([await sessions({ action }), await sessions({ action, id: '' })]).toEqual([missing, missing])
      expect((await store.list(null)).length).toBe(4)
    })
  }
})

describe('age', () => {
  it('is said in words', () => {
    const ago = (seconds: number) => age(new Date(NOW - seconds * 1_000).toISOString(), NOW)
    expect(
      [-60, 0, 59, 60, 3_599, 7_200, 86_400, 86_400 * 13, 86_400 * 21, 86_400 * 61, 86_400 * 800].map(ago),
    ).toEqual([
      'just now',
      'just now',
      'just now',
      '1 minute ago',
      '59 minutes ago',
      '2 hours ago',
      '1 day ago',
      '1 week ago',
      '3 weeks ago',
      '2 months ago',
      '2 years ago',
    ])
    expect(age('no time\u0007', NOW)).toBe('no time␇')
  })
})
