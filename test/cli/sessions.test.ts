import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DEFAULT_MODEL } from '../../src/services/model/prices.ts'
import { resultOf, temporaryDirectory } from '../support/agent.ts'
import { apiError, call, expectPrefixStable, redacted, reply, thinking, withoutMarks } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

/** Messages without cache marks, as JSON, for whole comparisons. */
const bare = (messages: unknown): unknown => JSON.parse(withoutMarks(messages))

describe('resume and continue', () => {
  test('replay user, assistant and tool history exactly', async () => {
    const { model, run } = await setUp([
      reply(['I look.', call('bash', { command: 'echo hi' }, 't1'), call('glob', { pattern: '*' }, 't2')]),
      'first answer',
      'second answer',
      'third answer',
    ])
    const first = resultOf(await run(['--yes', '-p', 'one']))
    const second = resultOf(await run(['--resume', first.session_id, '-p', 'two']))
    const third = resultOf(await run(['--continue', '-p', 'three']))
    expect([second.session_id, third.session_id]).toEqual([first.session_id, first.session_id])
    expect([second.result, third.result]).toEqual(['second answer', 'third answer'])
    expect(model.problems).toEqual([])
    expectPrefixStable(model.requests)
    expect(bare(model.requests[3]?.body.messages)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 't1', name: 'bash', input: { command: 'echo hi' } },
          { type: 'tool_use', id: 't2', name: 'glob', input: { pattern: '*' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: 'hi' },
          { type: 'tool_result', tool_use_id: 't2', content: expect.any(String) },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'first answer' }] },
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'second answer' }] },
      { role: 'user', content: [{ type: 'text', text: 'three' }] },
    ])
  })

  test('with another model leave out what only the first could read, thinking it signed', async () => {
    const { model, run } = await setUp([
      reply([thinking('hm'), redacted('xyz'), 'I look.', call('bash', { command: 'echo hi' }, 't1')]),
      'first answer',
      'second answer',
      'third answer',
    ])
    await run(['--yes', '--model', 'one', '-p', 'P1'])
    expect(JSON.stringify(model.requests[1]?.body.messages[1])).toContain('"signature"')
    await run(['--continue', '--model', 'two', '-p', 'P2'])
    const end = resultOf(await run(['--continue', '--model', 'two', '-p', 'P3']))
    expect(end.result).toBe('third answer')
    expect(model.requests[2]?.body.messages[1]?.content).toEqual([
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 't1', name: 'bash', input: { command: 'echo hi' } },
    ])
    expectPrefixStable(model.requests.slice(2))
    expect(model.problems).toEqual([])
  })

  test.each([
    ['messages.1.content.0: Invalid `signature` in `thinking` block'],
    [
      'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
    ],
  ])('of a server that takes its thinking no more leave it out, once and for all: %s', async (refusal) => {
    const signed = (raw: string) => raw.includes('"signature"')
    const {
      model,
      run,
      bare: from,
    } = await setUp((request, n) => {
      if (n === 0) return reply([thinking('hm'), 'I look.', call('bash', { command: 'echo hi' }, 't1')])
      if (n === 1) return 'first answer'
      return signed(request.raw) ? apiError(400, 'invalid_request_error', refusal) : reply(`answer ${n}`)
    })
    await run(['--yes', '-p', 'P1'])
    const again = await run(['--continue', '-p', 'P2'])
    expect(again.stderr).toContain('It is tried again without the thinking of earlier replies.')
    const end = resultOf(await run(['--continue', '-p', 'P3']))
    expect([resultOf(again).result, end.result]).toEqual(['answer 3', 'answer 4'])
    expect(model.requests.map(({ raw }) => signed(raw))).toEqual([false, true, true, false, false])
    expectPrefixStable(model.requests.slice(3))
    const replayed = JSON.parse((await from(['replay', end.session_id, '--json'])).stdout)
    expect(replayed.matches).toBe(true)
  })

  test('over the budget, of a server that takes its thinking no more, are told as text to be summarised', async () => {
    const { model, run } = await setUp((request, n) => {
      if (n === 0) return reply([thinking('hm'), 'I look.'], { usage: { input_tokens: 5000, output_tokens: 1 } })
      if (request.raw.includes('"signature"'))
        return apiError(400, 'invalid_request_error', 'Invalid `signature` in `thinking` block')
      return n === 2 ? 'SUMMARY' : 'answer'
    })
    await run(['--yes', '-p', 'P1'])
    const settings = join(temporaryDirectory(), 'settings.json')
    writeFileSync(settings, '{"compaction": {"input_tokens": 1000}}')
    expect(resultOf(await run(['--continue', '--settings', settings, '-p', 'P2'])).result).toBe('answer')
    expect(JSON.stringify(model.requests[2]?.body.messages)).toContain('I look.')
    expect(JSON.stringify(model.requests[3]?.body.messages)).toContain('SUMMARY')
  })

  test('the first id resumes the session however often it was resumed', async () => {
    const { model, run } = await setUp(['a', 'b', 'c'])
    const { session_id } = resultOf(await run(['-p', 'one']))
    await run(['--resume', session_id, '-p', 'two'])
    const third = resultOf(await run(['--resume', session_id, '-p', 'three']))
    expect(third.session_id).toBe(session_id)
    expect(model.requests[2]?.body.messages).toHaveLength(5)
  })

  test('a unique prefix of the id is enough', async () => {
    const { run } = await setUp(['a', 'b'])
    const { session_id } = resultOf(await run(['-p', 'one']))
    expect(resultOf(await run(['--resume', session_id.slice(0, 8), '-p', 'two'])).session_id).toBe(session_id)
  })

  test('from another directory the session is found, and its tools run in its own directory', async () => {
    const { model, home, dir, run, bare: from } = await setUp(['a', reply([call('bash', { command: 'pwd' })]), 'b'])
    const { session_id } = resultOf(await run(['-p', 'one']))
    const end = await from(['--resume', session_id, '--yes', '-p', 'two'], { cwd: home })
    expect(end.code).toBe(0)
    expect(model.requests[2]?.body.messages.at(-1)?.content[0]?.content).toBe(dir)
    expect(model.requests[1]?.body.system).toContain(dir)
  })

  test('with -C the tools run there, which is said on stderr', async () => {
    const { model, home, run, bare: from } = await setUp(['a', reply([call('bash', { command: 'pwd' })]), 'b'])
    const { session_id } = resultOf(await run(['-p', 'one']))
    const other = temporaryDirectory()
    const end = await from(['-C', other, '--resume', session_id, '--yes', '-p', 'two'], { cwd: home })
    expect(end.stderr).toContain(other)
    expect(model.requests[2]?.body.messages.at(-1)?.content[0]?.content).toBe(other)
  })

  test("after the session's directory is gone, -C gives another", async () => {
    const { run, bare: from } = await setUp(['a', 'b'])
    const gone = temporaryDirectory()
    const { session_id } = resultOf(await from(['-C', gone, '-p', 'one']))
    rmSync(gone, { recursive: true })
    const without = await from(['--resume', session_id, '-p', 'two'])
    expect(without.code).toBe(2)
    expect(without.stderr).toContain(`${JSON.stringify(gone)} does not exist. Give another with -C <dir>.`)
    expect((await run(['--resume', session_id, '-p', 'two'])).code).toBe(0)
  })

  test('--continue takes the last used session of exactly this directory, by its real path', async () => {
    const { model, home, dir, run, bare: from } = await setUp(['s1', 's2', 's3', 's4', 's1 again', 'go on'])
    mkdirSync(join(dir, 'sub'))
    const s1 = resultOf(await run(['-p', 'one'])).session_id
    await run(['-p', 'two'])
    await from(['-C', join(dir, 'sub'), '-p', 'three'])
    await from(['-C', home, '-p', 'four'])
    await run(['--resume', s1, '-p', 'five'])
    const link = join(home, 'link')
    symlinkSync(dir, link)
    const last = resultOf(await from(['-C', link, '--continue', '-p', 'six']))
    expect(last.session_id).toBe(s1)
    expect(model.requests[5]?.body.messages).toHaveLength(5)
  })

  test('--continue passes over a session whose only prompt has failed, and takes it where there is no other', async () => {
    const refused = apiError(400, 'invalid_request_error', 'no')
    const { model, dir, run, bare: from } = await setUp(['s1', refused, 'more', refused, 'it works', 'again'])
    const s1 = resultOf(await run(['-p', 'one'])).session_id
    const failed = resultOf(await run(['-p', 'mistyped']))
    expect(failed).toMatchObject({ is_error: true, session_id: expect.not.stringMatching(s1) })
    expect(resultOf(await run(['--continue', '-p', 'two'])).session_id).toBe(s1)
    expect(bare(model.requests[2]?.body.messages)).toMatchObject([{}, {}, { content: [{ text: 'two' }] }])
    // Alone in its directory it is the one that was used last.
    const sub = join(dir, 'sub')
    mkdirSync(sub)
    const alone = resultOf(await from(['-C', sub, '-p', 'three'])).session_id
    expect(resultOf(await from(['-C', sub, '--continue', '-p', 'four'])).session_id).toBe(alone)
    // Without a prompt it is that turn which is carried on, whatever came before.
    expect(resultOf(await run(['--resume', failed.session_id])).session_id).toBe(failed.session_id)
    expect(bare(model.requests[5]?.body.messages)).toMatchObject([{ content: [{ text: 'mistyped' }] }])
    expect(model.problems).toEqual([])
  })

  test('--continue without a prompt carries on the turn that failed last, though it is a session’s first', async () => {
    const { run } = await setUp(['s1', apiError(400, 'invalid_request_error', 'no'), 'now it works'])
    await run(['-p', 'one'])
    const failed = resultOf(await run(['-p', 'two']))
    expect(resultOf(await run(['--continue']))).toMatchObject({ session_id: failed.session_id, result: 'now it works' })
  })

  test('a fork has a new id and leaves the old session as it was', async () => {
    const { model, run, bare: from } = await setUp([reply([call('bash', { command: 'echo 1' })]), 'a', 'b', 'c'])
    const { session_id } = resultOf(await run(['--yes', '-p', 'one']))
    const before = await from(['sessions', 'export', session_id])
    const fork = resultOf(await run(['--resume', session_id, '--fork-session', '-p', 'two']))
    expect(fork.session_id).not.toBe(session_id)
    expect((await from(['sessions', 'export', session_id])).stdout).toBe(before.stdout)
    const third = resultOf(await run(['--continue', '-p', 'three']))
    expect(third.session_id).toBe(fork.session_id)
    expect(bare(model.requests[3]?.body.messages)).toMatchObject([{}, {}, {}, {}, {}, {}, {}])
    expect(model.problems).toEqual([])
  })

  test('without a prompt a finished session is not called again', async () => {
    const { model, run } = await setUp(['a'])
    await run(['-p', 'one'])
    const end = await run(['--continue'])
    expect(end.code).toBe(2)
    expect(end.stderr).toContain('finished')
    expect(model.requests).toHaveLength(1)
  })

  test('without a prompt a failed turn is carried on with the prompt it has', async () => {
    const { model, run } = await setUp([{ kind: 'raw', status: 400, headers: {}, body: '{}' } as never, 'now it works'])
    const first = await run(['-p', 'one'])
    expect(first.code).toBe(1)
    const second = resultOf(await run(['--continue']))
    expect(second).toMatchObject({ is_error: false, result: 'now it works' })
    expect(bare(model.requests.at(-1)?.body.messages)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
    ])
  })

  test('after a failed turn the old prompt is there once, and then the new one', async () => {
    const { model, run } = await setUp([{ kind: 'raw', status: 400, headers: {}, body: '{}' } as never, 'fine'])
    await run(['-p', 'P1'])
    await run(['--continue', '-p', 'P2'])
    expect(bare(model.requests.at(-1)?.body.messages)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'P1' },
          { type: 'text', text: 'P2' },
        ],
      },
    ])
  })
})

describe('many at once', () => {
  test('twelve runs in one home all succeed and can be resumed', async () => {
    const { model, run } = await setUp(
      (request) => `echo ${JSON.stringify(request.body.messages.at(-1)?.content[0]?.text)}`,
    )
    const runs = await Promise.all(Array.from({ length: 12 }, (_, i) => run(['-p', `prompt ${i}`])))
    const results = runs.map((end) => resultOf(end))
    expect(runs.map((end) => [end.code, end.stderr])).toEqual(runs.map(() => [0, '']))
    expect(new Set(results.map((result) => result.session_id)).size).toBe(12)
    for (const [i, { session_id }] of results.entries()) {
      await run(['--resume', session_id, '-p', 'again'])
      expect(model.requests.at(-1)?.body.messages[0]?.content[0]?.text).toBe(`prompt ${i}`)
    }
  })
})

describe('what is kept', () => {
  test('is private to the user, whatever the umask', async () => {
    const { home, run } = await setUp(['a'])
    await run(['-p', 'one'])
    const agent = join(home, '.agent')
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)
    expect(mode(agent)).toBe('700')
    for (const file of readdirSync(agent, { withFileTypes: true, recursive: true })) {
      expect([file.name, mode(join(file.parentPath, file.name))]).toEqual([
        file.name,
        file.isDirectory() ? '700' : '600',
      ])
    }
  })
})

describe('agent sessions', () => {
  test('lists the sessions of this directory, newest first, as JSON', async () => {
    const { dir, run, bare: from, home } = await setUp(['a', 'b', 'c'])
    const one = resultOf(await run(['-p', 'first words'])).session_id
    const two = resultOf(await run(['-p', 'other words'])).session_id
    const elsewhere = resultOf(await from(['-C', home, '-p', 'elsewhere'])).session_id
    const list = JSON.parse((await run(['sessions', '--json'])).stdout) as Array<Record<string, unknown>>
    expect(list).toEqual([
      {
        session_id: two,
        cwd: dir,
        created: expect.stringMatching(/^\d{4}-.*Z$/),
        used: expect.stringMatching(/^\d{4}-.*Z$/),
        model: DEFAULT_MODEL,
        turns: 1,
        first_prompt: 'other words',
      },
      expect.objectContaining({ session_id: one, first_prompt: 'first words' }),
    ])
    const all = JSON.parse((await run(['sessions', '--all', '--json'])).stdout) as Array<{ session_id: string }>
    expect(all.map((head) => head.session_id)).toEqual([elsewhere, two, one])
  })

  test('rm removes one, and its id is unknown from then on', async () => {
    const { run } = await setUp(['a'])
    const { session_id } = resultOf(await run(['-p', 'one']))
    expect((await run(['sessions', 'rm', session_id])).code).toBe(0)
    const end = await run(['--resume', session_id, '-p', 'x'])
    expect(end.code).toBe(2)
    expect(end.stderr).toContain(session_id)
    expect((await run(['--continue', '-p', 'x'])).code).toBe(2)
  })
})
