import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Memory } from '../../../src/services/memoryPorts.ts'
import { compiled, ended, granted, note, type Opened, open, start, temporary } from './support.ts'

const OLD = Array.from({ length: 12 }, (_, i) => note(`old-${i}`))
const NEW = [
  note('old-3', { body: 'Merged text of three and four.' }),
  note('old-5'),
  note('merged-1'),
  note('merged-2'),
]

/** Swaps the old set for the new one; dies by SIGKILL before its n-th change of the file system. */
const SWAPPER = `
  import fs from 'node:fs'
  import { createMemory } from '../../../src/services/memory/index.ts'
  const [dir, last, items] = process.argv.slice(2)
  let count = 0
  for (const name of ['mkdirSync', 'openSync', 'writeFileSync', 'writeSync', 'fsyncSync', 'renameSync', 'unlinkSync', 'rmSync']) {
    const real = fs[name]
    fs[name] = (...args) => {
      // Reading opens files too.
      const changes = name !== 'openSync' || args[1] === 'wx'
      if (changes && count++ === Number(last)) process.kill(process.pid, 'SIGKILL')
      return real(...args)
    }
  }
  const notes = createMemory({ cwd: dir, enabled: null, warn: () => {} })
  notes.list().then(async (old) => {
    const result = await notes.replace(old, JSON.parse(items))
    console.log(JSON.stringify({ count, ok: result.ok, message: result.message }))
  })`

async function filled(): Promise<Opened> {
  const memory = open()
  granted(await memory.notes.add(OLD))
  memory.write('MEMORY.md', `# Ours\n${memory.read('MEMORY.md')}`)
  memory.write('notes.txt', 'not a memory')
  mkdirSync(join(memory.folder, 'images'))
  return memory
}

const bare = (memories: Memory[]) => memories.map(({ name, body }) => ({ name, body }))
const sorted = (items: Array<{ name: string; body: string }>) =>
  items.map(({ name, body }) => ({ name, body })).sort((a, b) => (a.name < b.name ? -1 : 1))

function listed(memory: Opened): string[] {
  return [...memory.read('MEMORY.md').matchAll(/\]\((.*?\.md)\)/g)].map((match) => match[1] ?? '').sort()
}

test('kill -9 before any change of the file system leaves the old set or the new one', async () => {
  const program = await compiled(SWAPPER)
  const whole = await filled()
  const { stdout } = await ended(start(program, whole.dir, '-1', JSON.stringify(NEW)))
  const { count } = JSON.parse(stdout) as { count: number }
  expect(bare(await whole.notes.list())).toEqual(sorted(NEW))
  expect(whole.names()).toEqual([
    'MEMORY.md',
    'images',
    'merged-1.md',
    'merged-2.md',
    'notes.txt',
    'old-3.md',
    'old-5.md',
  ])
  expect(count).toBeGreaterThan(30)

  const [oldFiles, newFiles] = [OLD, NEW].map((items) => items.map(({ name }) => `${name}.md`).sort())
  const outcomes: string[] = []
  for (let last = 0; last < count; last++) {
    const memory = await filled()
    expect((await ended(start(program, memory.dir, String(last), JSON.stringify(NEW)))).by).toBe('SIGKILL')
    // What the index says right after the crash, before anyone looks.
    const atOnce = listed(memory)
    expect([oldFiles, newFiles]).toContainEqual(atOnce)
    for (const file of atOnce) expect(memory.read(file)).toMatch(/^---\n[\s\S]+\n---\n\n.+\n$/)
    const after = bare(await memory.notes.list())
    const isNew = JSON.stringify(after) === JSON.stringify(sorted(NEW))
    expect(after).toEqual(sorted(isNew ? NEW : OLD))
    expect(listed(memory)).toEqual(isNew ? newFiles : oldFiles)
    expect(memory.read('MEMORY.md')).toMatch(/^# Ours\n/)
    expect(memory.read('notes.txt')).toBe('not a memory')
    outcomes.push(isNew ? 'new' : 'old')
    // The dead process's lock is no obstacle, and nothing of it is left.
    granted(await memory.notes.add([note('next')]))
    expect(memory.names().filter((name) => name.startsWith('.'))).toEqual([])
  }
  const turned = outcomes.indexOf('new')
  expect(outcomes).toEqual([...Array(turned).fill('old'), ...Array(count - turned).fill('new')])
})

describe('a swap', () => {
  test('is refused where a memory was changed since it was judged', async () => {
    const memory = await filled()
    const judged = await memory.notes.list()
    memory.write('old-7.md', memory.read('old-7.md').replace('Text of', 'New text of'))
    const before = memory.names()
    expect(await memory.notes.replace(judged, NEW)).toEqual({
      ok: false,
      message: 'the memories were changed meanwhile',
    })
    expect(memory.names()).toEqual(before)
  })

  test('leaves what is not in the group, and takes other names where those are taken', async () => {
    const memory = await filled()
    const all = await memory.notes.list()
    const made = granted(await memory.notes.replace(all.slice(0, 6), [note('old-9', { body: 'Other.' })]))
    expect(made.map(({ file }) => file)).toEqual([expect.stringMatching(/^old-9-[0-9a-f]{8}\.md$/)])
    expect((await memory.notes.list()).map(({ body }) => body).sort()).toEqual(
      [...all.slice(6).map(({ body }) => body), 'Other.'].sort(),
    )
  })

  test('that a project brings along cannot reach out of .memory', async () => {
    const outside = temporary()
    writeFileSync(join(outside, 'secret.md'), 'secret')
    writeFileSync(
      join(outside, 'plan.json'),
      JSON.stringify({ write: [{ file: 'secret.md', expected: null }], remove: [] }),
    )
    const linked = await filled()
    symlinkSync(outside, join(linked.folder, '.swap'))
    expect(await linked.notes.list()).toHaveLength(12)
    expect(readdirSync(outside).sort()).toEqual(['plan.json', 'secret.md'])

    const written = await filled()
    writeFileSync(join(written.dir, 'victim.md'), 'mine')
    mkdirSync(join(written.folder, '.swap'))
    const plan = { write: [], remove: [{ file: '../victim.md', expected: 'x' }] }
    writeFileSync(join(written.folder, '.swap', 'plan.json'), JSON.stringify(plan))
    expect(await written.notes.list()).toHaveLength(12)
    expect(existsSync(join(written.dir, 'victim.md'))).toBe(true)
    expect(written.names()).not.toContain('.swap')
  })
})
