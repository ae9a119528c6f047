/**
 * Work that leaves a trace for each thing done, and a model that asks for nothing twice: after whatever ended a run,
 * the trace, the journal and the next request must tell the same story.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { JournalEntry } from '../../src/machines/journal.ts'
import type { LoadedSession } from '../../src/services/ports.ts'
import { createStore } from '../../src/services/store/index.ts'
import { asksForSummary } from '../cli/compactionSupport.ts'
import {
  type CapturedRequest,
  call,
  type MessageOptions,
  type ReplyBlock,
  reply,
  type ScriptedReply,
} from '../support/fakeModel.ts'

export const PROMPT = 'do the work'
export const NEW_PROMPT = 'go on'
export const ALL_DONE = 'all done'

export interface Step {
  calls: ReplyBlock[]
  options?: MessageOptions
}

export interface Scenario {
  name: string
  /** What the main conversation asks for, step by step, until it says that all is done. */
  steps: Step[]
  /** The same for subagents, whose task is the word. */
  tasks?: Record<string, Step[]>
  /** The user's settings.json. */
  settings?: object
}

/** A call whose effect is a line of its own in `log`; the same id is never given twice. */
export function effect(id: string, then = ''): ReplyBlock {
  return call('bash', { command: `echo toolu_${id} >> log; ${then}\necho did toolu_${id}` }, `toolu_${id}`)
}

/** What the model says next: the first step that the conversation does not know of. */
export function brain({ steps, tasks = {} }: Scenario): (request: Pick<CapturedRequest, 'body'>) => ScriptedReply {
  return (request) => {
    const seen = JSON.stringify(request.body.messages)
    if (asksForSummary(request)) return `SUMMARY: done so far: ${[...new Set(seen.match(/toolu_\w+/g))].join(' ')}`
    const topic = String(request.body.messages[0]?.content[0]?.text)
    const next = (tasks[topic] ?? steps).find(({ calls }) => !calls.some((one) => seen.includes(idOf(one))))
    return next === undefined ? ALL_DONE : reply(next.calls, next.options)
  }
}

function idOf(block: ReplyBlock): string {
  return block.kind === 'call' ? (block.id ?? '') : ''
}

/** Writes the scenario's settings into a home. */
export function furnish(home: string, { settings }: Scenario): void {
  if (settings === undefined) return
  mkdirSync(join(home, '.agent'), { recursive: true })
  writeFileSync(join(home, '.agent', 'settings.json'), JSON.stringify(settings))
}

/** The effects so far, in their order. */
export function effects(dir: string): string[] {
  return read(join(dir, 'log')).split('\n').slice(0, -1)
}

/** A file's text, '' where there is none. */
export function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Processes whose command line holds the marker. */
export function marked(marker: string): string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/cmdline`).includes(marker))
}

/** The session that `--continue` would take, with its records; null where there is none. Every record must be intact. */
export async function latest(home: string, dir: string): Promise<LoadedSession | null> {
  const warnings: string[] = []
  const store = createStore({ home: join(home, '.agent'), warn: (message) => void warnings.push(message) })
  const head = await store.latest(dir)
  const session = head === null ? null : await store.load(head.session_id)
  await store.close()
  expect([...warnings, ...(session?.warnings ?? [])]).toEqual([])
  return session
}

interface Told {
  content: unknown
  is_error: boolean
}

/** What the model was told of each call, in the last request that has its result. */
export function told(requests: Array<Pick<CapturedRequest, 'body'>>): Map<string, Told> {
  const results = new Map<string, Told>()
  for (const { body } of requests) {
    for (const { content } of body.messages) {
      for (const block of content) {
        if (block.type === 'tool_result')
          results.set(String(block.tool_use_id), { content: block.content, is_error: block.is_error === true })
      }
    }
  }
  return results
}

/**
 * Holds the story that the model is told after a run was ended to what was written and what was done.
 * @param entries the journal as the ended run left it
 * @param requests those of the run that went on
 */
export function expectTrueStory(entries: JournalEntry[], requests: CapturedRequest[], dir: string): void {
  const done = effects(dir)
  expect(new Set(done).size, `an effect happened twice: ${done}`).toBe(done.length)
  const results = told(requests)
  for (const { record } of entries) {
    const said = record.type === 'toolFinished' ? results.get(record.id) : undefined
    if (record.type !== 'toolFinished' || said === undefined) continue
    const place = /^\[Old result put away\. It is in (\S+) /.exec(String(said.content))?.[1]
    const content = place === undefined ? said.content : read(join(dir, place))
    expect({ ...said, content }).toEqual({ content: record.content, is_error: record.is_error })
  }
  for (const [id, { content, is_error }] of results) {
    const times = done.filter((line) => line === id).length
    const text = String(content)
    if (!is_error) {
      if (text.includes(`did ${id}`)) expect([id, times]).toEqual([id, 1])
    } else if (text.startsWith('Never started')) expect([id, times]).toEqual([id, 0])
    else expect([id, text]).toEqual([id, expect.stringMatching(/^Interrupted: |^The subagent's work is unfinished/)])
  }
}

/** Every call that the journal has is answered in the requests after it, unless a summary took its place. */
export function expectAllAnswered(entries: JournalEntry[], requests: CapturedRequest[]): void {
  const results = told(requests)
  const summarised = entries.some(({ record }) => record.type === 'compacted')
  const calls = entries.flatMap(({ record }) =>
    record.type === 'reply' ? record.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])) : [],
  )
  if (requests.length > 0 && !summarised) expect([...results.keys()]).toEqual(expect.arrayContaining(calls))
}

/** The prompt as typed is in a request once, whether as a message or carried beside a summary. */
export function expectPromptOnce(request: CapturedRequest | undefined, prompt: string): void {
  const blocks = request?.body.messages.flatMap(({ content }) => content) ?? []
  expect(blocks.filter((block) => block.type === 'text' && block.text === prompt)).toHaveLength(1)
}

interface RawDatabase {
  all(...args: unknown[]): void
  close(callback: () => void): void
}

/** Runs the statements on a database of ours and keeps it open, so that their locks hold. @returns gives it free */
export async function lockDatabase(file: string, statements: string[]): Promise<() => Promise<void>> {
  const { Database } = createRequire(import.meta.url)('sqlite3')
  const database: RawDatabase = new Database(file)
  const run = (text: string) =>
    new Promise<void>((resolve, reject) =>
      database.all(text, (error: Error | null) => (error ? reject(error) : resolve())),
    )
  for (const text of statements) await run(text)
  let closed = false
  const unlock = async () => {
    if (closed) return
    closed = true
    await run('COMMIT')
    await new Promise<void>((resolve) => database.close(resolve))
  }
  onTestFinished(unlock)
  return unlock
}
