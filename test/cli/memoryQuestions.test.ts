/** Questions 5 to 8 of the notes on context and capability, asked of captured requests and files. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { call, expectPrefixStable, held, reply } from '../support/fakeModel.ts'
import { kindOf, memoryOf, setUpMemory, textsOf, writeNotes } from './memorySupport.ts'

const LONG = { usage: { input_tokens: 5000, output_tokens: 5 } }
const FACT = {
  name: 'port',
  type: 'project',
  description: 'The port of the server',
  body: 'The server listens on 7777.',
}

/** A turn of two rounds whose conversation is compacted in the middle. */
async function compacted(extract: string) {
  const agent = await setUpMemory({
    main: [reply(['The server listens on 7777.', call('bash', { command: 'true' })], LONG), 'SUMMARY', 'Done.'],
    extract,
  })
  mkdirSync(join(agent.dir, '.memory'))
  mkdirSync(join(agent.dir, '.agent'))
  writeFileSync(join(agent.dir, '.agent', 'settings.json'), '{"compaction": {"input_tokens": 1000}}')
  const end = await agent.run(['--yes', '-p', 'find the port'])
  expect(resultOf(end)).toMatchObject({ result: 'Done.', compactions: 1 })
  return agent
}

test('5: a compaction shortens this conversation and keeps nothing; the extraction keeps and shortens nothing', async () => {
  const none = await compacted('[]')
  expect(memoryOf(none.dir)).toEqual({})
  const some = await compacted(JSON.stringify([FACT]))
  expect(memoryOf(some.dir)['port.md']).toContain('The server listens on 7777.')
  for (const agent of [none, some]) {
    expect(JSON.stringify(agent.sent('main').at(-1)?.body.messages)).not.toContain('7777')
  }
})

test('6: the extraction sees what the compaction has taken out of the conversation', async () => {
  const agent = await compacted('[]')
  const [prompt = ''] = textsOf(agent.sent('extract')[0], 0)
  expect(prompt).toContain('{"who":"agent","text":"The server listens on 7777."}')
  expect(prompt).not.toContain('SUMMARY')
})

test('7: without .memory/MEMORY.md there is no memory in the system prompt, though there are memories', async () => {
  const agent = await setUpMemory()
  writeNotes(agent.dir, [FACT])
  await agent.run(['-p', 'hi'])
  rmSync(join(agent.dir, '.memory', 'MEMORY.md'))
  await agent.run(['-p', 'hi'])
  const [first = '', second = ''] = agent.sent('main').map(({ body }) => body.system)
  expect(first.endsWith('- [port](port.md) — The port of the server')).toBe(true)
  expect(second).not.toContain('emory of earlier sessions')
  expect(first.startsWith(second)).toBe(true)
})

test('8: the prompt that is kept here is one thing, the cache at the server another: the marks stand in messages', async () => {
  const rounds = Array.from({ length: 2 }, () => reply([call('bash', { command: 'true' })]))
  const agent = await setUpMemory({ main: [...rounds, 'done'], recall: '["port"]' })
  writeNotes(
    agent.dir,
    Array.from({ length: 200 }, (_, i) => ({ ...FACT, name: i === 0 ? 'port' : `port${i}` })),
  )
  await agent.run(['--yes', '-p', 'which port?'])
  const main = agent.sent('main')
  expect(main).toHaveLength(3)
  expectPrefixStable(main)
  for (const { body } of main) {
    expect(typeof body.system).toBe('string')
    expect(JSON.stringify([body.system, body.tools])).not.toContain('cache_control')
    expect(body.messages[0]?.content.map(({ text }) => String(text).split('\n')[0])).toEqual([
      'which port?',
      '<relevant_memories>',
    ])
  }
  expect(main.map(({ raw }) => raw.match(/"cache_control"/g)?.length)).toEqual([1, 2, 2])
})

test('a run that is killed before it has kept anything does so when the session goes on, with a prompt or without', async () => {
  for (const more of [[], ['-p', 'and now?']]) {
    const extract = held('[]')
    const agent = await setUpMemory({ main: ['The server listens on 7777.', 'now'], extract })
    mkdirSync(join(agent.dir, '.memory'))
    const child = startAgent(['-C', agent.dir, '-p', 'the port, please'], { url: agent.model.url, home: agent.home })
    const over = ended(child)
    await agent.model.waitForRequest(1)
    child.kill('SIGKILL')
    await over
    agent.answer({ main: 'now', extract: JSON.stringify([FACT]) })
    const end = await agent.run(['-c', ...more])
    expect(end.code).toBe(0)
    expect(resultOf(end).result).toBe(more.length === 0 ? 'The server listens on 7777.' : 'now')
    const [prompt = ''] = textsOf(agent.sent('extract').at(-1), 0)
    expect(prompt).toContain('{"who":"user","text":"the port, please"}')
    expect(prompt).toContain('{"who":"agent","text":"The server listens on 7777."}')
    expect(existsSync(join(agent.dir, '.memory', 'port.md'))).toBe(true)
    expect(agent.model.requests.map(kindOf).filter((kind) => kind === 'main')).toHaveLength(more.length === 0 ? 1 : 2)
    extract.release()
  }
})
