/** The tool `task` through the command line: every request and file as a user's server and disk see them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf, runAgent } from '../support/agent.ts'
import {
  apiError,
  type CapturedRequest,
  call,
  expectPrefixStable,
  reply,
  type ScriptedReply,
} from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const usage = (input_tokens: number, output_tokens: number) => ({ usage: { input_tokens, output_tokens } })

/** What the first user message of a request says: it tells the conversations apart. */
function topic({ body }: Pick<CapturedRequest, 'body'>): string {
  return String(body.messages[0]?.content[0]?.text)
}

const AFTER_SUMMARY = 'after a summary'

/** A model that answers each conversation, known by its first words, by a script of its own. */
function routed(scripts: Record<string, ScriptedReply[] | ((n: number, request: CapturedRequest) => ScriptedReply)>) {
  const counts = new Map<string, number>()
  return (request: CapturedRequest): ScriptedReply => {
    const about = topic(request).startsWith('<conversation_summary>') ? AFTER_SUMMARY : topic(request)
    const n = counts.get(about) ?? 0
    counts.set(about, n + 1)
    const script = scripts[about]
    const given = typeof script === 'function' ? script(n, request) : script?.[n]
    return given ?? apiError(400, 'invalid_request_error', `no reply ${n} for ${about}`)
  }
}

function requestsOf({ model }: SetUp, about: string): CapturedRequest[] {
  return model.requests.filter((request) => topic(request) === about)
}

interface Head {
  session_id: string
  parent?: string
  first_prompt: string
}

async function sessions({ bare, dir }: SetUp, ...more: string[]): Promise<Head[]> {
  return JSON.parse((await bare(['-C', dir, 'sessions', '--json', ...more])).stdout) as Head[]
}

describe('a task', () => {
  test('runs on fresh messages with its own prompt and tools; only its last words come back', async () => {
    const place = await setUp(
      routed({
        main: [reply(['Handing on.', call('task', { description: 'count the lines' }, 't1')]), 'Three lines.'],
        'count the lines': [
          reply([
            'Looking.',
            call('read_file', { path: 'a.txt' }, 'r1'),
            call('bash', { command: 'wc -l a.txt' }, 'b1'),
          ]),
          reply([call('write_file', { path: 'count.txt', content: '3' }, 'w1')]),
          'a.txt has 3 lines; I wrote that to count.txt.',
        ],
      }),
    )
    writeFileSync(join(place.dir, 'a.txt'), 'SECRET-DETAIL\ntwo\nthree\n')
    writeFileSync(join(place.dir, 'AGENTS.md'), 'MARK: never swear.')
    const end = await place.run(['--yes', '-p', 'main'])
    expect(resultOf(end)).toMatchObject({ result: 'Three lines.', is_error: false, num_turns: 2 })
    expect(place.model.problems).toEqual([])

    const [child] = requestsOf(place, 'count the lines')
    expect(child?.body.messages).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'count the lines', cache_control: { type: 'ephemeral' } }],
      },
    ])
    expect(child?.body.tools?.map((tool) => tool.name)).toEqual([
      'bash',
      'read_file',
      'write_file',
      'edit_file',
      'glob',
      'grep',
    ])
    expect(child?.body.system).toContain(place.dir)
    expect(child?.body.system).toContain('MARK: never swear.')
    expect(child?.body.system).toContain('concise summary')
    expectPrefixStable(requestsOf(place, 'count the lines'))

    const mains = requestsOf(place, 'main')
    expectPrefixStable(mains)
    expect(mains[1]?.body.messages.at(-1)?.content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 't1',
        content: 'a.txt has 3 lines; I wrote that to count.txt.',
        cache_control: { type: 'ephemeral' },
      },
    ])
    expect(mains[1]?.raw).not.toContain('SECRET-DETAIL')
    expect(readFileSync(join(place.dir, 'count.txt'), 'utf8')).toBe('3')
  })

  test('has its own session under its parent, which --continue does not pick', async () => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'side work' }, 't1')]), 'done', 'again'],
        'side work': ['found it'],
      }),
    )
    const { session_id } = resultOf(await place.run(['-p', 'main']))
    const heads = await sessions(place)
    const child = heads.find((head) => head.parent !== undefined)
    expect(heads.map(({ parent, first_prompt }) => [parent, first_prompt])).toEqual([
      [undefined, 'main'],
      [session_id, 'side work'],
    ])
    const records = (await place.bare(['sessions', 'export', child?.session_id ?? ''])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).record)
    expect(records[0]).toMatchObject({ type: 'opened', parent: { session_id, tool_use_id: 't1' } })
    expect(records.at(-1)).toEqual({ type: 'turnEnded', status: 'done', subtype: 'success' })
    expect(resultOf(await place.run(['-c', '-p', 'more'])).session_id).toBe(session_id)
    expect((await place.bare(['-C', place.dir, 'sessions'])).stdout).toMatch(
      new RegExp(`^${session_id.slice(0, 8)}.*\\n  ${child?.session_id.slice(0, 8)}`, 'm'),
    )
  })

  test('its words do not attach files: the model wrote them', async () => {
    const description = 'look at @a.txt and @"b c.txt"'
    const place = await setUp(routed({ main: [reply([call('task', { description })]), 'ok'], [description]: ['seen'] }))
    writeFileSync(join(place.dir, 'a.txt'), 'ATTACHED')
    await place.run(['-p', 'main'])
    expect(requestsOf(place, description)[0]?.body.messages[0]?.content).toHaveLength(1)
    expect(requestsOf(place, description)[0]?.raw).not.toContain('ATTACHED')
  })

  test('a blank description starts nothing', async () => {
    const place = await setUp([reply([call('task', { description: ' \n' }, 't1'), call('task', {}, 't2')]), 'ok'])
    await place.run(['-p', 'main'])
    expect(place.model.requests).toHaveLength(2)
    expect(place.model.requests[1]?.body.messages.at(-1)?.content).toEqual([
      expect.objectContaining({
        tool_use_id: 't1',
        is_error: true,
        content: expect.stringMatching(/^description is blank/),
      }),
      expect.objectContaining({ tool_use_id: 't2', is_error: true, content: expect.stringContaining('missing') }),
    ])
  })

  test('a child has no task tool: its call is answered as unknown', async () => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' })]), 'ok'],
        child: [reply([call('task', { description: 'grandchild' }, 'g1')]), 'did it myself'],
      }),
    )
    await place.run(['--yes', '-p', 'main'])
    expect(requestsOf(place, 'grandchild')).toEqual([])
    expect(requestsOf(place, 'child')[1]?.body.messages.at(-1)?.content).toEqual([
      expect.objectContaining({
        tool_use_id: 'g1',
        is_error: true,
        content: 'There is no tool "task". The tools are: bash, read_file, write_file, edit_file, glob, grep.',
      }),
    ])
  })
})

describe('rights', () => {
  test('a child may do no more than its parent, and what it was refused is listed', async () => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' }, 't1')]), 'ok'],
        child: [
          reply([
            call('bash', { command: 'touch p' }, 'c1'),
            call('write_file', { path: 'q', content: 'x' }, 'c2'),
            call('read_file', { path: '/etc/hostname' }, 'c3'),
          ]),
          'could not',
        ],
      }),
    )
    const result = resultOf(await place.run(['-p', 'main']))
    expect(existsSync(join(place.dir, 'p')) || existsSync(join(place.dir, 'q'))).toBe(false)
    const refused = requestsOf(place, 'child')[1]?.body.messages.at(-1)?.content ?? []
    expect(refused.map((block) => [block.tool_use_id, block.is_error])).toEqual([
      ['c1', true],
      ['c2', true],
      ['c3', true],
    ])
    expect(result.permission_denials).toEqual([
      { tool_name: 'bash', tool_use_id: 'c1', tool_input: { command: 'touch p' } },
      { tool_name: 'write_file', tool_use_id: 'c2', tool_input: { path: 'q', content: 'x' } },
      { tool_name: 'read_file', tool_use_id: 'c3', tool_input: { path: '/etc/hostname' } },
    ])
    expect(result.result).toBe('ok')
  })

  test('what a child changed is news to its parent', async () => {
    const place = await setUp(
      routed({
        main: [
          reply([call('read_file', { path: 'a.txt' })]),
          reply([call('task', { description: 'child' })]),
          reply([call('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'two' }, 'e1')]),
          'ok',
        ],
        child: [reply([call('write_file', { path: 'a.txt', content: 'one, by the child\n' })]), 'changed a.txt'],
      }),
    )
    writeFileSync(join(place.dir, 'a.txt'), 'one\n')
    await place.run(['--yes', '-p', 'main'])
    expect(readFileSync(join(place.dir, 'a.txt'), 'utf8')).toBe('one, by the child\n')
    expect(requestsOf(place, 'main')[3]?.body.messages.at(-1)?.content[0]).toMatchObject({
      tool_use_id: 'e1',
      is_error: true,
    })
  })
})

describe('what does not end well', () => {
  const content = (place: SetUp) => requestsOf(place, 'main')[1]?.body.messages.at(-1)?.content[0]

  test('a child that never ends stops at 30 model calls; its last remark is not taken for an answer', async () => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'endless' }, 't1')]), 'ok'],
        endless: (n) => reply([`Remark ${n}.`, call('bash', { command: `echo ${n}` })]),
      }),
    )
    expect(resultOf(await place.run(['--yes', '-p', 'main']))).toMatchObject({ result: 'ok', is_error: false })
    expect(requestsOf(place, 'endless')).toHaveLength(30)
    expect(content(place)).toMatchObject({
      tool_use_id: 't1',
      is_error: true,
      content:
        "The subagent's work is unfinished: it reached the limit of 30 model calls. What it did so far stays in effect: check it before you go on, or give what is left as a smaller task.\nIts last words, which are no final answer:\nRemark 29.",
    })
  })

  test.each([
    ['an API error', apiError(400, 'invalid_request_error', 'a strange request'), /it failed \(.*a strange request/],
    ['a refusal', reply([], { stop_reason: 'refusal' }), /it failed \(The model refused/],
    ['an empty answer', reply([]), /it ended without an answer/],
    ['a blank answer', reply(' \n'), /it ended without an answer/],
  ] as Array<[string, ScriptedReply, RegExp]>)('%s is an error that gives its last words', async (_, last, why) => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' }, 't1')]), 'ok'],
        child: [reply(['A remark.', call('bash', { command: 'true' })]), last],
      }),
    )
    const end = await place.run(['--yes', '-p', 'main'])
    expect(resultOf(end)).toMatchObject({ result: 'ok', is_error: false })
    expect(content(place)).toMatchObject({ tool_use_id: 't1', is_error: true, content: expect.stringMatching(why) })
    expect(String(content(place)?.content)).toMatch(/Its last words, which are no final answer:\nA remark\.$/)
    expect(place.model.problems).toEqual([])
  })

  test('an answer that was cut says so', async () => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' }, 't1')]), 'ok'],
        child: [reply('Half an ans', { stop_reason: 'max_tokens' })],
      }),
    )
    await place.run(['-p', 'main'])
    expect(content(place)).toMatchObject({ content: expect.stringMatching(/^Half an ans\n\n\[The answer was cut off/) })
    expect(content(place)?.is_error).toBeUndefined()
  })

  test('a long answer is put on disk like any long result', async () => {
    const place = await setUp(
      routed({ main: [reply([call('task', { description: 'child' }, 't1')]), 'ok'], child: ['y'.repeat(40_000)] }),
    )
    await place.run(['-p', 'main'])
    expect(readFileSync(join(place.dir, '.task_outputs/tool-results/t1.txt'), 'utf8')).toBe('y'.repeat(40_000))
    expect(String(content(place)?.content).length).toBeLessThan(4_000)
  })
})

describe('side by side', () => {
  test('three tasks overlap, come back in call order in one message, and one that fails leaves the others alone', async () => {
    const place = await setUp(
      routed({
        main: [
          reply([
            call('task', { description: 'A' }, 'a'),
            call('task', { description: 'B' }, 'b'),
            call('task', { description: 'C' }, 'c'),
          ]),
          'ok',
        ],
        A: [reply([call('bash', { command: 'echo from-A' })]), 'A is done'],
        B: () => apiError(500, 'api_error', 'B is broken'),
        C: [reply('C is done', { delayMs: 1_500 })],
      }),
    )
    const end = await place.run(['--yes', '-p', 'main'])
    expect(resultOf(end)).toMatchObject({ result: 'ok', is_error: false })
    const results = requestsOf(place, 'main')[1]?.body.messages.at(-1)?.content ?? []
    expect(results.map((block) => [block.tool_use_id, block.is_error ?? false, String(block.content)])).toEqual([
      ['a', false, 'A is done'],
      ['b', true, expect.stringContaining('B is broken')],
      ['c', false, 'C is done'],
    ])
    // Held to the order of arrival, not to times: all three have asked before the slow one is answered.
    const first = place.model.requests.slice(1, 4).map(topic).sort()
    expect(first).toEqual(['A', 'B', 'C'])
    for (const [own, ...others] of [
      ['A', 'B', 'C'],
      ['B', 'A', 'C'],
      ['C', 'A', 'B'],
    ]) {
      for (const { body } of requestsOf(place, own ?? '')) {
        const texts = JSON.stringify(body.messages)
        expect(others.filter((other) => texts.includes(`"text":"${other}`))).toEqual([])
      }
    }
  })

  test('of twelve tasks ten work at a time, and all are answered in order', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `task-${String(i).padStart(2, '0')}`)
    let open = 0
    let most = 0
    const place = await setUp(async (request) => {
      if (topic(request) === 'main') {
        return request.body.messages.length > 1
          ? 'ok'
          : reply(names.map((name) => call('task', { description: name }, name)))
      }
      most = Math.max(most, ++open)
      await new Promise((resolve) => setTimeout(resolve, 300))
      open--
      return `${topic(request)} is done`
    })
    const end = await place.run(['-p', 'main'])
    expect({ most, stderr: end.stderr }).toEqual({ most: 10, stderr: '' })
    const results = requestsOf(place, 'main')[1]?.body.messages.at(-1)?.content ?? []
    expect(results.map((block) => block.content)).toEqual(names.map((name) => `${name} is done`))
  })
})

describe('what it costs', () => {
  test('the result sums over the calls of its subagents; failed tries are not counted', async () => {
    let failedOnce = false
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' })], usage(100, 10)), reply('ok', usage(100, 10))],
        child: (n) => {
          if (n === 1 && !failedOnce) {
            failedOnce = true
            return apiError(529, 'overloaded_error', 'Overloaded')
          }
          return n < 3 ? reply([call('bash', { command: 'true' })], usage(1000, 100)) : reply('found', usage(1000, 100))
        },
      }),
    )
    const result = resultOf(await place.run(['--yes', '--model', 'claude-sonnet-4-5', '-p', 'main']))
    expect(result.usage).toEqual({
      input_tokens: 3200,
      output_tokens: 320,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    })
    expect(result.num_turns).toBe(2)
    expect(result.total_cost_usd).toBeCloseTo((3200 * 3 + 320 * 15) / 1e6, 8)
  })
})

describe('a long task', () => {
  test('is compacted by the same budget as its parent, which it leaves alone', async () => {
    const long = usage(90_000, 10)
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' }, 't1')], usage(100, 10)), reply('ok', usage(100, 10))],
        child: (n) =>
          [reply([call('bash', { command: 'echo DETAIL' })], long), reply('SUMMARY of the child', usage(90_000, 10))][
            n
          ] ?? reply('unexpected'),
        // After its compaction the child's conversation begins with the summary.
        [AFTER_SUMMARY]: [reply('finished', usage(10, 10))],
      }),
    )
    const settings = join(place.home, 'settings.json')
    writeFileSync(settings, '{"compaction": {"input_tokens": 50000}}')
    const result = resultOf(await place.run(['--yes', '--settings', settings, '-p', 'main']))
    expect(result).toMatchObject({ result: 'ok', is_error: false })
    expect(result.compactions).toBeUndefined()
    expect(result.usage.input_tokens).toBe(2 * 100 + 2 * 90_000 + 10)
    const after = place.model.requests.find((request) => topic(request).includes('SUMMARY of the child'))
    expect(after?.raw).not.toContain('DETAIL')
    expect(JSON.stringify(after?.body.messages)).toContain('"child"')
    expect(requestsOf(place, 'main')[1]?.body.messages.at(-1)?.content[0]).toMatchObject({ content: 'finished' })
  })
})

describe('what is seen of it', () => {
  test('stream-json has its messages with the id of the call; its text is not the answer', async () => {
    const place = await setUp(
      routed({
        main: [reply([call('task', { description: 'child' }, 't1')]), 'the answer'],
        child: [reply(['Looking.', call('bash', { command: 'echo hi' }, 'b1')]), 'the summary'],
      }),
    )
    const end = await place.run(['--yes', '--output-format', 'stream-json', '-p', 'main'])
    const lines = end.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map((line) => [line.type, line.parent_tool_use_id])).toEqual([
      ['system', undefined],
      ['assistant', null],
      ['assistant', 't1'],
      ['user', 't1'],
      ['assistant', 't1'],
      ['user', null],
      ['assistant', null],
      ['result', undefined],
    ])
    expect(new Set(lines.map((line) => line.session_id)).size).toBe(1)
    expect(lines.at(-1)).toMatchObject({ result: 'the answer' })
  })

  test('text shows only the answer', async () => {
    const place = await setUp(
      routed({ main: [reply([call('task', { description: 'child' })]), 'the answer'], child: ['the summary'] }),
    )
    const end = await place.run(['--output-format', 'text', '-p', 'main'])
    expect(end.stdout).toBe('the answer\n')
  })
})

test('a project of another directory is not needed: a child works where its parent works', async () => {
  const place = await setUp(
    routed({
      main: [reply([call('task', { description: 'child' })]), 'ok'],
      child: [reply([call('bash', { command: 'pwd > where' })]), 'done'],
    }),
  )
  const elsewhere = join(place.home, 'elsewhere')
  mkdirSync(elsewhere)
  await runAgent(['-C', place.dir, '--yes', '-p', 'main'], { url: place.model.url, home: place.home, cwd: elsewhere })
  expect(readFileSync(join(place.dir, 'where'), 'utf8')).toBe(`${place.dir}\n`)
})
