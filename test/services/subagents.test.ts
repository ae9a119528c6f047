/** Subagents in one process: what they leave in memory, and how many work at a time. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { createTaskOutputs } from '../../src/services/compaction/taskOutputs.ts'
import { createContext } from '../../src/services/context/index.ts'
import type { ModelPort, Progress } from '../../src/services/ports.ts'
import { limitConcurrency } from '../../src/services/provide/concurrency.ts'
import { createSubagents } from '../../src/services/provide/subagent.ts'
import { createStore } from '../../src/services/store/index.ts'
import { createTools, SUBAGENT_TOOLS } from '../../src/services/tools/registry.ts'
import { call, reply } from '../support/fakeModel.ts'
import { modelAt, serve } from './modelRig.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

async function heapInUse(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}

/** Subagents over a real server, store and file system. */
async function open(replies: Parameters<typeof serve>[0], changed: (model: ModelPort) => ModelPort = (model) => model) {
  const model = await serve(replies)
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-subagents-')))
  const store = createStore({ home: join(top, 'home'), warn: () => {} })
  onTestFinished(async () => {
    await store.close()
    rmSync(top, { recursive: true, force: true })
  })
  const tools = createTools({ builtIn: SUBAGENT_TOOLS })
  const context = createContext({
    cwd: top,
    tools: tools.specs(),
    now: () => new Date(),
    env: process.env,
    home: top,
    appendSystemPrompt: null,
    trusted: false,
    warn: () => {},
    role: 'subagent',
  })
  const seen: Progress[] = []
  const subagents = createSubagents({
    parent: {
      session: { session_id: '00000000-0000-4000-8000-000000000000', cwd: top, model: 'x' },
      limits: { max_turns: 250, input_tokens: 100_000 },
      maxOutputTokens: 1000,
      context,
      model: changed(modelAt(model.url)),
      tools,
      toolEnv: { cwd: top, childEnv: process.env, seen: new Map() },
      permissions: {
        decide: async () => ({ kind: 'allow' }),
        settle: async () => ({ kind: 'allow' }),
        hides: () => false,
        approvals: () => [],
      },
      outputs: createTaskOutputs(top),
      observe: (event) => seen.push(event),
    },
    context,
    tools,
    hold: (id) => store.hold(id),
  })
  return { model, store, subagents, seen }
}

test('a hundred subagents leave nothing in memory', async () => {
  const body = 'x'.repeat(100_000)
  const { model, subagents, seen } = await open((request) =>
    request.body.messages.length === 1 ? reply([body, call('no_such_tool', {})]) : `done ${body}`,
  )
  const { signal } = new AbortController()
  const runSome = async (from: number, to: number): Promise<number> => {
    for (let i = from; i < to; i++) {
      const { kind, content } = await subagents.run({ description: `task ${i}`, id: `t${i}`, signal })
      expect([kind, String(content).slice(0, 6)]).toEqual(['ok', 'done x'])
      // What the test itself keeps.
      model.requests.length = 0
      seen.length = 0
    }
    return heapInUse()
  }
  const before = await runSome(0, 10)
  const after = await runSome(10, 110)
  // Each conversation has more than 200,000 characters: kept, a hundred of them would be 20 MB.
  expect(after - before).toBeLessThan(3_000_000)
})

test('a bug that breaks the machine of one is told to the parent, with what it had cost', async () => {
  const { subagents } = await open([reply([call('no_such_tool', {})]), 'never folded'], (model) => {
    let calls = 0
    return {
      call: async (...args) => {
        const outcome = await model.call(...args)
        // Adding up the usage throws in the middle of a transition.
        if (++calls === 2) Object.assign(outcome.record, { usage: null })
        return outcome
      },
    }
  })
  const { signal } = new AbortController()
  const result = await subagents.run({ description: 'break', id: 't', signal })
  expect(result).toMatchObject({
    kind: 'error',
    content: expect.stringMatching(/^The subagent's work is unfinished: it failed \(.*null/),
    delegated: { usage: { output_tokens: expect.any(Number) }, denials: [] },
  })
  expect(result.delegated?.usage.output_tokens).toBeGreaterThan(0)
})

test('those that wait for their turn when the run is interrupted never start', async () => {
  const { model, store, subagents } = await open(() => ({ kind: 'hang' }))
  const stop = new AbortController()
  const all = Array.from({ length: 15 }, (_, i) =>
    subagents.run({ description: `task ${i}`, id: `t${i}`, signal: stop.signal }),
  )
  await model.waitForRequest(9)
  stop.abort()
  await subagents.settled()
  expect((await Promise.all(all)).map(({ kind, content }) => [kind, String(content).slice(0, 57)])).toEqual(
    all.map(() =>
      ['error', "The subagent's work is unfinished: it was interrupted. Wha"].map((text) => text.slice(0, 57)),
    ),
  )
  expect(model.requests).toHaveLength(10)
  expect(await store.list(null)).toHaveLength(10)
})

test('work beyond the bound starts in the order it came, also where work before it fails', async () => {
  const limited = limitConcurrency(2)
  const begun: number[] = []
  const gates = Array.from({ length: 5 }, () => {
    let open: () => void = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    return { open, opened }
  })
  const all = gates.map(({ opened }, i) =>
    limited(async () => {
      begun.push(i)
      await opened
      if (i === 0) throw new Error('broken')
      return i
    }).catch((error: Error) => error.message),
  )
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  await settle()
  expect(begun).toEqual([0, 1])
  gates[0]?.open()
  await settle()
  expect(begun).toEqual([0, 1, 2])
  for (const { open } of gates) open()
  expect(await Promise.all(all)).toEqual(['broken', 1, 2, 3, 4])
  expect(begun).toEqual([0, 1, 2, 3, 4])
})
