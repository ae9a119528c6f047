import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/agent.ts'
import { memoryOf, setUpMemory, writeNotes } from './memorySupport.ts'
import { setUp } from './setUp.ts'

const NOTES = [
  { name: 'deploy', description: 'How we ship', body: 'make ship' },
  { name: 'deploy-keys', type: 'reference', description: 'Where the keys are', body: 'In the vault.\u001b[2J' },
]

async function filled() {
  const agent = await setUpMemory()
  writeNotes(agent.dir, NOTES)
  return agent
}

describe('agent memory', () => {
  test('lists the memories, for people and for programs', async () => {
    const agent = await filled()
    expect(await agent.run(['memory'])).toMatchObject({
      code: 0,
      stdout: 'deploy-keys.md  reference  Where the keys are\ndeploy.md       project    How we ship\n',
      stderr: '',
    })
    const listed = await agent.run(['memory', 'list', '--json'])
    expect(JSON.parse(listed.stdout)).toEqual([
      { file: 'deploy-keys.md', name: 'deploy-keys', type: 'reference', description: 'Where the keys are' },
      { file: 'deploy.md', name: 'deploy', type: 'project', description: 'How we ship' },
    ])
  })

  test('says so where there are none', async () => {
    const agent = await setUpMemory()
    const end = await agent.run(['memory'])
    expect(end.code).toBe(0)
    expect(end.stdout).toContain('No memories here.')
    expect((await agent.run(['memory', '--json'])).stdout).toBe('[]\n')
  })

  test('says how there come to be some: otherwise where the folder is there than where it is not', async () => {
    const agent = await setUp([])
    expect((await agent.run(['memory'])).stdout).toBe(
      'No memories here. They are kept in .memory/ once that folder is there or memory.enabled is true.\n',
    )
    mkdirSync(join(agent.dir, '.memory'))
    const words = 'The agent keeps them in .memory/ at the end of a turn, or when asked to remember.'
    expect(await agent.run(['memory'])).toMatchObject({ code: 0, stdout: `No memories here. ${words}\n`, stderr: '' })
  })

  test('shows one, by name, file, path or a beginning that only one has, and nothing that a terminal acts on', async () => {
    const agent = await filled()
    for (const name of ['deploy', 'deploy.md', '.memory/deploy.md', 'DEPLOY']) {
      const end = await agent.run(['memory', 'show', name])
      expect(end.stdout).toBe('---\nname: deploy\ndescription: How we ship\ntype: project\n---\n\nmake ship\n')
    }
    const other = await agent.run(['memory', 'show', 'deploy-k'])
    expect(other.stdout).toContain('In the vault.␛[2J')
    expect(JSON.parse((await agent.run(['memory', 'show', 'deploy', '--json'])).stdout)).toEqual({
      file: 'deploy.md',
      ...NOTES[0],
      type: 'project',
    })
  })

  test('removes one, with its line', async () => {
    const agent = await filled()
    expect(await agent.run(['memory', 'rm', 'deploy'])).toMatchObject({
      code: 0,
      stdout: 'removed .memory/deploy.md\n',
    })
    expect(Object.keys(memoryOf(agent.dir)).sort()).toEqual(['MEMORY.md', 'deploy-keys.md'])
    expect(memoryOf(agent.dir)['MEMORY.md']).toBe('- [deploy-keys](deploy-keys.md) — Where the keys are\n')
    expect((await agent.run(['memory', 'rm', 'deploy-keys', '--json'])).stdout).toBe('{"removed":["deploy-keys.md"]}\n')
  })

  test.each([
    [['memory', 'show', 'none'], 'There is no memory "none"; agent memory lists the ones there are.'],
    [
      ['memory', 'show', '../../etc/passwd'],
      'There is no memory "../../etc/passwd"; agent memory lists the ones there are.',
    ],
    [['memory', 'rm', 'd'], '2 memories have that name: name one of the files deploy-keys.md, deploy.md.'],
    [['memory', 'show'], 'memory show needs the name of a memory; agent memory lists them.'],
    [['memory', 'forget'], 'memory knows list, show, rm and consolidate, not "forget".'],
    [['memory', 'list', 'x'], 'Unexpected argument "x" after agent memory list.'],
  ])('%j is refused in one line', async (args, message) => {
    const agent = await filled()
    expect(await agent.run(args)).toMatchObject({ code: 2, stdout: '', stderr: `agent: ${message}\n` })
    expect(Object.keys(memoryOf(agent.dir))).toHaveLength(3)
  })

  test('consolidates on demand, however few there are, and says what came of it', async () => {
    const agent = await filled()
    agent.answer({
      consolidate: '[{"name":"ship","type":"project","description":"Shipping","body":"make ship, keys in the vault"}]',
    })
    const end = await agent.run(['memory', 'consolidate', '--json'])
    expect(end).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(end.stdout)).toEqual({ before: 2, after: 1, changed: true })
    expect(Object.keys(memoryOf(agent.dir)).sort()).toEqual(['MEMORY.md', 'ship.md'])
    expect(await agent.run(['memory', 'consolidate'])).toMatchObject({ code: 0, stdout: '' })
  })

  test('leaves them as they are where the reply is of no use: exit 1', async () => {
    const agent = await filled()
    const before = memoryOf(agent.dir)
    agent.answer({ consolidate: '[]' })
    const end = await agent.run(['memory', 'consolidate'])
    expect(end.code).toBe(1)
    expect(end.stderr).toContain('The memories are as they were.')
    expect(memoryOf(agent.dir)).toEqual(before)
  })

  test('needs a key to consolidate, and none for the rest', async () => {
    const agent = await filled()
    const env = { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '' }
    expect((await agent.run(['memory'], { env })).code).toBe(0)
    const end = await agent.run(['memory', 'consolidate'], { env })
    expect(end.code).toBe(2)
    expect(end.stderr).toContain('ANTHROPIC_API_KEY')
  })

  test('works on the notes where memory is off, and says that it is; the model is not asked', async () => {
    const agent = await filled()
    mkdirSync(join(agent.dir, '.agent'))
    writeFileSync(join(agent.dir, '.agent', 'settings.json'), '{"memory": {"enabled": false}}')
    const end = await agent.run(['memory'])
    expect(end).toMatchObject({ code: 0, stderr: 'note: memory is off here (memory.enabled is false).\n' })
    expect((await agent.run(['memory', 'consolidate'])).code).toBe(2)
    expect(agent.model.requests).toEqual([])
  })

  test('warns of a .memory that leads out of the project', async () => {
    const agent = await setUpMemory()
    const outside = temporaryDirectory()
    writeNotes(outside, NOTES)
    symlinkSync(join(outside, '.memory'), join(agent.dir, '.memory'))
    const end = await agent.run(['memory', '--json'])
    expect(end).toMatchObject({ code: 0, stdout: '[]\n' })
    expect(end.stderr).toContain('is a link out of the project')
  })
})
