import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { apiError, hang, held, reply, type ScriptedReply } from '../support/fakeModel.ts'
import { kindOf, memoryOf, type Note, setUpMemory, writeNotes } from './memorySupport.ts'

const TWELVE: Note[] = Array.from({ length: 12 }, (_, i) => ({
  name: `fact-${i}`,
  description: `Number ${i} of the facts`,
  body: `The fact with the number ${i} is that it is one of twelve.`,
}))

const MERGED = [
  {
    name: 'facts',
    type: 'project',
    description: 'All of the facts',
    body: 'There are twelve facts, with numbers from 0 to 11.',
  },
  {
    name: 'fact-3',
    type: 'project',
    description: 'The third one',
    body: 'Fact 3 stays on its own, since it matters most.',
  },
]

const lines = (dir: string) =>
  [...(memoryOf(dir)['MEMORY.md'] ?? '').matchAll(/^- \[.*\]\((.*)\) — /gm)].map((match) => match[1]).sort()

describe('twelve memories', () => {
  test('are consolidated at the end of a turn, once, and the usage counts', async () => {
    const agent = await setUpMemory({
      main: reply('ok', { usage: { input_tokens: 100, output_tokens: 1 } }),
      extract: reply('[]', { usage: { input_tokens: 10, output_tokens: 1 } }),
      recall: reply('[]', { usage: { input_tokens: 1000, output_tokens: 1 } }),
      consolidate: reply(JSON.stringify(MERGED), { usage: { input_tokens: 1, output_tokens: 1 } }),
    })
    writeNotes(agent.dir, TWELVE)
    const end = await agent.run(['-p', 'sing of a fact'])
    expect(end).toMatchObject({ code: 0, stderr: 'remembered: 12 memories became 2\n' })
    expect(resultOf(end)).toMatchObject({ num_turns: 1, usage: { input_tokens: 1111, output_tokens: 4 } })
    expect(agent.model.requests.map(kindOf)).toEqual(['recall', 'main', 'extract', 'consolidate'])
    expect(Object.keys(memoryOf(agent.dir)).sort()).toEqual(['MEMORY.md', 'fact-3.md', 'facts.md'])
    expect(memoryOf(agent.dir)['fact-3.md']).toContain('Fact 3 stays on its own')
    expect(lines(agent.dir)).toEqual(['fact-3.md', 'facts.md'])
    await agent.run(['-p', 'sing of a fact'])
    expect(agent.sent('consolidate')).toHaveLength(1)
    expect(agent.model.problems).toEqual([])
  })

  const faults: Array<[string, ScriptedReply]> = [
    ['an empty list', '[]'],
    ['prose', 'They are all fine.'],
    ['one item that is not whole', JSON.stringify([MERGED[0], { name: 'x' }])],
    ['a list that keeps next to nothing', JSON.stringify([{ name: 'x', type: 'user', description: 'x', body: 'x' }])],
    ['a cut list', reply(JSON.stringify(MERGED).slice(0, 150), { stop_reason: 'max_tokens' })],
    ['a refusal', reply('[]', { stop_reason: 'refusal' })],
    ['an error', apiError(500, 'api_error', 'broken')],
    ['no answer', hang()],
  ]
  test.each(faults)('stay as they are, byte for byte, where the model gives %s', async (_, consolidate) => {
    const agent = await setUpMemory({ consolidate })
    writeNotes(agent.dir, TWELVE)
    const before = memoryOf(agent.dir)
    const end = await agent.run(['-p', 'sing of a fact'], { env: { AGENT_SIDE_CALL_MS: '1500' } })
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
    expect(resultOf(end)).toMatchObject({ is_error: false, result: 'ok' })
    expect(memoryOf(agent.dir)).toEqual(before)
    expect(agent.sent('consolidate').length).toBeGreaterThan(0)
  })

  test('stay as they are where one is edited while the model thinks', async () => {
    const consolidate = held(JSON.stringify(MERGED))
    const agent = await setUpMemory({ consolidate })
    writeNotes(agent.dir, TWELVE)
    const run = agent.run(['-p', 'sing of a fact'])
    await agent.model.waitForRequest(3)
    writeFileSync(join(agent.dir, '.memory', 'fact-7.md'), 'Edited by hand.')
    const before = memoryOf(agent.dir)
    consolidate.release()
    const end = await run
    expect(end.code).toBe(0)
    expect(memoryOf(agent.dir)).toEqual(before)
  })

  test('killed at any time of the run, they are the old set or the new one at the next start', async () => {
    for (const wait of [0, 5, 10, 15, 20, 30, 40, 60]) {
      const consolidate = held(JSON.stringify(MERGED))
      const agent = await setUpMemory({ consolidate })
      writeNotes(agent.dir, TWELVE)
      const child = startAgent(['-C', agent.dir, '-p', 'sing of a fact'], { url: agent.model.url, home: agent.home })
      const over = ended(child)
      await agent.model.waitForRequest(3)
      consolidate.release()
      await new Promise((resolve) => setTimeout(resolve, wait))
      child.kill('SIGKILL')
      await over
      const list = await agent.run(['memory', '--json'])
      const files = (JSON.parse(list.stdout) as Array<{ file: string }>).map(({ file }) => file)
      const sets = [TWELVE.map(({ name }) => `${name}.md`).sort(), ['fact-3.md', 'facts.md']]
      expect(sets).toContainEqual(files)
      expect(lines(agent.dir)).toEqual(files)
    }
  })
})

test('ten conversations, each a process of its own, keep each fact once and find it again', async () => {
  const agent = await setUpMemory()
  mkdirSync(join(agent.dir, '.memory'))
  for (let i = 0; i < 9; i++) {
    const fact = {
      name: `topic${i}`,
      type: 'project',
      description: `What topic${i} is`,
      body: `Topic${i} is ${i * 11}.`,
    }
    const again = { name: `topic${i - 1}`, type: 'project', description: `Told again ${i}`, body: `Twice ${i}.` }
    agent.answer({ recall: `["topic${i - 1}.md"]`, extract: JSON.stringify(i === 0 ? [fact] : [again, fact]) })
    const end = await agent.run(['-p', `topic${i} is ${i * 11}; what was topic${i - 1}?`])
    expect(end.code).toBe(0)
    const message = JSON.stringify(agent.sent('main').at(-1)?.body.messages)
    expect(message.includes(`Topic${i - 1} is ${(i - 1) * 11}.`)).toBe(i > 0)
  }
  expect(Object.keys(memoryOf(agent.dir)).sort()).toEqual([
    'MEMORY.md',
    ...Array.from({ length: 9 }, (_, i) => `topic${i}.md`),
  ])
  const last = await agent.run(['-p', 'topic4?'])
  expect(last.code).toBe(0)
  expect(agent.sent('consolidate')).toHaveLength(0)
  const system = agent.sent('main').at(-1)?.body.system ?? ''
  expect(system.match(/^- \[topic\d\]\(topic\d\.md\) — What topic\d is$/gm)).toHaveLength(9)
})
