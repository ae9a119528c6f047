import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf } from '../support/agent.ts'
import { call, expectPrefixStable, reply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

describe('one turn', () => {
  test('the prompt goes to the model and its answer is the result', async () => {
    const { model, dir, run } = await setUp([reply('Hello there.', { usage: { input_tokens: 12, output_tokens: 3 } })])
    const end = await run(['-p', 'say hello'])
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
    const result = resultOf(end)
    expect(result).toEqual({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'Hello there.',
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      num_turns: 1,
      duration_ms: expect.any(Number),
      duration_api_ms: expect.any(Number),
      stop_reason: 'end_turn',
      usage: { input_tokens: 12, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      total_cost_usd: expect.any(Number),
      permission_denials: [],
    })
    expect(model.problems).toEqual([])
    expect(model.requests).toHaveLength(1)
    const { body } = model.requests[0] ?? expect.fail('no request')
    expect(body.system).toContain(dir)
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'say hello', cache_control: { type: 'ephemeral' } }] },
    ])
  })

  test('system and tools of a first request in an empty directory are at most 8,000 bytes', async () => {
    const { model, run } = await setUp(['ok'])
    await run(['-p', 'x'])
    const { system, tools } = model.requests[0]?.body ?? expect.fail('no request')
    const size = Buffer.byteLength(JSON.stringify(system)) + Buffer.byteLength(JSON.stringify(tools))
    expect(size).toBeLessThanOrEqual(8000)
    expect(tools?.map((tool) => tool.name).join(' ')).toBe(
      'bash read_file write_file edit_file glob grep todo_write task compact remember',
    )
  })
})

describe('tool rounds', () => {
  test('ten rounds run one after the other, each request begins with the one before it', async () => {
    const rounds = Array.from({ length: 10 }, (_, i) => reply([call('bash', { command: `echo ${i} >> log` })]))
    const { model, dir, run } = await setUp([...rounds, 'done'])
    const end = await run(['--yes', '-p', 'count'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'done', num_turns: 11 })
    expect(readFileSync(join(dir, 'log'), 'utf8')).toBe('0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n')
    expect(model.problems).toEqual([])
    expectPrefixStable(model.requests)
  })

  test('all seven tools in one reply come back in call order in one message', async () => {
    const { model, dir, run } = await setUp([
      reply([
        call('read_file', { path: 'a.txt' }, 'c1'),
        call('write_file', { path: 'b.txt', content: 'new' }, 'c2'),
        call('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'two' }, 'c3'),
        call('glob', { pattern: '*.md' }, 'c4'),
        call('grep', { pattern: 'needle' }, 'c5'),
        call('bash', { command: 'sleep 0.2; echo hi' }, 'c6'),
        call('todo_write', { todos: [{ content: 'x', status: 'pending' }] }, 'c7'),
      ]),
      'done',
    ])
    writeFileSync(join(dir, 'a.txt'), 'one\n')
    writeFileSync(join(dir, 'c.md'), 'a needle\n')
    const end = await run(['--yes', '-p', 'all'])
    expect(resultOf(end).result).toBe('done')
    expect(model.problems).toEqual([])
    const results = model.requests[1]?.body.messages.at(-1)?.content ?? []
    expect(results.map((block) => [block.type, block.tool_use_id, block.is_error ?? false])).toEqual(
      ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7'].map((id) => ['tool_result', id, false]),
    )
    expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe('two\n')
    expect(readFileSync(join(dir, 'b.txt'), 'utf8')).toBe('new')
  })
})
