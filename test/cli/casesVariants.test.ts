/** Cases of docs/cases.md in all the variants in which users met them, from prompt to resume. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { agentEnv, CLI, ended, resultOf, startAgent, TEST_KEY } from '../support/agent.ts'
import { type CapturedRequest, call, callWithJson, reply, text } from '../support/fakeModel.ts'
import { input } from './compactionSupport.ts'
import { setUpMemory, writeNotes } from './memorySupport.ts'
import { type SetUp, setUp } from './setUp.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** @returns each message as its role and the kinds of its blocks, an error result as such */
function shape(request: CapturedRequest | undefined): string[] {
  return (request?.body.messages ?? []).map(
    ({ role, content }) =>
      `${role}: ${content.map(({ type, is_error }) => (is_error === true ? 'error' : type)).join(' ')}`,
  )
}

async function until(is: () => boolean): Promise<void> {
  for (const end = Date.now() + 30_000; !is(); await sleep(10)) if (Date.now() > end) expect.fail('it never came to be')
}

describe('a run that is stopped while one call of a reply has ended and one runs', () => {
  const CALLS = [
    call('bash', { command: 'echo finished; touch one' }, 'toolu_1'),
    call('bash', { command: 'touch two; sleep 300' }, 'toolu_2'),
  ]

  async function stopped(signal: NodeJS.Signals, tokens: number): Promise<SetUp & { session_id: string }> {
    const place = await setUp(({ body }, n) => {
      if (n === 0) return reply(CALLS, input(tokens))
      return JSON.stringify(body.messages.at(-1)).includes('replaced by a summary') ? 'SUMMARY' : 'went on'
    })
    writeFileSync(join(place.home, 'budget.json'), '{"compaction": {"input_tokens": 1000}}')
    const child = startAgent(['-C', place.dir, '--settings', join(place.home, 'budget.json'), '--yes', '-p', 'begin'], {
      url: place.model.url,
      home: place.home,
    })
    const end = ended(child)
    await until(() => ['one', 'two'].every((name) => existsSync(join(place.dir, name))))
    // Its result must have been written.
    await sleep(200)
    child.kill(signal)
    await end
    const list = JSON.parse((await place.run(['sessions', '--json'])).stdout)
    return { ...place, session_id: list[0].session_id }
  }

  const WAYS = (['SIGKILL', 'SIGINT', 'SIGTERM'] as const).flatMap((signal) =>
    (['--resume', '--continue'] as const).map((how) => ({ signal, how })),
  )
  test.each(WAYS)('$signal, then $how: both are answered first, then comes the prompt', async ({ signal, how }) => {
    const { model, run, session_id } = await stopped(signal, 100)
    const end = await run(['--yes', ...(how === '--resume' ? [how, session_id] : [how]), '-p', 'go on'])
    expect([end.code, resultOf(end).result, model.problems]).toEqual([0, 'went on', []])
    const last = model.requests.at(-1)
    expect(shape(last)).toEqual(['user: text', 'assistant: tool_use tool_use', 'user: tool_result error text'])
    expect(last?.body.messages.at(-1)?.content).toMatchObject([
      { tool_use_id: 'toolu_1', content: 'finished' },
      { tool_use_id: 'toolu_2', content: expect.stringMatching(/^Interrupted: /) },
      { text: 'go on' },
    ])
  })

  test.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
    '%s with a compaction due: the summary is asked for over both answers',
    async (signal) => {
      const { model, home, run } = await stopped(signal, 5000)
      const end = await run(['--settings', join(home, 'budget.json'), '--yes', '--continue', '-p', 'go on'])
      expect([end.code, resultOf(end).result, model.problems]).toEqual([0, 'went on', []])
      expect(model.requests.slice(1).map(shape)).toEqual([
        ['user: text', 'assistant: tool_use tool_use', 'user: tool_result error text'],
        ['user: text text'],
      ])
      const { content } = model.requests[2]?.body.messages[0] ?? expect.fail('no request')
      expect(content.map((block) => block.text)).toEqual([expect.stringContaining('SUMMARY'), 'go on'])
    },
  )
})

test('the results of a reply come in one message, in every later round and after a resume', async () => {
  const reads = (count: number) =>
    reply(Array.from({ length: count }, (_, n) => call('read_file', { path: `f${n}` }, `toolu_${count}_${n}`)))
  const { model, dir, run } = await setUp([reads(5), reads(2), 'read', 'again'])
  for (let n = 0; n < 5; n++) writeFileSync(join(dir, `f${n}`), `text ${n}`)
  await run(['-p', 'read'])
  await run(['-c', '-p', 'and now'])
  const last = model.requests.at(-1)?.body.messages ?? []
  expect(shape(model.requests.at(-1))).toEqual([
    'user: text',
    'assistant: tool_use tool_use tool_use tool_use tool_use',
    'user: tool_result tool_result tool_result tool_result tool_result',
    'assistant: tool_use tool_use',
    'user: tool_result tool_result',
    'assistant: text',
    'user: text',
  ])
  for (const [at, count] of [
    [2, 5],
    [4, 2],
  ] as const)
    expect(last[at]?.content).toMatchObject(
      Array.from({ length: count }, (_, n) => ({ tool_use_id: `toolu_${count}_${n}`, content: `text ${n}` })),
    )
  expect(model.problems).toEqual([])
})

test('after an interrupted call results stand before prompt, mention and memories, and images stay inside theirs', async () => {
  const agent = await setUpMemory({
    main: [
      reply([call('read_file', { path: 'i.png' }), call('bash', { command: 'touch begun; sleep 300' })]),
      reply([call('read_file', { path: 'i.png' }), call('bash', { command: 'echo hi' })]),
      'seen',
    ],
    recall: '["tea.md"]',
  })
  writeNotes(agent.dir, [{ name: 'tea', description: 'likes tea', body: 'Green tea.' }])
  writeFileSync(join(agent.dir, 'i.png'), PNG)
  const child = startAgent(['-C', agent.dir, '--yes', '-p', 'tea'], { url: agent.model.url, home: agent.home })
  const end = ended(child)
  await until(() => existsSync(join(agent.dir, 'begun')))
  await sleep(200)
  child.kill('SIGKILL')
  await end
  expect(resultOf(await agent.run(['--yes', '-c', '-p', 'tea with @i.png'])).result).toBe('seen')
  const [, resumed, after] = agent.sent('main')
  expect([shape(resumed).at(-1), shape(after).at(-1)]).toEqual([
    'user: tool_result error text text image text',
    'user: tool_result tool_result',
  ])
  const [picture] = resumed?.body.messages.at(-1)?.content ?? []
  expect(picture?.content).toMatchObject([{ type: 'image' }])
  expect(JSON.stringify(resumed?.body.messages.at(-1)?.content.at(-1))).toContain('Green tea.')
  expect(agent.model.problems).toEqual([])
})

test('`$` patterns stay as they are in instructions, a mention, a memory, and a skill carried over a compaction', async () => {
  const odd = "$& $$ $` $' $1 ${HOME} \\1"
  const { model, dir, run } = await setUp([
    reply([
      call('load_skill', { name: 'odd' }),
      call('remember', { name: 'Odd', type: 'user', description: `About ${odd}`, body: `Body ${odd}` }),
    ]),
    reply([call('bash', { command: 'cat f' })], input(5000)),
    `Summary ${odd}`,
    'done',
    '[]',
  ])
  mkdirSync(join(dir, 'skills/odd'), { recursive: true })
  writeFileSync(join(dir, 'skills/odd/SKILL.md'), `---\nname: odd\ndescription: Odd.\n---\nSkill ${odd}`)
  writeFileSync(join(dir, 'AGENTS.md'), `Rule ${odd}`)
  writeFileSync(join(dir, 'f'), `File ${odd}`)
  mkdirSync(join(dir, '.agent'))
  writeFileSync(join(dir, '.agent/settings.json'), '{"compaction": {"input_tokens": 1000}}')
  expect((await run(['--yes', '-p', `Prompt ${odd} @f`])).code).toBe(0)
  const holds = (request: CapturedRequest | undefined, ...words: string[]) => {
    const strings = JSON.stringify(request?.body.messages)
    for (const word of words) expect(strings).toContain(JSON.stringify(`${word} ${odd}`).slice(1, -1))
  }
  expect(model.requests[0]?.body.system).toContain(`Rule ${odd}`)
  holds(model.requests[0], 'Prompt', 'File')
  holds(model.requests[3], 'Summary', 'Skill', 'Prompt', 'File')
  expect(readFileSync(join(dir, '.memory/odd.md'), 'utf8')).toContain(`Body ${odd}`)
  expect(readFileSync(join(dir, '.memory/MEMORY.md'), 'utf8')).toContain(`About ${odd}`)
  expect(model.problems).toEqual([])
})

test('half of an emoji, however it comes to be, is in no request, nor after a resume', async () => {
  const emoji = '😀'
  // Each cut falls between two halves in one of the two shifts.
  const shifts = ['', 'a']
  const { model, dir, run } = await setUp((_, n) => {
    if (n === 0)
      return reply(
        shifts.flatMap((shift) => [
          call('bash', { command: `cat big${shift}` }),
          call('read_file', { path: `lines${shift}` }),
          call('read_file', { path: `lines${shift}`, offset: 1, limit: 2 }),
          call('grep', { pattern: '.', path: `lines${shift}` }),
        ]),
      )
    if (n === 1)
      return reply([
        text('a \ud83d b'),
        callWithJson('bash', '{"command":"echo \'c\\ud83d\'"}'),
        callWithJson('read_file', '{"path":"no\\udc00"}'),
        callWithJson('remember', '{"name":"n\\ud83d","type":"user","description":"d\\ud83d","body":"b\\ud83d"}'),
        call('bash', { command: `printf '\\xf0\\x9f\\x98'; printf '\\xed\\xa0\\xbd'` }),
      ])
    return `the end \ude00 ${n}`
  })
  for (const shift of shifts) {
    writeFileSync(join(dir, `big${shift}`), shift + emoji.repeat(70_000))
    writeFileSync(join(dir, `lines${shift}`), `${shift}${emoji.repeat(5_000)}\n`.repeat(3))
  }
  const first = await run(['--yes', '-p', `look ${emoji} @big`])
  const second = await run(['--yes', '-c', '-p', `again ${emoji} @biga`])
  expect([first.code, second.code, model.problems]).toEqual([0, 0, []])
  expect(model.requests.filter(({ raw }) => /\p{Cs}/u.test(raw) || /\\u[dD][89abAB]/.test(raw))).toEqual([])
})

describe('nothing where something was expected', () => {
  const EMPTY: Array<[string, Parameters<typeof reply>]> = [
    ['an empty reply', [[]]],
    ['an empty reply in plain JSON', [[], { as: 'json' }]],
    ['a blank text', [' \n']],
    ['an empty text beside a call without output', [[text(''), call('bash', { command: 'true' }), text(' ')]]],
  ]
  test.each(EMPTY)('%s, and an empty file attached: no request holds an empty block', async (_, blocks) => {
    const { model, dir, run } = await setUp((_request, n) => (n === 0 ? reply(...blocks) : 'ok'))
    writeFileSync(join(dir, 'empty'), '')
    for (const args of [[], ['-c']]) expect((await run(['--yes', ...args, '-p', 'see @empty'])).code).toBe(0)
    expect(model.problems).toEqual([])
    const blocksSent = model.requests.flatMap(({ body }) => body.messages.flatMap(({ content }) => content))
    expect(blocksSent.filter((block) => block.type === 'text' && String(block.text).trim() === '')).toEqual([])
    expect(blocksSent.filter((block) => block.type === 'tool_result' && block.content === '')).toEqual([])
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('(empty file)')
  })
})

describe('the key', () => {
  test.each(['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'])(
    '%s: trimmed, and with a line end inside refused unseen',
    async (name) => {
      const { model, run } = await setUp(() => 'ok')
      const none = { ANTHROPIC_API_KEY: undefined, ANTHROPIC_AUTH_TOKEN: undefined }
      const fine = await run(['--debug', '-p', 'go'], { env: { ...none, [name]: `${TEST_KEY}\r\n` } })
      const { authorization, 'x-api-key': key } = model.requests[0]?.headers ?? {}
      expect([fine.code, authorization ?? key]).toEqual([
        0,
        name === 'ANTHROPIC_API_KEY' ? TEST_KEY : `Bearer ${TEST_KEY}`,
      ])
      const inner = `${TEST_KEY.slice(0, 12)}\r\n${TEST_KEY.slice(12)}`
      const broken = await run(['--debug', '-p', 'go'], { env: { ...none, [name]: inner } })
      expect([broken.code, model.requests.length]).toEqual([2, 1])
      expect(broken.stderr).toContain(`${name} holds a line end`)
      for (const part of inner.split('\r\n')) expect(broken.stderr + broken.stdout).not.toContain(part)
    },
  )

  test.each([undefined, '', ' \n'])('%j: nothing is asked, and nothing is written anywhere', async (value) => {
    const { model, home, dir, run } = await setUp([])
    expect((await run(['-p', 'x'], { env: { ANTHROPIC_API_KEY: value } })).code).toBe(2)
    expect([model.requests, readdirSync(home), readdirSync(dir)]).toEqual([[], [], []])
  })
})

test('the same failing call again and again ends at the limit that --help names', async () => {
  const { model, run } = await setUp(() => reply([call('read_file', { path: 'nope' })]))
  const end = await run(['-p', 'go'])
  expect([end.code, resultOf(end).subtype, resultOf(end).num_turns, model.requests.length]).toEqual([
    1,
    'error_max_turns',
    250,
    250,
  ])
  expect((await run(['--help'])).stdout).toContain('250')
  expect((await run(['-c', '--max-turns', '1', '-p', 'more'])).code).toBe(1)
  expect(shape(model.requests.at(-1)).slice(-2)).toEqual(['assistant: tool_use', 'user: error text'])
  expect(model.problems).toEqual([])
})

test('a refused call and its neighbour have their results before and after a resume', async () => {
  const { model, dir, run } = await setUp([
    reply([call('bash', { command: 'touch p' }, 'toolu_1'), call('read_file', { path: 'f' }, 'toolu_2')]),
    'done',
    'again',
  ])
  writeFileSync(join(dir, 'f'), 'text')
  await run(['-p', 'go'])
  await run(['-c', '-p', 'and now'])
  const told = model.requests.slice(1).map(({ body }) => body.messages[2]?.content)
  for (const content of told)
    expect(content).toMatchObject([
      { tool_use_id: 'toolu_1', is_error: true, content: expect.stringMatching(/^Permission refused/) },
      { tool_use_id: 'toolu_2', content: 'text' },
    ])
  expect([told.length, existsSync(join(dir, 'p')), model.problems]).toEqual([2, false, []])
})

test('without its shell and its stdout a run ends by itself, and can go on', async () => {
  const { model, home, dir, run } = await setUp((_, n) =>
    n === 0 ? reply([call('bash', { command: 'touch begun; until test -e go; do sleep 0.05; done' })]) : 'on',
  )
  const line = `${process.execPath} ${CLI} -C ${dir} --yes --output-format stream-json -p go & echo $! > ${home}/pid; wait`
  const shell = spawn('bash', ['-c', line], {
    env: agentEnv({ url: model.url, home }),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await until(() => existsSync(join(dir, 'begun')))
  shell.kill('SIGKILL')
  shell.stdout.destroy()
  writeFileSync(join(dir, 'go'), '')
  const pid = readFileSync(join(home, 'pid'), 'utf8').trim()
  const isGone = () => {
    try {
      process.kill(Number(pid), 0)
    } catch {
      return true
    }
    return existsSync(`/proc/${pid}/stat`) && / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  }
  await until(isGone)
  expect((await run(['--yes', '-c', '-p', 'go on'])).code).toBe(0)
  expect(model.problems).toEqual([])
})

test('outside the project --yes writes, through a link and by .., as a rule would allow', async () => {
  const { home, dir, run } = await setUp([
    reply([
      call('write_file', { path: 'link/x.txt', content: 'x' }),
      call('edit_file', { path: 'link/old.txt', old_text: 'old', new_text: 'new' }),
    ]),
    'done',
  ])
  mkdirSync(join(home, 'outside'))
  writeFileSync(join(home, 'outside/old.txt'), 'old')
  symlinkSync(join(home, 'outside'), join(dir, 'link'))
  const end = await run(['--yes', '-p', 'go'])
  expect(resultOf(end).permission_denials).toEqual([])
  expect(['x.txt', 'old.txt'].map((name) => readFileSync(join(home, 'outside', name), 'utf8'))).toEqual(['x', 'new'])
})

test('a path that is longer than any is answered by each tool, with rules about files too', async () => {
  const path = `${'a/'.repeat(10_000)}b`
  const calls = [
    call('read_file', { path }),
    call('write_file', { path, content: 'x' }),
    call('edit_file', { path, old_text: 'x', new_text: 'y' }),
    call('glob', { pattern: '*', path }),
    call('grep', { pattern: 'x', path }),
    call('bash', { command: `cat ${path}` }),
  ]
  const { model, home, run } = await setUp([reply(calls), 'done'])
  const settings = join(home, 'rules.json')
  writeFileSync(settings, '{"permissions": {"allow": ["Read(a/**)"], "deny": ["Read(.env)", "Edit(.env)"]}}')
  const end = await run(['--yes', '--settings', settings, '-p', `see @${path}`])
  expect([end.code, resultOf(end).result, model.problems]).toEqual([0, 'done', []])
  expect(shape(model.requests[1]).at(-1)).toBe(`user:${' error'.repeat(calls.length)}`)
})
