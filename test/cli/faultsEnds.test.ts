/** However a run ends: the last line of stream-json is its result, the process is gone soon after it, and nothing of it lives on. */
import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { brain, effect, latest, marked, NEW_PROMPT, PROMPT, type Scenario } from '../kill/scenario.ts'
import { type Ended, ended, resultOf, startAgent } from '../support/agent.ts'
import { apiError, call, hang, reply, type ScriptedReply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const ONE: Scenario = { name: 'one', steps: [{ calls: [effect('a')] }] }
/** Between the result line and the end of the process, in milliseconds, on a busy machine. */
const LATE_MS = 4000

interface Line {
  type: string
  subtype?: string
  session_id: string
  is_error?: boolean
  result?: unknown
}

/** Runs with stream-json. @returns the lines, and how long the process lived on after the last of them came */
async function streamed(
  { model, home, dir }: SetUp,
  args: string[],
  signal: NodeJS.Signals | null = null,
): Promise<{ lines: Line[]; end: Ended; late: number }> {
  const child = startAgent(['-C', dir, '--yes', '--output-format', 'stream-json', '-p', PROMPT, ...args], {
    url: model.url,
    home,
  })
  let last = performance.now()
  child.stdout?.on('data', () => {
    last = performance.now()
  })
  const done = ended(child)
  if (signal !== null) void model.waitForRequest(1).then(() => child.kill(signal))
  const end = await done
  const lines = end.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  return { lines, end, late: performance.now() - last }
}

describe('stream-json ends in its result', () => {
  const ends: Array<[string, ScriptedReply | null, string[], NodeJS.Signals | null, number, string]> = [
    ['an answer', null, [], null, 0, 'success'],
    ['an error of the API', apiError(400, 'invalid_request_error', 'no'), [], null, 1, 'error_during_execution'],
    ['a refusal', reply([], { stop_reason: 'refusal' }), [], null, 1, 'error_during_execution'],
    ['the turn cap', reply([effect('b')]), ['--max-turns', '2'], null, 1, 'error_max_turns'],
    ['SIGINT', hang(), [], 'SIGINT', 130, 'error_interrupted'],
    ['SIGTERM', hang(), [], 'SIGTERM', 143, 'error_interrupted'],
  ]
  test.each(ends)('after %s', async (_, second, args, signal, code, subtype) => {
    const usual = brain(ONE)
    const place = await setUp((request, n) => (n === 1 && second !== null ? second : usual(request)))
    const { lines, end, late } = await streamed(place, args, signal)
    expect([end.code, lines.filter(({ type }) => type === 'result').length]).toEqual([code, 1])
    expect(lines.at(-1)).toMatchObject({ type: 'result', subtype, is_error: code !== 0, result: expect.any(String) })
    expect(new Set(lines.map(({ session_id }) => session_id)).size).toBe(1)
    expect(late).toBeLessThan(LATE_MS)
    expect(place.model.problems).toEqual([])
  })
})

describe('what a run has started', () => {
  test('does not outlive it: neither a child in the background nor one that has left its group holds it up', async () => {
    const marker = `marker-${randomUUID()}`
    const command = `bash -c 'exec -a ${marker} sleep 300' & setsid bash -c 'exec -a ${marker} sleep 300' & disown -a`
    const place = await setUp(brain({ name: 'background', steps: [{ calls: [effect('a', command)] }] }))
    const { end, late } = await streamed(place, [])
    expect([end.code, marked(marker)]).toEqual([0, []])
    expect(late).toBeLessThan(LATE_MS)
  })
})

describe('a working directory that is deleted in the middle of a run', () => {
  test('makes calls fail, not the run; the session can go on elsewhere', async () => {
    const place = await setUp((request) => {
      const text = JSON.stringify(request.body.messages)
      if (!text.includes('toolu_gone')) return reply([call('bash', { command: 'rm -rf "$PWD"' }, 'toolu_gone')])
      if (text.includes('toolu_after')) return 'the answer'
      return reply([
        call('bash', { command: 'echo still' }, 'toolu_after'),
        call('read_file', { path: 'a.txt' }, 'toolu_read'),
        call('glob', { pattern: '*' }, 'toolu_glob'),
        call('grep', { pattern: 'x' }, 'toolu_grep'),
      ])
    })
    const end = await place.run(['--yes', '-p', PROMPT])
    expect([end.code, resultOf(end).result, place.model.problems]).toEqual([0, 'the answer', []])
    expect(end.stderr).not.toMatch(/\n\s+at |internal error/)
    expect(existsSync(place.dir)).toBe(false)
    const results = place.model.requests.at(-1)?.body.messages.at(-1)?.content ?? []
    expect(results.map((block) => [block.tool_use_id, block.is_error ?? false])).toContainEqual(['toolu_after', true])
    expect((await latest(place.home, place.dir))?.entries.at(-1)?.record).toMatchObject({
      type: 'turnEnded',
      status: 'done',
    })

    const without = await place.bare(['resume', resultOf(end).session_id, '-p', NEW_PROMPT])
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining(place.dir)])
    const elsewhere = await place.bare(['-C', place.home, 'resume', resultOf(end).session_id, '-p', NEW_PROMPT])
    expect(elsewhere.code).toBe(0)
    rmSync(place.dir, { recursive: true, force: true })
  })
})
