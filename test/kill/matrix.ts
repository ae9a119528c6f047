/** Runs that are killed with -9 at every record and between, and what the next run makes of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { JournalEntry } from '../../src/machines/journal.ts'
import { input } from '../cli/compactionSupport.ts'
import { kindOf, memoryOf, writeNotes } from '../cli/memorySupport.ts'
import { type SetUp, setUp } from '../cli/setUp.ts'
import { type Ended, ended, resultOf, startAgent } from '../support/agent.ts'
import { type CapturedRequest, call, hang, reply, type ScriptedReply } from '../support/fakeModel.ts'
import {
  ALL_DONE,
  brain,
  effect,
  expectAllAnswered,
  expectPromptOnce,
  expectTrueStory,
  furnish,
  latest,
  marked,
  NEW_PROMPT,
  PROMPT,
  type Scenario,
} from './scenario.ts'

/** What ends the run. */
export type Kill =
  /** Right before or after the n-th call of a port, see src/run/faults.ts. */
  | { kind: 'fault'; spec: string }
  /** When the n-th request (from 0) is there: before any byte of its reply, or in the middle of it. */
  | { kind: 'request'; n: number; answer: 'none' | 'half' }
  /** By a tool of the scenario itself, in the middle of its work. */
  | { kind: 'tool' }

/** How the next run begins. */
export const RESUMES = ['with a prompt', 'without one'] as const
export type Resume = (typeof RESUMES)[number]

const KILL = 'kill -9 $PPID; sleep 1'

export const SCENARIOS: Scenario[] = [
  { name: 'one call', steps: [{ calls: [effect('a')] }] },
  { name: 'three calls side by side', steps: [{ calls: [effect('a'), effect('b', 'sleep 0.05'), effect('c')] }] },
  {
    name: 'two rounds with a large result',
    steps: [
      { calls: [effect('a', 'seq 20000'), effect('b')] },
      { calls: [call('write_file', { path: 'w.txt', content: 'x' }, 'toolu_w'), effect('c')] },
    ],
  },
  {
    name: 'a subagent',
    steps: [{ calls: [call('task', { description: 'SUB' }, 'toolu_t'), effect('a')] }],
    tasks: { SUB: [{ calls: [effect('s')] }, { calls: [effect('u'), effect('v')] }] },
  },
  {
    name: 'a compaction',
    steps: [{ calls: [effect('a')], options: input(50_000) }, { calls: [effect('b')] }],
    settings: { compaction: { input_tokens: 20_000 } },
  },
  {
    name: 'memory',
    steps: [{ calls: [effect('a')] }],
    settings: { memory: { enabled: true } },
  },
  {
    // From the fifth round on the results of the first ones are put away, before every call.
    name: 'making room',
    steps: ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ calls: [effect(id, 'seq 100')] })),
    settings: { compaction: { always: true } },
  },
]

/** Scenarios that kill the agent themselves, after a tool's effect and before its record. */
export const SUICIDES: Scenario[] = [
  { name: 'in its only call', steps: [{ calls: [effect('k', KILL)] }] },
  {
    name: 'in one of three calls',
    steps: [{ calls: [effect('a'), effect('k', `sleep 0.1; ${KILL}`), effect('b', 'sleep 5')] }],
  },
  {
    name: "in a subagent's call",
    steps: [{ calls: [call('task', { description: 'SUB' }, 'toolu_t'), effect('a')] }],
    tasks: { SUB: [{ calls: [effect('s')] }, { calls: [effect('k', KILL)] }] },
  },
  {
    name: 'in the round after a compaction',
    steps: [{ calls: [effect('a')], options: input(50_000) }, { calls: [effect('k', KILL)] }],
    settings: { compaction: { input_tokens: 20_000 } },
  },
]

const NOTE = { name: 'work', type: 'project', description: 'How the work is done', body: 'With care.' }
const NEW_NOTE = { name: 'new', type: 'user', description: 'Likes it short', body: 'Be brief.' }

/** The scenario's model, with the side calls of memory. */
function modelOf(scenario: Scenario): (request: CapturedRequest) => ScriptedReply {
  const main = brain(scenario)
  return (request) => {
    switch (kindOf(request)) {
      case 'main':
        return main(request)
      case 'recall':
        return '["work.md"]'
      case 'extract':
        return JSON.stringify([NEW_NOTE])
      case 'consolidate':
        return '[]'
    }
  }
}

/**
 * One case of the matrix: a run that is killed, and a run that goes on.
 * @returns whether the first one was killed: past the last record it ends by itself
 */
export async function killAndResume(scenario: Scenario, kill: Kill, resume: Resume): Promise<boolean> {
  const usual = modelOf(scenario)
  let killed = false
  const half = reply(['Half a reply', effect('never')], { cut: { after: 'json_delta', by: 'stall' } })
  let first: ReturnType<typeof startAgent> | null = null
  const place = await setUp((request, n) => {
    if (killed || kill.kind !== 'request' || n !== kill.n) return usual(request)
    killed = true
    // What is half written has arrived by then.
    setTimeout(() => first?.kill('SIGKILL'), kill.answer === 'half' ? 60 : 0)
    return kill.answer === 'half' ? half : hang()
  })
  const { model, home, dir } = place
  furnish(home, scenario)
  if (scenario.name === 'memory') writeNotes(dir, [NOTE])
  writeFileSync(join(dir, 'AGENTS.md'), 'Be good.\n')
  first = startAgent(['-C', dir, '--yes', '-p', PROMPT], {
    url: model.url,
    home,
    env: kill.kind === 'fault' ? { AGENT_FAULT: kill.spec } : {},
  })
  const end = await ended(first)
  killed = true
  if (end.signal !== 'SIGKILL') {
    expect([end.code, resultOf(end).result, model.problems]).toEqual([0, ALL_DONE, []])
    return false
  }
  expect([end.stdout, model.problems]).toEqual(['', []])
  const session = await latest(home, dir)
  const before = model.requests.length
  const args = resume === 'with a prompt' ? ['-p', NEW_PROMPT] : []
  const next = await place.run(['--yes', '--continue', ...args])
  const requests = model.requests.slice(before)
  if (session === null) expectNoSession(next, requests)
  else expectGoneOn(place, session.entries, resume, next, requests)
  if (scenario.name === 'memory') expectNotesWhole(dir)
  expect(marked(dir)).toEqual([])
  return true
}

/** Killed before the first record: there is nothing to go on with. */
function expectNoSession(next: Ended, requests: CapturedRequest[]): void {
  expect([next.code, requests]).toEqual([2, []])
  expect(next.stderr).toContain('no session to continue')
}

function expectGoneOn(
  { model, dir }: SetUp,
  entries: JournalEntry[],
  resume: Resume,
  next: Ended,
  requests: CapturedRequest[],
): void {
  const mains = requests.filter((request) => kindOf(request) === 'main')
  expect(model.problems).toEqual([])
  if (resume === 'without one' && isOver(entries)) {
    expect([next.code, requests]).toEqual([2, []])
    expect(next.stderr).toContain('is finished')
    return
  }
  expect([next.code, resultOf(next)]).toEqual([0, expect.objectContaining({ result: ALL_DONE, is_error: false })])
  expectTrueStory(entries, mains, dir)
  if (resume === 'without one' && isAnswered(entries)) {
    // Its answer was written: the model is not asked again.
    expect(mains).toEqual([])
    return
  }
  expectAllAnswered(entries, mains)
  expectPromptOnce(mains[0], PROMPT)
  if (resume === 'with a prompt') expectPromptOnce(mains.at(-1), NEW_PROMPT)
}

function isOver(entries: JournalEntry[]): boolean {
  return entries.at(-1)?.record.type === 'turnEnded'
}

function isAnswered(entries: JournalEntry[]): boolean {
  const last = entries.map(({ record }) => record).findLast((record) => record.type === 'reply')
  return last?.type === 'reply' && last.stop_reason === 'end_turn'
}

/** Each memory is there once and whole, and the index names no other. */
function expectNotesWhole(dir: string): void {
  const { 'MEMORY.md': index = '', ...files } = memoryOf(dir)
  const notes = Object.keys(files).filter((name) => name.endsWith('.md'))
  expect(notes).toEqual(expect.arrayContaining(['work.md']))
  expect(notes.length).toBeLessThanOrEqual(2)
  const named = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, name]) => name)
  expect(new Set(named).size).toBe(named.length)
  for (const name of named) expect(notes).toContain(name)
}
