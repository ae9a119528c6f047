import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GraphFormat, graphCommand } from '../../src/commands/graph.ts'
import type { LookDeps } from '../../src/commands/look.ts'
import { replayCommand } from '../../src/commands/replay.ts'
import { traceCommand } from '../../src/commands/trace.ts'
import type { NewEntry } from '../../src/machines/journal.ts'
import { createStepper } from '../../src/machines/stepper.ts'
import type { StorePort } from '../../src/services/ports.ts'
import { createStore } from '../../src/services/store/index.ts'
import { displayWidth } from '../../src/services/text.ts'
import { journalOf } from '../machines/starts.ts'
import { Capture } from '../support/capture.ts'

const ANSWERED = '1111111a-0000-4000-8000-000000000001'
const KILLED = '1111111b-0000-4000-8000-000000000002'
const CHANGED = '22222222-0000-4000-8000-000000000003'
const HOSTILE = '33333333-0000-4000-8000-000000000004'
const EVIL = 'do \u001b]0;owned\u0007\u001b[2J\r\nit \u202e now 漢字'

let home: string
let store: StorePort
const stepper = createStepper()

async function save(session_id: string, entries: NewEntry[]): Promise<void> {
  const held = await store.hold(session_id)
  if (!held.ok) throw new Error(held.message)
  const head = { cwd: '/d', model: 'm', turns: 1, first_prompt: 'do 1', gauge: 0 }
  await held.value.append(entries, head)
  await held.value.release()
}

beforeAll(async () => {
  home = await realpath(await mkdtemp(path.join(tmpdir(), 'looking-')))
  store = createStore({ home, warn: () => {} })
  const answered = journalOf(stepper, 'an answered session')
  await save(ANSWERED, answered)
  await save(KILLED, journalOf(stepper, 'a session killed while its tools ran'))
  await save(
    CHANGED,
    answered.map((entry) => (entry.record.type === 'reply' ? { ...entry, in: 'runningTool' } : entry)),
  )
  const hostile = answered.map((entry): NewEntry => {
    const { record } = entry
    if (record.type !== 'prompt') return entry
    return { ...entry, record: { ...record, text: EVIL, blocks: [{ type: 'text', text: EVIL }] } }
  })
  await save(HOSTILE, hostile)
})

afterAll(async () => {
  await store.close()
  await rm(home, { recursive: true, force: true })
})

async function look(run: (deps: LookDeps) => Promise<number>, deps: Partial<LookDeps> = {}) {
  const stdout = new Capture()
  const stderr = new Capture()
  const code = await run({ store, stdout, stderr, stdoutIsTty: false, env: {}, ...deps })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

const trace = (id: string, json = false, deps: Partial<LookDeps> = {}) =>
  look((all) => traceCommand({ id, json }, all), deps)
const replayed = (id: string, at: string | null = null, json = true, deps: Partial<LookDeps> = {}) =>
  look((all) => replayCommand({ id, at, json }, all), deps)
const graph = (format: GraphFormat, session: string | null = null) =>
  look((all) => graphCommand({ format, session }, { ...all, store: () => store }))

describe('agent trace', () => {
  it('prints an aligned line a transition that fits 80 columns', async () => {
    const { code, stdout, stderr } = await trace(ANSWERED)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.length).toBe(7)
    expect(lines[0]).toMatch(/^ {2}1 loadingContext→persisting loadContext done {15,}do 1$/)
    expect(lines[2]).toBe('  3 checkingBudget→calling    always')
    expect(lines[4]).toMatch(/^ {2}5 calling→persisting {8}callModel done .* 110 end_turn: here/)
    expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([])
  })

  it('prints JSON lines of the shape of the contract, each beginning where the last one ended', async () => {
    const { stdout } = await trace(ANSWERED, true)
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(lines.slice(1).map(({ from }) => from)).toEqual(lines.slice(0, -1).map(({ to }) => to))
    expect(lines[4]).toEqual({
      n: 5,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      from: 'calling',
      event: 'xstate.done.actor.callModel',
      to: 'persisting',
      ms: expect.any(Number),
      tokens: 110,
      detail: 'end_turn: here it is',
    })
    expect(lines.at(-1)).toMatchObject({ to: 'done', detail: 'isDone' })
  })

  it('shows a session that was killed, or is still running, up to where it is', async () => {
    const { code, stdout } = await trace(KILLED)
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/runningTool→runningTool +toolFinished +(\S+ +)?bash: ok$/)
  })

  it('lets no control sequence of a session reach the terminal', async () => {
    const { stdout } = await trace(HOSTILE, false, { stdoutIsTty: true, columns: 100, env: { NO_COLOR: '1' } })
    expect(stdout).not.toMatch(/[\u001b\u0007\r\u202e]/)
    expect(stdout.split('\n').filter((line) => displayWidth(line) > 100)).toEqual([])
  })

  it('has colours on a terminal, and only there', async () => {
    expect((await trace(ANSWERED, false, { stdoutIsTty: true })).stdout).toContain('\u001b[2m')
    expect((await trace(ANSWERED)).stdout).not.toContain('\u001b')
  })
})

describe('agent replay', () => {
  it('shows the state and the conversation after the last transition', async () => {
    const { code, stdout, stderr } = await replayed('1111111a')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      session_id: ANSWERED,
      at: 7,
      of: 7,
      state: 'done',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'do 1' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'here it is' }] },
      ],
      matches: true,
    })
  })

  it('shows them after any transition before it, and none before the first', async () => {
    expect(JSON.parse((await replayed(ANSWERED, '3')).stdout)).toMatchObject({
      at: 3,
      state: 'calling',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'do 1' }] }],
    })
    expect(JSON.parse((await replayed(ANSWERED, '0')).stdout)).toMatchObject({ state: 'loadingContext', messages: [] })
  })

  it('refuses a transition that is not there, or no number', async () => {
    expect(await replayed(ANSWERED, '8')).toEqual({
      code: 2,
      stdout: '',
      stderr: `agent: --at 8 is beyond the end: this session has 7 transitions (agent trace ${ANSWERED}).\n`,
    })
    for (const at of ['-1', '1.5', 'two', ''])
      expect(await replayed(ANSWERED, at)).toEqual({
        code: 2,
        stdout: '',
        stderr: `agent: --at is the number of a transition, from 0 to 7, not ${JSON.stringify(at)}.\n`,
      })
  })

  it('names the first transition where the recording and the machine disagree', async () => {
    const { code, stdout, stderr } = await replayed(CHANGED)
    const message = 'Record 3 (reply) was recorded in runningTool, but the machine is in calling.'
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `agent: The recording and the machine disagree at transition 5. ${message}\n`,
    })
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'calling',
      matches: false,
      disagreement: { transition: 5, record: 3, message },
    })
    expect((await trace(CHANGED)).code).toBe(1)
  })

  it('is readable: calls, results, and nothing wider than the terminal', async () => {
    const { stdout } = await replayed(KILLED, null, false)
    expect(stdout).toContain(`Session ${KILLED} after transition 9 of 9: runningTool\n`)
    expect(stdout).toContain('\nassistant\n  here it is\n  → bash a\n  → bash b\n  → bash c\n')
    expect(stdout).toContain('\nuser\n  ← result\n  out\n')
    const hostile = (await replayed(HOSTILE, null, false)).stdout
    expect(hostile).not.toMatch(/[\u001b\u0007\r\u202e]/)
    expect(hostile.split('\n').filter((line) => displayWidth(line) > 80)).toEqual([])
  })
})

describe('A session', () => {
  it('that is not there, or is not one, is named with what to do', async () => {
    for (const run of [trace, replayed]) {
      expect(await run('99')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('"99"') })
      expect(await run('1111')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(KILLED) })
    }
    expect(await graph('json', '99')).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('agent graph', () => {
  it('draws the machine in every format, without a store', async () => {
    const closed = () => {
      throw new Error('the store was opened')
    }
    const draw = (format: GraphFormat) =>
      look((all) => graphCommand({ format, session: null }, { ...all, store: closed }))
    expect((await draw('mermaid')).stdout).toMatch(/^stateDiagram-v2\n/)
    expect((await draw('dot')).stdout).toMatch(/^digraph agent \{\n/)
    expect((await draw('svg')).stdout).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
    const { states, transitions } = JSON.parse((await draw('json')).stdout)
    expect(states).toContain('checkingBudget')
    expect(transitions).toContainEqual({
      from: 'persisting',
      event: 'xstate.done.actor.persist',
      guard: 'hasOpenCalls',
      to: 'runningTool',
    })
  })

  it('marks and counts where a session has been', async () => {
    const { code, stdout } = await graph('json', '1111111a')
    const { session_id, visits, transitions } = JSON.parse(stdout)
    expect({ code, session_id }).toEqual({ code: 0, session_id: ANSWERED })
    expect(visits).toMatchObject({ loadingContext: 1, persisting: 3, checkingBudget: 1, calling: 1, done: 1 })
    const counted = transitions.filter((one: { count: number }) => one.count > 0).length
    expect(counted).toBe(7)
    expect((await graph('svg', ANSWERED)).stdout).toContain('class="node final visited"')
    expect((await graph('mermaid', ANSWERED)).stdout).toContain('persist done [isDone] ×1')
  })
})
