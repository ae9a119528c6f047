import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { DEFAULT_MODEL } from '../../src/services/model/prices.ts'
import { agentEnv, CLI, resultOf } from '../support/agent.ts'
import { apiError, call, reply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

const shell = promisify(execFile)

describe('json', () => {
  test('one megabyte through a slow pipe is one whole document', async () => {
    const answer = 'aé日😀'.repeat(150_000)
    const { model, home, dir } = await setUp([answer])
    const { stdout } = await shell(
      'bash',
      ['-c', `node ${CLI} -C ${dir} -p x | (sleep 2; cat); echo "exit \${PIPESTATUS[0]}" >&2`],
      { env: agentEnv({ url: model.url, home }), maxBuffer: 1e8 },
    )
    expect(stdout.endsWith('}\n')).toBe(true)
    expect((JSON.parse(stdout) as { result: string }).result).toBe(answer)
  })

  test('is the default where stdout is no terminal, and the same as --json and --output-format=json', async () => {
    const { run } = await setUp(['a', 'b', 'c'])
    expect(resultOf(await run(['-p', 'x'])).result).toBe('a')
    expect(resultOf(await run(['--json', '-p', 'x'])).result).toBe('b')
    expect(resultOf(await run(['--output-format=json', '-p', 'x'])).result).toBe('c')
  })

  test('an API error is exit 1, is_error, with the message of the API, and the session can go on', async () => {
    const { model, run } = await setUp([apiError(400, 'invalid_request_error', 'model: no such thing'), 'fine'])
    const end = await run(['-p', 'x'])
    const result = resultOf(end)
    expect({ code: end.code, ...result }).toMatchObject({
      code: 1,
      subtype: 'error_during_execution',
      is_error: true,
      result: '',
      num_turns: 1,
    })
    expect(result.errors?.[0]).toContain('model: no such thing')
    expect(model.requests).toHaveLength(1)
    expect(resultOf(await run(['--resume', result.session_id, '-p', 'y'])).result).toBe('fine')
  })

  test('the turn cap is exit 1 with its own subtype, and the session is valid for resume', async () => {
    const { model, run } = await setUp((_, n) => (n < 3 ? reply([call('bash', { command: 'true' })]) : 'rested'))
    const end = await run(['--yes', '--max-turns', '3', '-p', 'x'])
    expect({ code: end.code, ...resultOf(end) }).toMatchObject({
      code: 1,
      subtype: 'error_max_turns',
      is_error: true,
      num_turns: 3,
    })
    expect(model.requests).toHaveLength(3)
    expect(resultOf(await run(['--continue', '-p', 'go on'])).result).toBe('rested')
    expect(model.problems).toEqual([])
  })

  test('a refusal is exit 1, its call does not run, and it is not sent back', async () => {
    const { model, dir, run } = await setUp([
      reply(['No.', call('bash', { command: 'touch p' })], { stop_reason: 'refusal' }),
      'fine',
    ])
    const end = await run(['--yes', '-p', 'x'])
    expect({ code: end.code, ...resultOf(end) }).toMatchObject({ code: 1, is_error: true, stop_reason: 'refusal' })
    const { readdirSync } = await import('node:fs')
    expect(readdirSync(dir)).toEqual([])
    await run(['-c', '-p', 'y'])
    expect(model.requests[1]?.body.messages).toHaveLength(1)
    expect(model.problems).toEqual([])
  })

  test('without --yes a call that would ask is refused, listed, and says what would allow it', async () => {
    const { model, dir, run } = await setUp([
      reply([call('bash', { command: 'touch p' }, 't1'), call('read_file', { path: 'a' }, 't2')]),
      'I could not.',
    ])
    const { readdirSync, writeFileSync } = await import('node:fs')
    writeFileSync(`${dir}/a`, 'text')
    const end = await run(['-p', 'x'])
    expect(end.code).toBe(0)
    expect(resultOf(end).permission_denials).toEqual([
      { tool_name: 'bash', tool_use_id: 't1', tool_input: { command: 'touch p' } },
    ])
    const [refused, read] = model.requests[1]?.body.messages.at(-1)?.content ?? []
    expect(refused).toMatchObject({ tool_use_id: 't1', is_error: true, content: expect.stringContaining('--yes') })
    expect(read).toMatchObject({ tool_use_id: 't2' })
    expect(read?.is_error).toBeUndefined()
    expect(readdirSync(dir)).toEqual(['a'])
  })
})

describe('text', () => {
  test('in a pipe stdout is the final answer and the session id is on stderr', async () => {
    const { run } = await setUp([reply(['Wait.', call('bash', { command: 'true' })]), 'The answer.'])
    const end = await run(['--yes', '--output-format', 'text', '-p', 'x'])
    expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 0, stdout: 'The answer.\n' })
    expect(end.stderr).toMatch(/[0-9a-f]{8}-[0-9a-f-]{27}/)
    expect(end.stderr + end.stdout).not.toContain('\u001b')
  })

  test('an error is on stderr and stdout stays empty', async () => {
    const { run } = await setUp([apiError(401, 'authentication_error', 'invalid x-api-key')])
    const end = await run(['--output-format', 'text', '-p', 'x'])
    expect({ code: end.code, stdout: end.stdout }).toEqual({ code: 1, stdout: '' })
    expect(end.stderr).toContain('ANTHROPIC_API_KEY')
  })
})

describe('stream-json', () => {
  test('is one object a line: init, messages, results, and the result last', async () => {
    const { dir, run } = await setUp([reply(['I look.', call('bash', { command: 'echo hi' }, 't1')]), 'Done.'])
    const end = await run(['--yes', '--output-format', 'stream-json', '-p', 'x'])
    const lines = end.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const session_id = lines[0]?.session_id
    expect(lines.map((line) => [line.type, line.subtype, line.session_id])).toEqual([
      ['system', 'init', session_id],
      ['assistant', undefined, session_id],
      ['user', undefined, session_id],
      ['assistant', undefined, session_id],
      ['result', 'success', session_id],
    ])
    expect(lines[0]).toMatchObject({ cwd: dir, model: DEFAULT_MODEL, tools: expect.arrayContaining(['bash']) })
    expect(lines[2]).toMatchObject({
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'hi' }] },
      parent_tool_use_id: null,
    })
  })

  test('a retry is a line too', async () => {
    const { run } = await setUp([apiError(529, 'overloaded_error', 'Overloaded'), 'Done.'])
    const end = await run(['--output-format', 'stream-json', '-p', 'x'])
    const retry = end.stdout.split('\n').find((line) => line.includes('api_retry'))
    expect(JSON.parse(retry ?? 'null')).toMatchObject({ type: 'system', subtype: 'api_retry', attempt: 1 })
    expect(end.stderr).toContain('Overloaded')
  })
})
