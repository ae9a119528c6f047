import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf } from '../support/agent.ts'
import { type CapturedRequest, call, type RequestBody, reply, withoutMarks } from '../support/fakeModel.ts'
import { asksForSummary, setUp } from './compactionSupport.ts'

const BUDGET = 40_000
const ROUNDS = 500

/** Four bytes of a body are about a token; what the request before had is served from the cache. */
function usageOf(request: CapturedRequest, before: number) {
  const whole = Math.ceil(request.raw.length / 4)
  const cache_read_input_tokens = Math.min(before, whole)
  return { input_tokens: whole - cache_read_input_tokens, cache_read_input_tokens, output_tokens: 20 }
}

function settings(dir: string, compaction: Record<string, unknown>): void {
  mkdirSync(join(dir, '.agent'), { recursive: true })
  writeFileSync(join(dir, '.agent/settings.json'), JSON.stringify({ compaction }))
}

/** @returns whether a request begins with the messages of the one before it */
function beginsWith(body: RequestBody, before: RequestBody): boolean {
  return before.messages.every((message, at) => withoutMarks(message) === withoutMarks(body.messages[at]))
}

describe('500 rounds of 3 KB in 40,000 tokens', () => {
  test('complete, and the cached prefix breaks only where a layer or a summary made room', {
    timeout: 300_000,
  }, async () => {
    const command = 'head -c 3000 /dev/zero | tr "\\0" x'
    let last = 0
    let rounds = 0
    let broken = 0
    let most = 0
    const sent: { body: RequestBody | null } = { body: null }
    const { model, dir, run, bare } = await setUp((request) => {
      const usage = usageOf(request, last)
      last = Math.ceil(request.raw.length / 4)
      most = Math.max(most, last)
      if (sent.body !== null && !beginsWith(request.body, sent.body)) broken++
      sent.body = request.body
      if (asksForSummary(request)) return reply('The task: count rounds.', { usage })
      rounds++
      return rounds > ROUNDS
        ? reply('ALL-DONE', { usage })
        : reply([call('bash', { command }, `c${rounds}`)], { usage })
    })
    settings(dir, { input_tokens: BUDGET })
    const end = await run(['--yes', '--max-turns', '1000', '-p', 'THE TASK'])
    const result = resultOf(end)
    expect(result).toMatchObject({ is_error: false, result: 'ALL-DONE', num_turns: ROUNDS + 1 })
    expect(model.problems).toEqual([])
    const records = (await bare(['sessions', 'export', result.session_id])).stdout.trimEnd().split('\n')
    const count = (type: string) => records.filter((line) => JSON.parse(line).record?.type === type).length
    const [passes, compactions] = [count('trimmed'), count('compacted')]
    console.log(
      `${ROUNDS} rounds: ${compactions} compactions, ${passes} layer passes, ${broken} broken prefixes, largest input ${most} tokens`,
    )
    expect(broken).toBeLessThanOrEqual(compactions + passes)
    expect(passes).toBeLessThanOrEqual(ROUNDS / 10)
    expect(most).toBeLessThan(BUDGET * 1.1)
    for (const { body } of model.requests) expect(JSON.stringify(body.messages)).toContain('THE TASK')
  })
})

describe('a session whose results were put away', () => {
  test('goes on after a restart where it was, the prefix too', async () => {
    let last = 0
    const { model, dir, run } = await setUp((request, n) => {
      const usage = usageOf(request, last)
      last = Math.ceil(request.raw.length / 4)
      if (n === 12 || n > 13) return reply(`answer ${n}`, { usage })
      return reply([call('bash', { command: 'head -c 3000 /dev/zero | tr "\\0" x' })], { usage })
    })
    settings(dir, { input_tokens: 16_000 })
    await run(['--yes', '-p', 'THE TASK'])
    await run(['--yes', '-c', '-p', 'THE NEXT TASK'])
    const text = (n: number) => JSON.stringify(model.requests[n]?.body.messages)
    expect(text(12)).toContain('Old result put away')
    for (const n of [13, 14]) expect(beginsWith(bodyOf(model.requests[n]), bodyOf(model.requests[n - 1]))).toBe(true)
    expect(model.problems).toEqual([])
  })
})

function bodyOf(request: CapturedRequest | undefined): RequestBody {
  return request?.body ?? expect.fail('there is no such request')
}

describe('compaction.always', () => {
  test('before every call: 50 messages at most, only the last three results whole, the others in their files', async () => {
    const { model, dir, run } = await setUp((_, n) =>
      n < 40 ? reply([call('bash', { command: `printf 'R${n}-%0200d' 0` }, `c${n}`)]) : reply('end'),
    )
    settings(dir, { always: true })
    expect(resultOf(await run(['--yes', '-p', 'THE TASK']))).toMatchObject({ is_error: false, result: 'end' })
    expect(model.problems).toEqual([])
    for (const [n, { body }] of model.requests.entries()) {
      expect(body.messages.length).toBeLessThanOrEqual(50)
      const results = body.messages.flatMap(({ content }) => content.filter((block) => block.type === 'tool_result'))
      const whole = results.filter(({ content }) => String(content).length > 200)
      expect(whole.map(({ tool_use_id }) => tool_use_id)).toEqual(
        [n - 3, n - 2, n - 1].filter((at) => at >= 0).map((at) => `c${at}`),
      )
      for (const { content, tool_use_id } of results.slice(0, -3))
        expect(content).toContain(`.task_outputs/tool-results/${tool_use_id}.txt`)
      expect(JSON.stringify(body.messages[0])).toContain('THE TASK')
    }
    const last = model.requests.at(-1)?.body.messages ?? []
    expect(JSON.stringify(last).split('messages of this conversation were left out')).toHaveLength(2)
    expect(readFileSync(join(dir, '.task_outputs/tool-results/c5.txt'), 'utf8')).toMatch(/^R5-0{200}$/)
    expect(readdirSync(join(dir, '.task_outputs/transcripts'))).toEqual([expect.stringMatching(/-snipped\.jsonl$/)])
  })

  test('errors and short results stay', async () => {
    const { model, dir, run } = await setUp((_, n) => {
      if (n === 0) return reply([call('bash', { command: `printf 'E-%0200d' 0; exit 4` }, 'bad')])
      if (n === 1) return reply([call('bash', { command: 'echo short' }, 'short')])
      return n < 8 ? reply([call('bash', { command: 'true' })]) : reply('end')
    })
    settings(dir, { always: true })
    await run(['--yes', '-p', 'x'])
    const last = JSON.stringify(model.requests.at(-1)?.body.messages)
    expect(last).toContain(`E-${'0'.repeat(200)}`)
    expect(last).toContain('"short"')
  })
})
