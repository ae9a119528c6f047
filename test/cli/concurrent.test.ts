/** Many runs in one home, two on one session, readers beside a writer: contract.md, section 6. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { createStore } from '../../src/services/store/index.ts'
import { effect, effects, lockDatabase, NEW_PROMPT } from '../kill/scenario.ts'
import { type Ended, ended, resultOf, startAgent } from '../support/agent.ts'
import { type HeldReply, held, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

/** Processes at a time, and runs of each: 16 × 20 with AGENT_CONCURRENT_RUNS=20. */
const LANES = 16
const RUNS = Number(process.env.AGENT_CONCURRENT_RUNS ?? 3)
/** Rounds of two writers on one session. */
const DUELS = Number(process.env.AGENT_DUELS ?? 50)

vi.setConfig({ testTimeout: 900_000 })

const echo: Parameters<typeof setUp>[0] = ({ body }) => `answer to ${body.messages.at(-1)?.content[0]?.text}`

/** Each session that there is: its id, its first prompt and what was answered to it. */
async function stored({
  home,
}: SetUp): Promise<Array<{ id: string; prompt: string; answers: string[]; ended: boolean }>> {
  const store = createStore({ home: join(home, '.agent'), warn: (message) => expect.fail(message) })
  const sessions = await Promise.all((await store.list(null)).map(({ session_id }) => store.load(session_id)))
  await store.close()
  return sessions.map((session) => {
    const records = session?.entries.map(({ record }) => record) ?? []
    expect(session?.warnings).toEqual([])
    return {
      id: session?.head.session_id ?? '',
      prompt: session?.head.first_prompt ?? '',
      answers: records.flatMap((record) =>
        record.type === 'reply' ? record.content.map((block) => (block.type === 'text' ? block.text : '')) : [],
      ),
      ended: records.at(-1)?.type === 'turnEnded',
    }
  })
}

/** Runs that all succeeded without a word. */
function expectFine(ends: Ended[]): void {
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, '']))
}

describe('many runs in one home', () => {
  test(`${LANES} processes, ${RUNS} runs each, half of them in one directory: each is kept and can be resumed`, async () => {
    const place = await setUp(echo)
    const lane = async (number: number): Promise<Ended[]> => {
      const dir = number % 2 === 0 ? place.dir : join(place.home, `dir ${number}`)
      mkdirSync(dir, { recursive: true })
      const ends: Ended[] = []
      for (let run = 0; run < RUNS; run++) ends.push(await place.bare(['-C', dir, '-p', `prompt ${number}.${run}`]))
      return ends
    }
    const ends = (await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)))).flat()
    expectFine(ends)
    const ids = ends.map((end) => resultOf(end).session_id)
    expect(new Set(ids).size).toBe(LANES * RUNS)

    const sessions = await stored(place)
    expect(sessions.map(({ id }) => id).sort()).toEqual([...ids].sort())
    for (const { prompt, answers, ended: over } of sessions)
      expect([prompt, answers, over]).toEqual([expect.stringMatching(/^prompt /), [`answer to ${prompt}`], true])

    const again = await inLanes(ids, (id) => place.bare(['--resume', id, '-p', 'again']))
    expectFine(again)
    expect(again.map((end) => resultOf(end).session_id)).toEqual(ids)
    for (const { prompt, answers } of await stored(place))
      expect([prompt, answers]).toEqual([prompt, [`answer to ${prompt}`, 'answer to again']])
    expect(place.model.problems).toEqual([])
    console.log(`${sessions.length} sessions of ${LANES} processes at a time, all kept and resumed`)
  })

  test('while another process writes for three seconds: each waits', async () => {
    const place = await setUp(echo)
    await place.run(['-p', 'first'])
    const unlock = await lockDatabase(join(place.home, '.agent', 'sessions.sqlite'), ['BEGIN IMMEDIATE'])
    const runs = Promise.all(Array.from({ length: 4 }, (_, n) => place.run(['-p', `prompt ${n}`])))
    await sleep(3000)
    await unlock()
    expectFine(await runs)
    expect(await stored(place)).toHaveLength(5)
  })
})

describe('two writers on one session', () => {
  test(`${DUELS} times: one is refused with the pid of the other, and nothing is lost`, async () => {
    let gate: HeldReply | null = null
    const place = await setUp((request) => {
      const text = `answer to ${request.body.messages.at(-1)?.content[0]?.text}`
      if (gate === null) return text
      gate.reply = reply(text)
      return gate
    })
    const { session_id } = resultOf(await place.run(['-p', 'first']))
    const expected = ['answer to first']
    for (let n = 0; n < DUELS; n++) {
      const open = held('')
      gate = open
      const before = place.model.requests.length
      const rivals = ['A', 'B'].map((name) => {
        const prompt = `${name} ${n}`
        const child = startAgent(['--resume', session_id, '-p', prompt], { url: place.model.url, home: place.home })
        return { prompt, pid: child.pid, end: ended(child) }
      })
      const first = await Promise.race(rivals.map(async (rival) => ({ ...rival, done: await rival.end })))
      const winner = rivals.find((rival) => rival.pid !== first.pid) ?? expect.fail('no winner')
      expect([first.done.code, first.done.stderr]).toEqual([
        2,
        expect.stringContaining(`Session ${session_id} is in use by process ${winner.pid} on `),
      ])
      open.release()
      const won = await winner.end
      expect([won.code, resultOf(won).result]).toEqual([0, `answer to ${winner.prompt}`])
      expect(place.model.requests.length).toBe(before + 1)
      expected.push(`answer to ${winner.prompt}`)
    }
    const [session] = await stored(place)
    expect(session?.answers).toEqual(expected)
    expect(place.model.problems).toEqual([])
    console.log(`two writers, ${DUELS} times: one refused each time, ${expected.length} answers kept`)
  })

  test('a fork is free to go on meanwhile', async () => {
    const open = held('first')
    const place = await setUp((_, n) => (n === 1 ? open : 'ok'))
    const { session_id } = resultOf(await place.run(['-p', 'one']))
    const busy = startAgent(['--resume', session_id, '-p', 'two'], { url: place.model.url, home: place.home })
    const end = ended(busy)
    await place.model.waitForRequest(1)
    expect((await place.run(['--resume', session_id, '--fork-session', '-p', 'three'])).code).toBe(0)
    expect((await place.run(['sessions', 'rm', session_id])).stderr).toContain(`process ${busy.pid}`)
    open.release()
    expect((await end).code).toBe(0)
  })
})

describe('readers beside a writer', () => {
  test('always get an intact prefix of its journal', async () => {
    const rounds = 40
    let reads = 0
    const place = await setUp(async ({ body }) => {
      const n = body.messages.filter(({ role }) => role === 'assistant').length
      // The writer goes on as the readers do, however quick the machine is.
      while (reads < n / 8) await new Promise((resolve) => setTimeout(resolve, 5))
      return n < rounds ? reply([effect(`r${n}`)]) : 'done'
    })
    const writer = startAgent(['-C', place.dir, '--yes', '-p', 'write'], { url: place.model.url, home: place.home })
    const end = ended(writer)
    let over = false
    void end.then(() => {
      over = true
    })
    await place.model.waitForRequest(0)
    const id = (await stored(place))[0]?.id ?? expect.fail('no session')
    const seen: Record<string, string[]> = { export: [], trace: [], show: [] }
    while (!over) {
      for (const [name, args] of Object.entries({
        export: ['sessions', 'export', id],
        trace: ['trace', id, '--json'],
        show: ['sessions', 'show', id],
      })) {
        const read = await place.run(args)
        expect([name, read.code, read.stderr]).toEqual([name, 0, ''])
        seen[name]?.push(read.stdout)
      }
      reads++
    }
    expect([(await end).code, effects(place.dir).length]).toEqual([0, rounds])
    for (const [name, args] of [
      ['export', ['sessions', 'export', id]],
      ['trace', ['trace', id, '--json']],
    ] as const) {
      const whole = (await place.run([...args])).stdout
      const prefixes = seen[name] ?? []
      expect(prefixes.length).toBeGreaterThan(2)
      for (const text of prefixes) {
        expect(text.endsWith('\n')).toBe(true)
        for (const line of text.trimEnd().split('\n')) JSON.parse(line)
        if (name === 'export') expect(whole.startsWith(text)).toBe(true)
      }
    }
    expect((await place.run(['--yes', '--continue', '-p', NEW_PROMPT])).code).toBe(0)
  })
})

/** As many at a time as there are lanes. @returns the results in order */
async function inLanes<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return results
}
