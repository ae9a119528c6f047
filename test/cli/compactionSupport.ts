/** What the tests of compaction look at in the requests that the scripted model got. */
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { replay } from '../../src/machines/replay.ts'
import { createStore } from '../../src/services/store/index.ts'
import type { CapturedRequest, FakeModelOptions, MessageOptions } from '../support/fakeModel.ts'
import { type SetUp, setUp as setUpRun } from './setUp.ts'

type Request = Pick<CapturedRequest, 'body'>

/** A phrase of what asks for a summary. */
export const ASK = 'is about to be replaced by a summary'

/** A reply's options with this whole input, most of it from the cache. */
export function input(tokens: number): MessageOptions {
  const cache_read_input_tokens = Math.floor(tokens * 0.6)
  const cache_creation_input_tokens = Math.floor(tokens * 0.3)
  const input_tokens = tokens - cache_read_input_tokens - cache_creation_input_tokens
  return { usage: { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens: 5 } }
}

/** @returns whether a request asks for a summary */
export function asksForSummary(request: Request | undefined): boolean {
  const last = request?.body.messages.at(-1)?.content.at(-1)
  return last?.type === 'text' && String(last.text).includes(ASK)
}

/** @returns `compaction` or `turn` for each request */
export function kinds(requests: readonly Request[]): string[] {
  return requests.map((request) => (asksForSummary(request) ? 'compaction' : 'turn'))
}

/** @returns how often a text occurs in a request's messages */
export function occurrences(request: Request | undefined, text: string): number {
  return JSON.stringify(request?.body.messages ?? []).split(JSON.stringify(text).slice(1, -1)).length - 1
}

/** @returns the texts of a message's text blocks */
export function textsOf(request: Request | undefined, at: number): string[] {
  const content = request?.body.messages.at(at)?.content ?? []
  return content.flatMap((block) => (block.type === 'text' ? [String(block.text)] : []))
}

/** One model, home and project; when the test is over every session of the home must replay as it was. */
export async function setUp(replies: FakeModelOptions['replies']): Promise<SetUp> {
  const all = await setUpRun(replies)
  onTestFinished(() => expectReplays(all.home))
  return all
}

/** Holds the machine to the journals of a home: replayed, each leads to the same states and records. */
async function expectReplays(home: string): Promise<void> {
  const store = createStore({ home: join(home, '.agent'), warn: (message) => expect.fail(message) })
  try {
    for (const { session_id } of await store.list(null)) {
      const { entries = [] } = (await store.load(session_id)) ?? {}
      expect(entries.length).toBeGreaterThan(0)
      expect(replay(entries).disagreement).toBeNull()
    }
  } finally {
    await store.close()
  }
}
