import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf } from '../support/agent.ts'
import { call, expectPrefixStable, redacted, reply, thinking, withoutMarks } from '../support/fakeModel.ts'
import { asksForSummary, input, kinds, occurrences, setUp, textsOf } from './compactionSupport.ts'
import type { SetUp } from './setUp.ts'

function budget(dir: string, settings: Record<string, unknown>): void {
  mkdirSync(join(dir, '.agent'), { recursive: true })
  writeFileSync(join(dir, '.agent/settings.json'), JSON.stringify({ compaction: settings }))
}

async function withBudget(replies: Parameters<typeof setUp>[0], tokens: number): Promise<SetUp> {
  const all = await setUp(replies)
  budget(all.dir, { input_tokens: tokens })
  return all
}

describe('on resume', () => {
  test('a session over its budget is summarised first, and the new prompt comes after it, whole and once', async () => {
    const { model, dir, run } = await withBudget(
      [reply('OLD-ANSWER', input(1001)), reply('S1-AAA', input(9000)), 'new answer'],
      1000,
    )
    writeFileSync(join(dir, 'note.txt'), 'NOTE-CONTENT')
    await run(['-p', 'OLD-QUESTION'])
    const end = await run(['--continue', '-p', 'UNIQUE-Q @note.txt'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'new answer', num_turns: 1, compactions: 1 })
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'turn'])
    const [first, compaction, turn] = model.requests
    expect(occurrences(compaction, 'UNIQUE-Q')).toBe(0)
    expect(occurrences(compaction, 'OLD-ANSWER')).toBe(1)
    expect(compaction?.body).toMatchObject({ system: first?.body.system, tools: first?.body.tools })
    expect(compaction?.body.tool_choice).toBeUndefined()
    expectPrefixStable([first, compaction].filter((request) => request !== undefined))
    expect(turn?.body.messages).toHaveLength(1)
    const [summary, prompt, attachment] = textsOf(turn, 0)
    expect(summary).toContain('S1-AAA')
    expect(prompt).toBe('UNIQUE-Q @note.txt')
    expect(attachment).toContain('NOTE-CONTENT')
    for (const old of ['OLD-QUESTION', 'OLD-ANSWER']) expect(occurrences(turn, old)).toBe(0)
    expect(model.problems).toEqual([])
  })

  test('the usage of the run has the compaction in it, the count of turns does not', async () => {
    const { run } = await withBudget([reply('a', input(1001)), reply('S', input(50)), reply('b', input(20))], 1000)
    await run(['-p', 'one'])
    const { usage, num_turns } = resultOf(await run(['-c', '-p', 'two']))
    expect(num_turns).toBe(1)
    expect(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens).toBe(70)
    expect(usage.output_tokens).toBe(10)
  })

  test.each([
    ['one under the budget', 999, ['turn', 'turn']],
    ['at the budget exactly', 1000, ['turn', 'turn']],
    ['one over it', 1001, ['turn', 'compaction', 'turn']],
  ])('%s', async (_, tokens, expected) => {
    const { model, run } = await withBudget([reply('a', input(tokens)), 'S', 'b'], 1000)
    await run(['-p', 'one'])
    await run(['-c', '-p', 'two'])
    expect(kinds(model.requests)).toEqual(expected)
  })

  test('the third run knows only the summary, and does not summarise again', async () => {
    const { model, run } = await withBudget([reply('OLD', input(1001)), reply('S1-AAA', input(9999)), 'b', 'c'], 1000)
    await run(['-p', 'one'])
    await run(['-c', '-p', 'two'])
    await run(['-c', '-p', 'three'])
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'turn', 'turn'])
    expectPrefixStable(model.requests.slice(2))
    expect(occurrences(model.requests[3], 'OLD')).toBe(0)
    expect(model.problems).toEqual([])
  })

  test('the instructions stay in the system string, once, and follow the file', async () => {
    const { model, dir, run } = await withBudget([reply('a', input(1001)), 'S', 'b'], 1000)
    writeFileSync(join(dir, 'AGENTS.md'), 'MARK-A')
    await run(['-p', 'one'])
    writeFileSync(join(dir, 'AGENTS.md'), 'MARK-B')
    await run(['-c', '-p', 'two'])
    for (const [n, { body }] of model.requests.entries()) {
      expect(body.system?.split(n === 0 ? 'MARK-A' : 'MARK-B')).toHaveLength(2)
      expect(JSON.stringify(body)).not.toContain(n === 0 ? 'MARK-B' : 'MARK-A')
    }
  })
})

describe('in the middle of a tool loop', () => {
  test('the results go into the summary, nothing runs twice, and the request is carried word for word', async () => {
    const { model, dir, run } = await withBudget(
      [
        reply(['I begin.', call('bash', { command: 'echo x >> count; echo RESULT-1' })], input(5000)),
        reply('S1-AAA', input(5000)),
        reply([call('bash', { command: 'cat count' })], input(300)),
        'finished',
      ],
      1000,
    )
    const end = await run(['--yes', '-p', 'THE TASK'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'finished', num_turns: 3, compactions: 1 })
    expect(readFileSync(join(dir, 'count'), 'utf8')).toBe('x\n')
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'turn', 'turn'])
    const [first, compaction, turn] = model.requests
    expect(occurrences(compaction, 'RESULT-1')).toBeGreaterThan(0)
    expect(withoutMarks(compaction?.body.messages[0])).toBe(withoutMarks(first?.body.messages[0]))
    expect(turn?.body.messages).toHaveLength(1)
    expect(textsOf(turn, 0)).toEqual([expect.stringContaining('S1-AAA'), 'THE TASK'])
    expect(occurrences(turn, 'RESULT-1')).toBe(0)
    expectPrefixStable(model.requests.slice(2))
    expect(model.problems).toEqual([])
  })

  test('a compaction that does not help is not repeated in the same turn', async () => {
    const { model, run } = await withBudget(
      [
        reply([call('bash', { command: 'true' })], input(5000)),
        reply('S', input(5000)),
        reply([call('bash', { command: 'true' })], input(5000)),
        reply([call('bash', { command: 'true' })], input(5000)),
        reply('done', input(5000)),
      ],
      10,
    )
    expect(resultOf(await run(['--yes', '-p', 'x']))).toMatchObject({ is_error: false, num_turns: 4, compactions: 1 })
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'turn', 'turn', 'turn'])
    expect(model.problems).toEqual([])
  })

  test('no compaction follows the last answer of a run', async () => {
    const { model, run } = await withBudget([reply('done', input(5000))], 10)
    await run(['-p', 'x'])
    expect(kinds(model.requests)).toEqual(['turn'])
  })

  test('three summaries: each knows the one before, none is nested in another', async () => {
    const round = (tokens: number) => reply([call('bash', { command: 'echo hi' })], input(tokens))
    const { model, run } = await withBudget(
      [round(2000), 'S1-AAA', round(10), round(2000), 'S2-BBB', round(10), round(2000), 'S3-CCC', 'end', 'more'],
      1000,
    )
    const end = await run(['--yes', '-p', 'THE TASK'])
    expect(resultOf(end)).toMatchObject({ result: 'end', compactions: 3 })
    const [one, two, three] = model.requests.filter(asksForSummary)
    expect([one, two, three].map((request) => occurrences(request, '<conversation_summary>'))).toEqual([0, 1, 1])
    expect(occurrences(two, 'S1-AAA')).toBe(1)
    expect([occurrences(three, 'S1-AAA'), occurrences(three, 'S2-BBB')]).toEqual([0, 1])
    const last = model.requests.at(-1)
    expect(['S1-AAA', 'S2-BBB', 'S3-CCC', 'THE TASK'].map((text) => occurrences(last, text))).toEqual([0, 0, 1, 1])
    expect(model.problems).toEqual([])
    await run(['-c', '-p', 'more'])
    expect(occurrences(model.requests.at(-1), '<conversation_summary>')).toBe(1)
  })

  test('thinking goes into the compaction as it came, and none is left after it', async () => {
    const { model, run } = await withBudget(
      [
        reply([thinking('THOUGHT', 'SIG'), redacted('RED'), 'text', call('bash', { command: 'true' })], input(5000)),
        'S',
        'end',
      ],
      1000,
    )
    await run(['--yes', '-p', 'x'])
    const [, compaction, turn] = model.requests
    expect(compaction?.body.messages[1]?.content.slice(0, 2)).toEqual([
      { type: 'thinking', thinking: 'THOUGHT', signature: 'SIG' },
      { type: 'redacted_thinking', data: 'RED' },
    ])
    expect(JSON.stringify(turn?.body.messages)).not.toMatch(/THOUGHT|SIG|RED/)
    expect(model.problems).toEqual([])
  })
})

describe('the gauge', () => {
  test('a server that reports no usage is compacted some day, by an estimate', async () => {
    const big = reply([call('bash', { command: 'head -c 8000 /dev/zero | tr "\\0" x' })], { usage: null })
    const { model, run } = await withBudget(({ body }, n) => {
      if (JSON.stringify(body.messages).includes('to be replaced by a summary')) return reply('SUM', { usage: null })
      return n < 8 ? big : reply('end', { usage: null })
    }, 6000)
    const end = await run(['--yes', '-p', 'x'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'end' })
    expect(kinds(model.requests).filter((kind) => kind === 'compaction').length).toBeGreaterThan(0)
    expect(kinds(model.requests)[0]).toBe('turn')
    expect(model.problems).toEqual([])
  })
})

describe('what can be seen of it', () => {
  test('the whole conversation is in a file that the summary names, and the folder keeps itself out of git', async () => {
    const { model, dir, run } = await withBudget(
      [reply([call('bash', { command: 'echo RESULT-1' }, 'c1')], input(5000)), 'S1', 'end', 'end again'],
      1000,
    )
    const { session_id } = resultOf(await run(['--yes', '-p', 'THE TASK']))
    const path = `.task_outputs/transcripts/${session_id}-1.jsonl`
    expect(textsOf(model.requests[2], 0)[0]).toContain(path)
    const lines = readFileSync(join(dir, path), 'utf8').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'THE TASK' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'c1', name: 'bash', input: { command: 'echo RESULT-1' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'RESULT-1' }] },
    ])
    expect(readFileSync(join(dir, '.task_outputs/.gitignore'), 'utf8')).toBe('*\n')
  })

  test('a second compaction of the session has a file of its own', async () => {
    const { model, dir, run } = await withBudget(
      [reply('one', input(5000)), 'S1', reply('two', input(5000)), 'S2', 'three'],
      1000,
    )
    const { session_id } = resultOf(await run(['-p', 'FIRST']))
    await run(['-c', '-p', 'SECOND'])
    await run(['-c', '-p', 'THIRD'])
    const file = (n: number) => readFileSync(join(dir, `.task_outputs/transcripts/${session_id}-${n}.jsonl`), 'utf8')
    expect([file(1).includes('FIRST'), file(1).includes('SECOND')]).toEqual([true, false])
    expect(file(2)).toContain('SECOND')
    expect(textsOf(model.requests.at(-1), 0)[0]).toContain(`${session_id}-2.jsonl`)
  })

  test('where the file cannot be written the compaction goes on without it', async () => {
    const { model, dir, run } = await withBudget([reply('one', input(5000)), 'S1-AAA', 'two'], 1000)
    writeFileSync(join(dir, '.task_outputs'), 'a file in its place')
    await run(['-p', 'FIRST'])
    const end = await run(['-c', '-p', 'SECOND'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'two' })
    expect(end.stderr).toContain('.task_outputs is not a directory')
    expect(textsOf(model.requests[2], 0)[0]).not.toContain('.task_outputs')
    expect(readFileSync(join(dir, '.task_outputs'), 'utf8')).toBe('a file in its place')
  })

  test('stream-json has a compact_boundary with the sizes', async () => {
    const { run } = await withBudget([reply('one', input(5000)), 'S1', 'two'], 1000)
    const { session_id } = resultOf(await run(['-p', 'FIRST']))
    const end = await run(['-c', '--output-format', 'stream-json', '-p', 'SECOND'])
    const lines = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map((line) => line.subtype ?? line.type)).toEqual(['init', 'compact_boundary', 'assistant', 'success'])
    expect(lines[1]).toEqual({
      type: 'system',
      subtype: 'compact_boundary',
      compact_metadata: { trigger: 'budget', pre_tokens: 5000, post_tokens: expect.any(Number) },
      session_id,
    })
    expect(lines[1].compact_metadata.post_tokens).toBeLessThan(5000)
  })
})

describe('the compact tool', () => {
  test('it is answered like any other, the whole batch runs, and its focus reaches the summary', async () => {
    const { model, dir, run } = await setUp([
      reply([
        call('bash', { command: 'echo a >> ran' }, 'c1'),
        call('compact', { focus: 'FOCUS-XYZ' }, 'c2'),
        call('bash', { command: 'echo b >> ran' }, 'c3'),
      ]),
      'S1-AAA',
      'end',
    ])
    const end = await run(['--yes', '-p', 'THE TASK'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'end', compactions: 1 })
    expect(readFileSync(join(dir, 'ran'), 'utf8').split('\n').sort()).toEqual(['', 'a', 'b'])
    const [, compaction, turn] = model.requests
    expect(compaction?.body.messages.at(-1)?.content.map((block) => block.tool_use_id ?? block.type)).toEqual([
      'c1',
      'c2',
      'c3',
      'text',
    ])
    expect(textsOf(compaction, -1).join()).toContain('FOCUS-XYZ')
    expect(textsOf(turn, 0)).toEqual([expect.stringContaining('S1-AAA'), 'THE TASK'])
    expect(model.problems).toEqual([])
  })

  test('it runs without --yes', async () => {
    const { run } = await setUp([reply([call('compact', {})]), 'S1', 'end'])
    expect(resultOf(await run(['-p', 'x']))).toMatchObject({ compactions: 1, permission_denials: [] })
  })

  test('a summary that is of no use is no reason to stop: the model only wished for it', async () => {
    const { model, run } = await setUp([reply([call('compact', {})]), reply([]), reply([]), 'end'])
    expect(resultOf(await run(['-p', 'THE TASK']))).toMatchObject({ is_error: false, result: 'end' })
    expect(model.requests.at(-1)?.body.messages).toHaveLength(3)
    expect(model.problems).toEqual([])
  })
})

describe('what survives', () => {
  test('the todo list as it stands', async () => {
    const todos = (status: string) => ({ todos: [{ content: 'TODO-ITEM', status }] })
    const { model, run } = await withBudget(
      [
        reply([call('todo_write', todos('pending'))], input(10)),
        reply([call('todo_write', todos('in_progress'))], input(5000)),
        'S1',
        'end',
      ],
      1000,
    )
    await run(['--yes', '-p', 'THE TASK'])
    expect(textsOf(model.requests.at(-1), 0)).toEqual([
      expect.stringContaining('S1'),
      expect.stringContaining('[>] TODO-ITEM'),
      'THE TASK',
    ])
  })

  test('a skill that was loaded, whole', async () => {
    const { model, dir, run } = await withBudget(
      [
        reply([call('load_skill', { name: 'probe' })], input(10)),
        reply([call('bash', { command: 'true' })], input(5000)),
        'S1',
        reply('end', input(5000)),
        'S2',
        'end again',
      ],
      1000,
    )
    mkdirSync(join(dir, 'skills/probe'), { recursive: true })
    writeFileSync(join(dir, 'skills/probe/SKILL.md'), '---\nname: probe\ndescription: d\n---\nSKILL-BODY\n')
    await run(['--yes', '-p', 'THE TASK'])
    expect(textsOf(model.requests[3], 0)).toEqual([
      expect.stringContaining('S1'),
      expect.stringMatching(/^<loaded_skill name="probe">\n.*SKILL-BODY.*<\/loaded_skill>$/s),
      'THE TASK',
    ])
    await run(['--yes', '-c', '-p', 'MORE'])
    expect(occurrences(model.requests.at(-1), 'SKILL-BODY')).toBe(1)
    expect(occurrences(model.requests.at(-1), 'S1')).toBe(0)
    expect(model.problems).toEqual([])
  })
})

describe('who it is for', () => {
  test('the summary is not part of the answer in a text run', async () => {
    const { run } = await withBudget([reply('one', input(5000)), 'SUMMARY-TEXT', 'the answer'], 1000)
    await run(['-p', 'FIRST'])
    const end = await run(['-c', '--output-format', 'text', '-p', 'SECOND'])
    expect(end.stdout).toBe('the answer\n')
    expect(end.stderr).not.toContain('SUMMARY-TEXT')
  })

  test('a subagent compacts its own conversation, and its parent keeps its own', async () => {
    const { model, dir, run } = await withBudget(
      [
        reply([call('task', { description: 'SUBTASK' }, 'c1')], input(10)),
        reply([call('bash', { command: 'echo SUB-RESULT' })], input(5000)),
        'SUB-SUMMARY',
        reply('sub answer', input(10)),
        reply('the answer', input(20)),
      ],
      1000,
    )
    const end = await run(['--yes', '-p', 'THE TASK'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'the answer' })
    expect(kinds(model.requests)).toEqual(['turn', 'turn', 'compaction', 'turn', 'turn'])
    expect(textsOf(model.requests[3], 0)).toEqual([expect.stringContaining('SUB-SUMMARY'), 'SUBTASK'])
    expect(model.requests[4]?.body.messages).toHaveLength(3)
    expect(readdirSync(join(dir, '.task_outputs/transcripts'))).toHaveLength(1)
    expect(model.problems).toEqual([])
  })
})
