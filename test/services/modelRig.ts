/** What the tests of the model service share: a server, a model, one call and what could be seen of it. */
import { afterEach, expect } from 'vitest'
import { createModel, type Model, type ModelOptions } from '../../src/services/model/index.ts'
import type { ModelRequest, Progress } from '../../src/services/ports.ts'
import { type FakeModel, type FakeModelOptions, startFakeModel } from '../support/fakeModel.ts'

export const KEY = 'sk-ant-test-SECRET'

export const REQUEST: ModelRequest = {
  model: 'claude-sonnet-5',
  max_tokens: 1000,
  system: 'You are an agent.',
  tools: [{ name: 'bash', description: 'Runs a command.', input_schema: { type: 'object', properties: {} } }],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Grüße 😀' }] }],
}

const open: Array<{ close(): unknown }> = []

/** Closes something when the test is over, the newest first. */
export function closeLater<T extends { close(): unknown }>(each: T): T {
  open.push(each)
  return each
}

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

export async function serve(
  replies: FakeModelOptions['replies'],
  options: Partial<FakeModelOptions> = {},
): Promise<FakeModel> {
  return closeLater(await startFakeModel({ replies, ...options }))
}

/** A model with two seconds of retries; its first wait is then 8 ms. */
export function modelAt(baseUrl: string, options: Partial<ModelOptions> = {}): Model {
  return closeLater(createModel({ baseUrl, apiKey: KEY, retryMs: 2000, env: {}, ...options }))
}

interface RunOptions extends Partial<ModelOptions> {
  request?: ModelRequest
  maxRetries?: number
  signal?: AbortSignal
}

/** One call of a model: the record it ended in, and the events seen. */
export async function callOnce(model: Model, options: RunOptions = {}) {
  const seen: Progress[] = []
  const { record } = await model.call(options.request ?? REQUEST, {
    signal: options.signal ?? new AbortController().signal,
    observe: (event) => seen.push(event),
    ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
  })
  return { record, seen, types: seen.map(({ type }) => type), text: shownText(seen) }
}

/** One call against a server with this script. */
export async function run(replies: FakeModelOptions['replies'], options: RunOptions = {}) {
  const { request, maxRetries, signal, ...modelOptions } = options
  const server = await serve(replies)
  const given = {
    ...(request && { request }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(signal && { signal }),
  }
  const called = await callOnce(modelAt(server.url, modelOptions), given)
  expect(server.problems).toEqual([])
  return { server, ...called }
}

/** What a reader saw in the end: text that was discarded is gone. */
export function shownText(seen: Progress[]): string {
  return seen.reduce((shown, event) => {
    if (event.type === 'textDiscarded') return ''
    return event.type === 'text' ? shown + event.text : shown
  }, '')
}

/** The record of the fake's first reply, its time aside. */
export function replied(content: unknown[], more: Record<string, unknown> = {}) {
  return {
    type: 'reply',
    id: 'msg_0',
    model: 'claude-sonnet-5',
    content,
    stop_reason: 'end_turn',
    usage: { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    measured: true,
    ms: expect.any(Number),
    ...more,
  }
}

export function callFailed(message: unknown, status?: number, reason: 'api_error' | 'too_long' = 'api_error') {
  return { type: 'callFailed', reason, message, ...(status === undefined ? {} : { status }), ms: expect.any(Number) }
}
