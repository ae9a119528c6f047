import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { apiError, call, held, type Reply, reply, thinking } from '../support/fakeModel.ts'
import { input, kinds, occurrences, setUp, textsOf } from './compactionSupport.ts'
import type { SetUp } from './setUp.ts'

const TOO_LONG = apiError(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')
const TOO_LARGE = apiError(413, 'request_too_large', 'Request exceeds the maximum size')
const OVERLOADED = apiError(529, 'overloaded_error', 'Overloaded')
/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function withBudget(replies: Parameters<typeof setUp>[0], tokens: number): Promise<SetUp> {
  const all = await setUp(replies)
  writeFileSync(join(all.home, 'budget.json'), JSON.stringify({ compaction: { input_tokens: tokens } }))
  const settings = ['--settings', join(all.home, 'budget.json')]
  return { ...all, run: (args, more) => all.run([...settings, ...args], more) }
}

/** Two turns: the first ends over the budget, the second has to summarise. */
async function resumed(...replies: Array<Reply | string>): Promise<SetUp & { first: string }> {
  const all = await withBudget([reply('OLD-ANSWER', input(5000)), ...replies], 1000)
  const { session_id } = resultOf(await all.run(['-p', 'OLD-QUESTION']))
  return { ...all, first: session_id }
}

describe('a summary that is of no use', () => {
  const useless: Array<[string, Reply]> = [
    ['a tool call', reply([call('bash', { command: 'touch p' })])],
    ['nothing', reply([])],
    ['white space', reply(' \n ')],
    ['thinking only', reply([thinking('hmm', 'SIG')])],
    ['refused', reply('I cannot', { stop_reason: 'refusal' })],
    ['cut', reply('Half a summ', { stop_reason: 'max_tokens' })],
    ['longer than what it replaces', reply('long '.repeat(5000))],
  ]

  test.each(useless)('%s: asked once more without tools, and that summary is taken', async (_, bad) => {
    const { model, dir, run } = await resumed(bad, 'S-GOOD', 'new answer')
    const end = await run(['--yes', '-c', '-p', 'NEW'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'new answer' })
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'compaction', 'turn'])
    const [, one, two, turn] = model.requests
    expect([one?.body.tool_choice, two?.body.tool_choice, turn?.body.tool_choice]).toEqual([
      undefined,
      { type: 'none' },
      undefined,
    ])
    expect(textsOf(turn, 0)).toEqual([expect.stringContaining('S-GOOD'), 'NEW'])
    expect(existsSync(join(dir, 'p'))).toBe(false)
    expect(model.problems).toEqual([])
  })

  test.each(useless)('%s, twice: an error, the session as it was, and the next run tries again', async (_, bad) => {
    const { model, dir, run } = await resumed(bad, bad, 'S-GOOD', 'new answer')
    const failed = await run(['--yes', '-c', '-p', 'NEW'])
    expect(failed.code).toBe(1)
    expect(resultOf(failed)).toMatchObject({ is_error: true, subtype: 'error_during_execution' })
    expect(resultOf(failed).errors?.[0]).toMatch(/could not be compacted: .+ It is unchanged; resume/)
    expect(existsSync(join(dir, '.task_outputs'))).toBe(false)
    expect(existsSync(join(dir, 'p'))).toBe(false)
    const end = await run(['--yes', '-c', '-p', 'NEWER'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'new answer' })
    expect(occurrences(model.requests[3], 'OLD-ANSWER')).toBe(1)
    expect(textsOf(model.requests[4], 0)).toEqual([expect.stringContaining('S-GOOD'), 'NEW', 'NEWER'])
    expect(model.problems).toEqual([])
  })

  test('text beside a tool call is taken, and the call is not run', async () => {
    const { model, dir, run } = await resumed(reply(['S-TEXT', call('bash', { command: 'touch p' })]), 'new answer')
    expect(resultOf(await run(['--yes', '-c', '-p', 'NEW']))).toMatchObject({ result: 'new answer' })
    expect(textsOf(model.requests[2], 0)[0]).toContain('S-TEXT')
    expect(existsSync(join(dir, 'p'))).toBe(false)
  })
})

describe('a compaction call that fails', () => {
  test.each([
    ['400 too long', TOO_LONG],
    ['413', TOO_LARGE],
    ['a full window', reply('half', { stop_reason: 'model_context_window_exceeded' })],
  ])('%s: the summary is asked for over less, so the session is never stuck', async (_, refused) => {
    const { model, run } = await resumed(refused, refused, 'S-GOOD', 'new answer')
    const end = await run(['-c', '-p', 'NEW'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'new answer' })
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'compaction', 'compaction', 'turn'])
    expect(model.requests[2]?.body.messages).toHaveLength(1)
    expect(textsOf(model.requests[2], 0)[0]).toContain('OLD-QUESTION')
    expect(textsOf(model.requests[4], 0)).toEqual([expect.stringContaining('S-GOOD'), 'NEW'])
    expect(model.problems).toEqual([])
  })

  test('too long however short: exit 1 after a bounded number of tries, and nothing is lost', async () => {
    const { model, run, bare } = await withBudget(({ body }) => {
      if (JSON.stringify(body).includes('to be replaced by a summary')) return TOO_LONG
      return reply('OLD-ANSWER', input(5000))
    }, 1000)
    await run(['-p', 'OLD-QUESTION'])
    const end = await run(['-c', '-p', 'NEW'])
    expect(end.code).toBe(1)
    expect(resultOf(end).errors?.[0]).toContain('prompt is too long')
    expect(model.requests.length).toBeLessThan(10)
    const shown = await bare(['sessions', 'show', resultOf(end).session_id])
    expect(shown.stdout).toContain('OLD-ANSWER')
  })

  test('529 once is waited for', async () => {
    const { model, run } = await resumed(OVERLOADED, 'S-GOOD', 'new answer')
    expect(resultOf(await run(['-c', '-p', 'NEW']))).toMatchObject({ result: 'new answer' })
    expect(model.requests[2]?.raw).toBe(model.requests[1]?.raw)
  })

  test('529 for ever: exit 1, and the next run summarises and answers', async () => {
    let isDown = true
    const { model, run } = await withBudget(({ body }, n) => {
      if (n === 0) return reply('OLD-ANSWER', input(5000))
      if (isDown) return OVERLOADED
      return reply(JSON.stringify(body).includes('to be replaced by a summary') ? 'S-GOOD' : 'new answer')
    }, 1000)
    await run(['-p', 'OLD-QUESTION'])
    const down = await run(['-c', '-p', 'NEW'], { env: { AGENT_RETRY_MS: '200' } })
    expect({ code: down.code, is_error: resultOf(down).is_error }).toEqual({ code: 1, is_error: true })
    isDown = false
    expect(resultOf(await run(['-c']))).toMatchObject({ is_error: false, result: 'new answer' })
    expect(textsOf(model.requests.at(-1), 0)).toEqual([expect.stringContaining('S-GOOD'), 'NEW'])
  })
})

describe('killed with -9', () => {
  async function killedAt(replies: Array<Reply | string>, request: number) {
    const all = await resumed(...replies)
    const child = startAgent(['--settings', join(all.home, 'budget.json'), '-C', all.dir, '-c', '-p', 'NEW'], {
      url: all.model.url,
      home: all.home,
    })
    await all.model.waitForRequest(request)
    const end = ended(child)
    child.kill('SIGKILL')
    expect((await end).signal).toBe('SIGKILL')
    return all
  }

  test('before the summary came: it is asked for again, and the prompt is not lost', async () => {
    const waiting = held('never')
    const { model, run } = await killedAt([waiting, 'S-GOOD', 'new answer'], 1)
    expect(resultOf(await run(['-c']))).toMatchObject({ is_error: false, result: 'new answer' })
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'compaction', 'turn'])
    expect(model.requests[2]?.raw).toBe(model.requests[1]?.raw)
    expect(textsOf(model.requests[3], 0)).toEqual([expect.stringContaining('S-GOOD'), 'NEW'])
    waiting.release()
  })

  test('after it came: it is not asked for again', async () => {
    const waiting = held('never')
    const { model, run } = await killedAt(['S-GOOD', waiting, 'new answer'], 2)
    expect(resultOf(await run(['-c']))).toMatchObject({ is_error: false, result: 'new answer' })
    expect(kinds(model.requests)).toEqual(['turn', 'compaction', 'turn', 'turn'])
    expect(model.requests[3]?.raw).toBe(model.requests[2]?.raw)
    waiting.release()
  })

  test('an interrupt while the summary is made ends the run, and the next one makes it', async () => {
    const waiting = held('never')
    const all = await resumed(waiting, 'S-GOOD', 'new answer')
    const child = startAgent(['--settings', join(all.home, 'budget.json'), '-C', all.dir, '-c', '-p', 'NEW'], {
      url: all.model.url,
      home: all.home,
    })
    await all.model.waitForRequest(1)
    const end = ended(child)
    child.kill('SIGINT')
    expect((await end).code).toBe(130)
    expect(resultOf(await end)).toMatchObject({ subtype: 'error_interrupted' })
    expect(resultOf(await all.run(['-c', '-p', 'NEWER']))).toMatchObject({ result: 'new answer' })
    expect(textsOf(all.model.requests.at(-1), 0)).toEqual([expect.stringContaining('S-GOOD'), 'NEW', 'NEWER'])
    waiting.release()
  })
})

describe('an input that is too long', () => {
  const round = (n: number) => reply([call('bash', { command: `echo RESULT-${n}` }, `c${n}`)], input(100))

  test.each([
    ['400', TOO_LONG],
    ['413', TOO_LARGE],
    ['model_context_window_exceeded', reply('half', { stop_reason: 'model_context_window_exceeded' })],
    [
      '400 in other words',
      apiError(400, 'invalid_request_error', "This model's maximum context length is 4096 tokens"),
    ],
  ])('%s: summarised once, the latest round word for word, and tried again', async (_, refused) => {
    const { model, run } = await withBudget([round(1), round(2), round(3), refused, 'S-EMERGENCY', 'end'], 100_000)
    const end = await run(['--yes', '-p', 'THE TASK'])
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'end', compactions: 1 })
    const [, , , , compaction, turn] = model.requests
    expect(kinds(model.requests)).toEqual(['turn', 'turn', 'turn', 'turn', 'compaction', 'turn'])
    expect(occurrences(compaction, 'RESULT-1')).toBeGreaterThan(0)
    expect(textsOf(turn, 0)).toEqual([expect.stringContaining('S-EMERGENCY'), 'THE TASK'])
    expect(turn?.body.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c3', input: { command: 'echo RESULT-3' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c3', content: 'RESULT-3' }] },
    ])
    expect(occurrences(turn, 'RESULT-1')).toBe(0)
    expect(model.problems).toEqual([])
  })

  test('a reply that filled the window is paid for', async () => {
    const full = reply('half', { stop_reason: 'model_context_window_exceeded', ...input(700) })
    const { run } = await withBudget([round(1), full, reply('S', input(10)), reply('end', input(20))], 100_000)
    const { usage } = resultOf(await run(['--yes', '-p', 'x']))
    expect(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens).toBe(830)
  })

  test('still too long: exit 1, and a later prompt goes on', async () => {
    const { model, run } = await withBudget([round(1), TOO_LONG, 'S', TOO_LONG, 'end'], 100_000)
    const failed = await run(['--yes', '-p', 'THE TASK'])
    expect(failed.code).toBe(1)
    expect(resultOf(failed).errors?.[0]).toContain('still too long after a compaction')
    expect(resultOf(await run(['--yes', '-c', '-p', 'NEXT']))).toMatchObject({ is_error: false, result: 'end' })
    expect(model.problems).toEqual([])
  })

  test('a later input of the same turn that is too long is an emergency of its own', async () => {
    const { model, run } = await withBudget(
      [round(1), TOO_LONG, 'S1', round(2), round(3), TOO_LONG, 'S2', 'end'],
      100_000,
    )
    expect(resultOf(await run(['--yes', '-p', 'x']))).toMatchObject({ is_error: false, result: 'end', compactions: 2 })
    expect(model.problems).toEqual([])
  })

  test('a prompt that is itself too long: exit 1 with that reason, and the session is not stuck with it', async () => {
    const { model, run } = await setUp([TOO_LONG, 'end'])
    const failed = await run(['-p', `${'word '.repeat(10_000)}LAST-WORD`])
    expect(failed.code).toBe(1)
    expect(resultOf(failed).errors?.[0]).toContain('it is the prompt itself: make it shorter')
    expect(resultOf(await run(['-c', '-p', 'SHORT']))).toMatchObject({ result: 'end' })
    expect(textsOf(model.requests[1], 0)).toEqual([expect.stringMatching(/^word word .+left out\.\]$/s), 'SHORT'])
    expect((model.requests[1]?.raw.length ?? 0) < 20_000).toBe(true)
    expect(model.problems).toEqual([])
  })

  test('results of one round that fill a small window are shown in part, and are in files', async () => {
    const window = 40_000
    const { model, dir, run } = await withBudget(({ raw, body }, n) => {
      if (JSON.stringify(body.messages).includes('to be replaced by a summary')) return reply('S')
      if (n === 0) {
        const command = 'head -c 20000 /dev/zero | tr "\\0" x; echo END'
        return reply([1, 2, 3].map((i) => call('bash', { command }, `c${i}`)))
      }
      return raw.length > window ? TOO_LONG : reply('end')
    }, 100_000)
    expect(resultOf(await run(['--yes', '-p', 'THE TASK']))).toMatchObject({ is_error: false, result: 'end' })
    expect(model.problems).toEqual([])
    const last = JSON.stringify(model.requests.at(-1)?.body.messages)
    const [path = ''] = /\.task_outputs\/tool-results\/c\d\.txt/.exec(last) ?? []
    expect(readFileSync(join(dir, path), 'utf8')).toBe(`${'x'.repeat(20_000)}END`)
  })
})

describe('images', () => {
  test('no image data is in any request after a compaction, and the model is told that there was an image', async () => {
    const { model, dir, run } = await withBudget(
      [
        reply([call('read_file', { path: 'b.png' }, 'c1')], input(5000)),
        'S1',
        reply([call('bash', { command: 'true' })], input(10)),
        'end',
      ],
      1000,
    )
    for (const name of ['a.png', 'b.png']) writeFileSync(join(dir, name), Buffer.from(PIXEL, 'base64'))
    expect(resultOf(await run(['--yes', '-p', 'look at @a.png']))).toMatchObject({ is_error: false, result: 'end' })
    expect(model.requests.map(({ raw }) => raw.includes(PIXEL))).toEqual([true, true, false, false])
    expect(textsOf(model.requests[2], 0).join()).toMatch(/An image \(image\/png, \d+ bytes\) was here/)
    expect(model.problems).toEqual([])
  })

  test('413 for a request with images: summarised, and tried again without them', async () => {
    const { model, dir, run } = await withBudget(
      [reply([call('read_file', { path: 'b.png' }, 'c1')]), TOO_LARGE, 'S1', 'end'],
      100_000,
    )
    writeFileSync(join(dir, 'b.png'), Buffer.from(PIXEL, 'base64'))
    expect(resultOf(await run(['--yes', '-p', 'look at b.png']))).toMatchObject({ is_error: false, result: 'end' })
    expect(model.requests.at(-1)?.raw).not.toContain(PIXEL)
    expect(model.problems).toEqual([])
  })

  test('a new prompt with an image comes after the summary with its image', async () => {
    const { model, dir, run } = await resumed('S1', 'new answer')
    writeFileSync(join(dir, 'a.png'), Buffer.from(PIXEL, 'base64'))
    await run(['-c', '-p', 'look at @a.png'])
    expect(model.requests.map(({ raw }) => raw.includes(PIXEL))).toEqual([false, false, true])
  })
})

describe('large results', () => {
  const big = (id: string) => call('bash', { command: 'seq -f "line %06g" 1 5000' }, id)

  test('go whole to a file the moment they arrive; the model gets its path, its size and its beginning', async () => {
    const { model, dir, run } = await setUp([reply([big('toolu_A')]), 'end'])
    await run(['--yes', '-p', 'x'])
    const whole = readFileSync(join(dir, '.task_outputs/tool-results/toolu_A.txt'), 'utf8')
    expect(whole.split('\n')).toHaveLength(5000)
    const [result] = model.requests[1]?.body.messages.at(-1)?.content ?? []
    const content = String(result?.content)
    expect(content).toContain('.task_outputs/tool-results/toolu_A.txt')
    expect(content).toContain(`${whole.length} characters`)
    expect(content).toContain(whole.slice(0, 2000))
    expect(content.length).toBeLessThan(2500)
    expect(model.problems).toEqual([])
  })

  test('an exit code stays in sight', async () => {
    const { model, run } = await setUp([reply([call('bash', { command: 'seq 1 9000; exit 3' })]), 'end'])
    await run(['--yes', '-p', 'x'])
    expect(String(model.requests[1]?.body.messages.at(-1)?.content[0]?.content)).toMatch(/\[exit code 3\]$/)
  })

  test('of two sessions with the same ids do not overwrite each other', async () => {
    const { dir, run } = await setUp([reply([big('call_0')]), 'end', reply([big('call_0')]), 'end'])
    await run(['--yes', '-p', 'x'])
    writeFileSync(join(dir, '.task_outputs/tool-results/call_0.txt'), 'FIRST')
    await run(['--yes', '-p', 'y'])
    const read = (name: string) => readFileSync(join(dir, '.task_outputs/tool-results', name), 'utf8')
    expect([read('call_0.txt'), read('call_0-2.txt').length > 30_000]).toEqual(['FIRST', true])
  })

  test('are cut with a note where a file is in the folder’s place', async () => {
    const { model, dir, run } = await setUp([reply([call('bash', { command: 'seq 1 9000' })]), 'end'])
    writeFileSync(join(dir, '.task_outputs'), '')
    expect(resultOf(await run(['--yes', '-p', 'x']))).toMatchObject({ is_error: false, result: 'end' })
    const content = String(model.requests[1]?.body.messages.at(-1)?.content[0]?.content)
    expect(content).toContain('could not be saved')
    expect([content.startsWith('1\n2\n'), content.endsWith('\n9000'), content.length < 30_000]).toEqual([
      true,
      true,
      true,
    ])
  })
})
