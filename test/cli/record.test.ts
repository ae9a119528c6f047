/** `--record <file>` and `--model replay:<file>` (contract.md, section 10). */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JournalEntry } from '../../src/machines/journal.ts'
import { type RunOptions, runAgent, TEST_KEY, temporaryDirectory } from '../support/agent.ts'
import { apiError, type CapturedRequest, call, held, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

/** Plays a recording with no key, no server and a home of its own. */
async function play(file: string, args: string[], more: Partial<RunOptions> = {}) {
  const home = temporaryDirectory()
  const dir = temporaryDirectory()
  const end = await runAgent(['-C', dir, '--yes', '--model', `replay:${file}`, ...args], { home, ...more })
  return { ...end, home, dir, result: JSON.parse(end.stdout) as Record<string, unknown> }
}

/** What of a result is the same whenever and wherever it was made. */
function settled({ session_id: _, duration_ms: __, duration_api_ms: ___, ...rest }: Record<string, unknown>) {
  return rest
}

async function toolResults({ bare }: Pick<SetUp, 'bare'>, id: string): Promise<unknown[]> {
  const { stdout } = await bare(['sessions', 'export', id])
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JournalEntry)
  return entries.flatMap(({ record }) =>
    record.type === 'toolFinished' ? [{ id: record.id, content: record.content, is_error: record.is_error }] : [],
  )
}

const ROUNDS = [
  reply(['Looking.', call('bash', { command: 'echo one' }), call('bash', { command: 'exit 3' })]),
  reply([call('write_file', { path: 'a.txt', content: 'made' }), call('no_such_tool', {})]),
  reply('All done.'),
]

test('a recorded run played elsewhere has the same results, without a key', async () => {
  const it = await setUp(ROUNDS)
  const file = join(it.home, 'run.jsonl')
  const first = await it.run(['--yes', '--model', 'claude-sonnet-5-5', '--record', file, '-p', 'Begin.'])
  const live = JSON.parse(first.stdout) as Record<string, unknown>
  const played = await play(file, ['-p', 'Begin.'])
  expect(played.code).toBe(0)
  expect(settled(played.result)).toEqual(settled(live))
  expect(readFileSync(join(played.dir, 'a.txt'), 'utf8')).toBe('made')
  const again = { bare: (args: string[]) => runAgent(args, { home: played.home }) }
  expect(sorted(await toolResults(again, String(played.result.session_id)))).toEqual(
    sorted(await toolResults(it, String(live.session_id))),
  )
})

function sorted(results: unknown[]): unknown[] {
  return results.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

test('a recording is for its owner only, holds a line a call and no key', async () => {
  const it = await setUp(ROUNDS)
  const file = join(it.home, 'run.jsonl')
  writeFileSync(file, 'what was there before\n')
  await it.run(['--yes', '--record', file, '-p', 'Begin.'])
  const text = readFileSync(file, 'utf8')
  expect(text.trim().split('\n')).toHaveLength(3)
  expect(text).not.toContain(TEST_KEY)
  expect(text).not.toContain('what was there before')
})

test('a recording has mode 0600, a new one and one in the place of a file that others could read', async () => {
  const it = await setUp(() => reply('Done.'))
  const [fresh, old] = [join(it.home, 'new.jsonl'), join(it.home, 'old.jsonl')]
  writeFileSync(old, 'before')
  chmodSync(old, 0o664)
  for (const file of [fresh, old]) {
    const end = await it.run(['--record', file, '-p', 'Begin.'])
    expect([end.code, end.stderr, statSync(file).mode & 0o777]).toEqual([0, '', 0o600])
  }
})

test('what is no file keeps its mode', async () => {
  const it = await setUp([reply('Done.')])
  const before = statSync('/dev/null').mode
  const end = await it.run(['--record', '/dev/null', '-p', 'Begin.'])
  expect([end.code, end.stderr, statSync('/dev/null').mode]).toEqual([0, '', before])
})

test('in the same place nothing differs; in another the directory is told once', async () => {
  const rounds = [
    reply([call('bash', { command: 'echo one' })]),
    reply([call('bash', { command: 'echo two' })]),
    reply('Done.'),
  ]
  const it = await setUp(rounds)
  const file = join(it.home, 'run.jsonl')
  const first = await it.run(['--yes', '--model', 'claude-sonnet-5-5', '--record', file, '-p', 'Begin.'])
  expect(JSON.parse(first.stdout)).toMatchObject({ result: 'Done.' })
  const told = async (dir: string) => {
    const args = ['-C', dir, '--yes', '--model', `replay:${file}`, '-p', 'Begin.']
    const { stderr } = await runAgent(args, { home: temporaryDirectory() })
    return stderr.match(/Request .*?differs.*/g)
  }
  expect(await told(it.dir)).toBeNull()
  expect(await told(temporaryDirectory())).toEqual([
    'Request 1 differs from the recorded one in its system prompt; the recorded reply is played all the same.',
  ])
})

test('another prompt is said, and played all the same', async () => {
  const it = await setUp([reply('Done.')])
  const file = join(it.home, 'run.jsonl')
  await it.run(['--record', file, '-p', 'Begin.'])
  const home = temporaryDirectory()
  const end = await runAgent(['-C', it.dir, '--model', `replay:${file}`, '-p', 'Something else.'], { home })
  expect(JSON.parse(end.stdout)).toMatchObject({ result: 'Done.' })
  expect(end.stderr).toContain(
    'Request 1 differs from the recorded one in its messages; the recorded reply is played all the same.',
  )
})

test('a recording that is at its end says so; the session can be resumed with a model', async () => {
  const it = await setUp(ROUNDS)
  const file = join(it.home, 'run.jsonl')
  await it.run(['--yes', '--record', file, '-p', 'Begin.'])
  const lines = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, lines.slice(0, 2).join('\n'))
  const end = await it.run(['--yes', '--model', `replay:${file}`, '-p', 'Begin.'])
  const result = JSON.parse(end.stdout) as { session_id: string; errors: string[] }
  expect({ code: end.code, errors: result.errors }).toEqual({
    code: 1,
    errors: ['The recording holds 2 replies and all of them were played.'],
  })
  const file2 = join(it.home, 'rest.jsonl')
  writeFileSync(
    file2,
    `${JSON.stringify({ reply: { content: [{ type: 'text', text: 'Ended.' }], stop_reason: 'end_turn' } })}\n`,
  )
  const rest = await it.bare(['-r', result.session_id, '--model', `replay:${file2}`])
  expect(JSON.parse(rest.stdout)).toMatchObject({ result: 'Ended.', session_id: result.session_id })
})

test('failures are recorded too: what was compacted in an emergency is so again', async () => {
  let n = 0
  const replies = [
    reply([call('bash', { command: 'echo one' })]),
    apiError(400, 'invalid_request_error', 'prompt is too long: 300000 tokens > 200000 maximum'),
    reply('The goal is to begin; echo printed one.'),
    reply('Done after all.'),
  ]
  const it = await setUp(() => replies[n++] ?? reply('Too many.'))
  const file = join(it.home, 'run.jsonl')
  const first = await it.run(['--yes', '--model', 'claude-sonnet-5-5', '--record', file, '-p', 'Begin.'])
  const played = await play(file, ['-p', 'Begin.'])
  expect(JSON.parse(first.stdout)).toMatchObject({ result: 'Done after all.', compactions: 1 })
  expect(settled(played.result)).toEqual(settled(JSON.parse(first.stdout)))
})

test('calls of a reply that was cut do not run when it is played', async () => {
  const it = await setUp([
    reply([call('write_file', { path: 'a.txt', content: 'cut' })], { stop_reason: 'max_tokens' }),
    reply('Done.'),
  ])
  const file = join(it.home, 'run.jsonl')
  await it.run(['--yes', '--record', file, '-p', 'Begin.'])
  const played = await play(file, ['-p', 'Begin.'])
  expect(played.result).toMatchObject({ result: 'Done.' })
  expect(() => readFileSync(join(played.dir, 'a.txt'))).toThrow('ENOENT')
})

test('subagents side by side get their own replies, in whatever order they were recorded', async () => {
  const tasks = ['Count the cats.', 'Count the dogs.', 'Count the birds.']
  // The first task is answered last: the recording has the replies in an order that depended on time.
  const late = held('Three cats.')
  let waiting = 2
  const answer = ({ body }: CapturedRequest) => {
    const first = String(body.messages[0]?.content[0]?.text)
    if (!tasks.includes(first)) {
      return body.messages.length === 1
        ? reply(tasks.map((description) => call('task', { description })))
        : reply('Counted.')
    }
    if (body.messages.length === 1) return reply([call('bash', { command: `echo ${first.split(' ')[2]} at $RANDOM` })])
    if (first === tasks[0]) return late
    if (--waiting === 0) setTimeout(() => late.release(), 50)
    return reply(`Some ${first.split(' ')[2]}`)
  }
  const it = await setUp(answer)
  const file = join(it.home, 'run.jsonl')
  const first = await it.run(['--yes', '--model', 'claude-sonnet-5-5', '--record', file, '-p', 'Count all.'])
  const live = JSON.parse(first.stdout) as Record<string, unknown>
  const results = async (bare: SetUp['bare'], id: unknown) =>
    sorted(await toolResults({ bare }, String(id))).map((one) => (one as { content: string }).content)
  const expected = await results(it.bare, live.session_id)
  expect(expected).toEqual(['Three cats.', 'Some dogs.', 'Some birds.'])
  for (let round = 0; round < 3; round++) {
    const played = await play(file, ['-p', 'Count all.'])
    expect(settled(played.result)).toEqual(settled(live))
    const bare: SetUp['bare'] = (args) => runAgent(args, { home: played.home })
    expect(await results(bare, played.result.session_id)).toEqual(expected)
  }
})

test('a question beside the conversation never takes a reply of the conversation', async () => {
  const memory = JSON.stringify({ memories: [] })
  const it = await setUp(({ body }) => ((body.tools?.length ?? 0) > 0 ? reply('Hello.') : reply(memory)))
  const file = join(it.home, 'run.jsonl')
  const settings = join(it.home, 'on.json')
  writeFileSync(settings, '{"memory": {"enabled": true}}')
  const first = await it.run([
    '--settings',
    settings,
    '--record',
    file,
    '-p',
    'Please always use tabs in this project.',
  ])
  expect(JSON.parse(first.stdout)).toMatchObject({ result: 'Hello.' })
  expect(it.model.requests.some(({ body }) => (body.tools?.length ?? 0) === 0)).toBe(true)
  // Played with other words, every request differs.
  const played = await play(file, ['--settings', settings, '-p', 'I want spaces everywhere, remember that.'])
  expect({ code: played.code, result: played.result.result }).toEqual({ code: 0, result: 'Hello.' })
})

test('a file that cannot be written or played is named, and nothing is called', async () => {
  const it = await setUp([reply('Done.')])
  const bad = join(it.home, 'bad.jsonl')
  writeFileSync(bad, `${JSON.stringify({ reply: { content: [], stop_reason: 'end_turn' } })}\n{"reply": 3}\n`)
  const said = async (...args: string[]) => {
    const { code, stderr } = await it.run([...args, '-p', 'Begin.'])
    return { code, stderr: stderr.trim().split('\n').at(-1)?.replaceAll(it.home, '~') }
  }
  expect(await said('--record', join(it.home, 'no/where.jsonl'))).toEqual({
    code: 2,
    stderr: expect.stringMatching(/--record "~\/no\/where\.jsonl" cannot be written: ENOENT/),
  })
  expect(await said('--model', `replay:${join(it.home, 'none')}`)).toEqual({
    code: 2,
    stderr: expect.stringMatching(/The recording "~\/none" cannot be read: ENOENT/),
  })
  expect(await said('--model', `replay:${bad}`)).toEqual({
    code: 2,
    stderr: expect.stringContaining(
      'The recording "~/bad.jsonl" cannot be played. Line 2 of the recording is no recorded reply.',
    ),
  })
  expect(it.model.requests).toEqual([])
})
