import { afterEach, describe, expect, it } from 'vitest'
import { call, type FakeModel, type FakeModelOptions, reply, startFakeModel, thinking } from './fakeModel.ts'

let model: FakeModel | undefined
afterEach(async () => {
  await model?.close()
})

async function start(options: FakeModelOptions): Promise<FakeModel> {
  model = await startFakeModel(options)
  return model
}

const HELLO = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }

function post(
  server: FakeModel,
  body: unknown,
  headers: Record<string, string> = { 'x-api-key': 'k' },
): Promise<Response> {
  return fetch(`${server.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) })
}

describe('the fake Messages API', () => {
  it('streams a scripted reply as the events of the API', async () => {
    const server = await start({
      replies: [reply([thinking('Hm', 'sig'), 'Héllo', call('bash', { command: 'ls' }, 'a')])],
    })
    const answer = await post(server, { ...HELLO, stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const names = (await answer.text()).split('\n').filter((line) => line.startsWith('event: '))
    expect([...new Set(names)]).toEqual([
      'event: message_start',
      'event: content_block_start',
      'event: content_block_delta',
      'event: content_block_stop',
      'event: message_delta',
      'event: message_stop',
    ])
    expect(server.requests.map(({ raw, path }) => ({ raw, path }))).toEqual([
      { raw: JSON.stringify({ ...HELLO, stream: true }), path: '/v1/messages' },
    ])
  })

  it('answers 500 and says so when its script has ended', async () => {
    const server = await start({ replies: [] })
    const answer = await post(server, HELLO)
    expect([answer.status, await answer.json()]).toEqual([
      500,
      {
        type: 'error',
        error: {
          type: 'api_error',
          message: 'The script of the fake model has no reply for request 0: add one, or look why it was sent.',
        },
      },
    ])
  })
})
