import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  consolidationQuestion,
  groupToConsolidate,
  isConsolidationDue,
} from '../../../src/services/memory/consolidation.ts'
import { extractionQuestion } from '../../../src/services/memory/extraction.ts'
import { memoryFrom } from '../../../src/services/memory/item.ts'
import { byKeywords } from '../../../src/services/memory/keywords.ts'
import { chooseMemories, textsOf } from '../../../src/services/memory/selection.ts'
import { freeFile, slugOf } from '../../../src/services/memory/slug.ts'
import type { Memory } from '../../../src/services/memoryPorts.ts'
import { note } from './support.ts'

const memory = (name: string, more: Partial<Memory> = {}): Memory => ({
  file: `${name}.md`,
  ...note(name),
  consolidated: false,
  ...more,
})

describe('a slug', () => {
  test.each([
    ['Prefers Tabs', 'prefers-tabs'],
    ['../../etc/passwd', 'etc-passwd'],
    ['C:\\Windows\\x', 'c-windows-x'],
    ['MEMORY', 'memory-memory'],
    ['con', 'memory-con'],
    ['LPT1', 'memory-lpt1'],
    ['用户偏好中文', '用户偏好中文'],
    ['Größe: ÄÖ', 'größe-äö'],
    ['a\u0000b\nc', 'a-b-c'],
    ['.hidden', 'hidden'],
    ['--x--', 'x'],
  ])('of %j is %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug)
  })

  test('of what holds no letter, or too many, has a hash that tells it from others', () => {
    const odd = ['', '🎉', '🎊', '...', 'n'.repeat(300), 'n'.repeat(301), '用'.repeat(100)]
    const slugs = odd.map(slugOf)
    expect(new Set(slugs).size).toBe(odd.length)
    for (const slug of slugs) expect(slug).toMatch(/^[\p{L}\p{N}]+(-[\p{L}\p{N}]+)*$/u)
  })

  test('of any text is one plain file name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (name) => {
        const slug = slugOf(name)
        expect(slug).toMatch(/^[\p{L}\p{M}\p{N}]+(-[\p{L}\p{M}\p{N}]+)*$/u)
        expect(slug.normalize('NFC').toLowerCase()).not.toBe('memory')
        expect(Buffer.byteLength(`${slug}.md`)).toBeLessThan(200)
      }),
    )
  })

  test('gives way to a file that is there', () => {
    expect(freeFile('A', 'x', new Set())).toBe('a.md')
    const second = freeFile('A', 'x', new Set(['a.md']))
    expect(second).toMatch(/^a-[0-9a-f]{8}\.md$/)
    expect(freeFile('A', 'x', new Set(['a.md', second]))).not.toBe(second)
  })
})

describe('a memory in a list', () => {
  test.each([
    [null],
    ['text'],
    [{ ...note('a'), body: 7 }],
    [{ ...note('a'), name: ' ' }],
    [{ ...note('a'), type: 'wish' }],
    [{ ...note('a'), type: undefined }],
  ])('%j is none', (value) => {
    expect(memoryFrom(value)).toBe(null)
  })

  test('is cleaned and cut', () => {
    const made = memoryFrom({
      name: ' a\nb ',
      type: 'User',
      description: 'd'.repeat(400),
      body: `\u001b[2J\ud800${'x'.repeat(9000)}`,
    })
    expect(made?.name).toBe('a b')
    expect(made?.type).toBe('user')
    expect(made?.description).toHaveLength(300)
    expect(made?.body).toMatch(/^\ufffd\[2J\ufffdx+…$/)
    expect(made?.body).toHaveLength(8000)
  })
})

describe('words in common', () => {
  const all = [
    memory('prefers-chinese', { description: 'User prefers Chinese explanations', body: 'Always.' }),
    memory('deploy', { description: 'How we ship', body: 'Run the deployment script.' }),
    memory('中文', { description: '用户喜欢中文解释', body: '请用中文。' }),
  ]
  test.each([
    ['Explain this function', ['prefers-chinese']],
    ['Please deploy it now', ['deploy']],
    ['请解释这段代码', ['中文']],
    ['what is the time', []],
    ['', []],
  ])('%j: %j', (words, names) => {
    expect(byKeywords(all, words).map(({ name }) => name)).toEqual(names)
  })
})

describe('choosing', () => {
  test('nobody is asked where there is nothing, or nothing that has a word in common', () => {
    expect(chooseMemories([], ['deploy'])).toEqual({ kind: 'nothing' })
    const few = ['a1', 'b2', 'c3', 'd4', 'e5'].map((name) => memory(name))
    expect(chooseMemories(few, ['sing'])).toEqual({ kind: 'nothing' })
    expect(chooseMemories([...few, memory('f6')], ['sing'])).toEqual({ kind: 'nothing' })
    expect(chooseMemories([memory('singing')], ['sing']).kind).toBe('ask')
  })

  test('of thousands the catalog stays small, and those with words in common are in it', () => {
    const all = Array.from({ length: 3000 }, (_, i) => memory(`n${i}`, { description: 'd'.repeat(250) }))
    const choice = chooseMemories([...all, memory('deploy')], ['deploy'])
    const question = choice.kind === 'ask' ? choice.question : expect.fail('nobody is asked')
    expect(Buffer.byteLength(question.prompt)).toBeLessThan(27 * 1024)
    expect(question.prompt).toContain('"file":"deploy.md"')
    expect(question.read(['deploy.md', 'n1'])?.map(({ file }) => file)).toEqual(['deploy.md', 'n1.md'])
  })

  test.each([
    [
      ['a.md', 'B', './.memory/c.md', 'a'],
      ['a', 'b', 'c'],
    ],
    [{ files: [{ file: 'a.md' }, { name: 'b' }] }, ['a', 'b']],
    [[], []],
    [['none', 7, '../a.md'], null],
    [{}, null],
    ['a.md', null],
  ])('a reply of %j means %j', (value, names) => {
    const choice = chooseMemories(
      ['a', 'b', 'c'].map((name) => memory(name)),
      ['text'],
    )
    const question = choice.kind === 'ask' ? choice.question : expect.fail('nobody is asked')
    expect(question.read(value)?.map(({ name }) => name) ?? null).toEqual(names)
  })

  test('what does not fit is left out whole', () => {
    const long = ['a', 'b', 'c'].map((name) => memory(name, { body: name.repeat(7000) }))
    expect(textsOf(long).map(({ name, text }) => [name, text.length])).toEqual([
      ['a', 7000],
      ['b', 7000],
    ])
  })
})

describe('the question for new memories', () => {
  test('is small however long the turn was, and has the first words of the user and the last of the agent', () => {
    const said = [
      { who: 'user' as const, text: `first ${'u'.repeat(100_000)}` },
      ...Array.from({ length: 500 }, (_, i) => ({ who: 'agent' as const, text: `step ${i} ${'x'.repeat(500)}` })),
      { who: 'agent' as const, text: 'conclusion' },
    ]
    const { prompt } = extractionQuestion(
      said,
      Array.from({ length: 3000 }, (_, i) => memory(`n${i}`)),
    )
    expect(Buffer.byteLength(prompt)).toBeLessThan(50_000)
    for (const part of ['first uuu', 'step 499', 'conclusion']) expect(prompt).toContain(part)
    expect(prompt).not.toContain('step 3 ')
  })
})

describe('consolidation', () => {
  const many = (count: number, more: Partial<Memory> = {}) =>
    Array.from({ length: count }, (_, i) => memory(`n${i}`, { body: `Body number ${i}, long enough.`, ...more }))

  test('is due from ten on, and then where a tenth is new', () => {
    expect(isConsolidationDue(many(9))).toBe(false)
    expect(isConsolidationDue(many(10))).toBe(true)
    expect(isConsolidationDue(many(12, { consolidated: true }))).toBe(false)
    expect(isConsolidationDue([...many(12, { consolidated: true }), memory('new')])).toBe(true)
    expect(isConsolidationDue([...many(50, { consolidated: true }), memory('new')])).toBe(false)
  })

  test('looks at new ones first and only at what can be given back whole', () => {
    const all = [
      ...many(300, { consolidated: true, body: 'b'.repeat(500) }),
      memory('new'),
      memory('long', { body: 'x'.repeat(8000) }),
    ]
    const group = groupToConsolidate(all)
    expect(group[0]?.name).toBe('new')
    expect(group.some(({ name }) => name === 'long')).toBe(false)
    expect(group.length).toBeLessThan(60)
  })

  test.each([
    ['nothing', []],
    ['one that is not whole', [note('a', { body: 'A long text that says enough about all of this.' }), { name: 'b' }]],
    ['a name twice', [note('a'), note('A', { body: 'Other text, long enough to count as kept here.' })]],
    ['more than there were', many(13)],
    ['next to nothing', [note('a', { description: 'd', body: 'b' })]],
    ['no list', { note: 'kept' }],
  ])('a reply of %s is not taken', (_, value) => {
    expect(consolidationQuestion(many(12)).read(value)).toBe(null)
  })

  test('a shorter list that is whole is taken', () => {
    const reply = [note('a', { body: 'All of the numbers, put together in one text.' })]
    expect(consolidationQuestion(many(12)).read(reply)).toEqual(reply)
  })
})
