/** Records and heads that are damaged, newer, missing or never committed. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStore } from '../../src/services/store/index.ts'
import { finished, held, opened, prompted, sql, temporaryHomes, update } from './storeSupport.ts'

const homes = temporaryHomes()
let home: string
let file: string
let warnings: string[]
let id: string

beforeEach(async () => {
  home = await homes.make()
  file = join(home, 'sessions.sqlite')
  warnings = []
  id = randomUUID()
})
afterEach(() => homes.clean())

const open = () => createStore({ home, warn: (message) => void warnings.push(message) })

/** Six records: opened, prompt, and the results 2 … 5. */
async function sixRecords(): Promise<void> {
  const store = open()
  const journal = await held(store, id)
  await journal.append([opened(id, '/d'), prompted('do it', '/d')], update('/d'))
  for (let n = 2; n < 6; n++) await journal.append([finished(`result ${n}`)], update('/d', { gauge: n }))
  await journal.release()
  await store.close()
}

const setValue = (key: string, value: unknown) => sql(file, ['UPDATE keyv SET value = ? WHERE key = ?', value, key])
const valueAt = async (key: string): Promise<unknown> =>
  ((await sql(file, ['SELECT value FROM keyv WHERE key = ?', key])) as Array<{ value: unknown }>)[0]?.value
const keysLike = async (pattern: string): Promise<string[]> =>
  ((await sql(file, ['SELECT key FROM keyv WHERE key LIKE ? ORDER BY key', pattern])) as Array<{ key: string }>).map(
    ({ key }) => key,
  )

/** Loads, appends one result, and loads again in another store: what a resumed run does. */
async function resumed(): Promise<{ before: string[]; warned: string[]; after: string[]; again: string[] }> {
  const texts = (loaded: Awaited<ReturnType<ReturnType<typeof open>['load']>>): string[] =>
    loaded?.entries.map(({ record }) => (record.type === 'toolFinished' ? String(record.content) : record.type)) ?? []
  const store = open()
  const journal = await held(store, id)
  const loaded = await store.load(id)
  await journal.append([finished('new')], update('/d'))
  await journal.release()
  await store.close()
  const next = open()
  const reloaded = await next.load(id)
  await next.close()
  return {
    before: texts(loaded),
    warned: loaded?.warnings ?? [],
    after: texts(reloaded),
    again: reloaded?.warnings ?? [],
  }
}

describe('a session with a record that cannot be used', () => {
  const cases: Array<[string, (text: string) => unknown, string]> = [
    ['no JSON', () => '{"v":1,"seq":3', `Record 3 of session ID is damaged: it is not JSON.`],
    ['no text', () => Buffer.from('bytes'), `Record 3 of session ID is damaged: it is not JSON.`],
    ['nothing', () => '', `Record 3 of session ID is damaged: it is not JSON.`],
    [
      'line ends',
      (text) => text.replace('[1,3,', '[1,\n\n7,'),
      `Record 3 of session ID is damaged: it says it is number 7.`,
    ],
    [
      'another place',
      (text) => text.replace('[1,3,', '[1,7,'),
      `Record 3 of session ID is damaged: it says it is number 7.`,
    ],
    [
      'a newer version',
      (text) => text.replace('[1,', '[2,'),
      `Record 3 of session ID was written by a newer version (format 2); update this program to read it.`,
    ],
  ]
  for (const [what, damage, sentence] of cases) {
    it(`gives the records before it, and goes on behind them without losing the rest: ${what}`, async () => {
      await sixRecords()
      const damaged = damage(String(await valueAt(`s:${id}:000003`)))
      const rest = [damaged, await valueAt(`s:${id}:000004`), await valueAt(`s:${id}:000005`)]
      await setValue(`s:${id}:000003`, damaged)
      expect(await resumed()).toEqual({
        before: ['opened', 'prompt', 'result 2'],
        warned: [`${sentence.replace('ID', id)} Only the 3 records before it are used.`],
        after: ['opened', 'prompt', 'result 2', 'new'],
        again: [],
      })
      const kept = await keysLike('x:%')
      expect(kept).toEqual([`x:${id}:000003:1`, `x:${id}:000004:1`, `x:${id}:000005:1`])
      expect(await Promise.all(kept.map(valueAt))).toEqual(rest.map(String))
    })
  }

  it('gives the records before one that is missing', async () => {
    await sixRecords()
    await sql(file, ['DELETE FROM keyv WHERE key = ?', `s:${id}:000001`])
    expect(await resumed()).toMatchObject({
      before: ['opened'],
      warned: [`Record 1 of session ${id} is missing or cannot be read. Only the one record before it is used.`],
      after: ['opened', 'new'],
    })
  })

  it('keeps what is damaged a second time beside what was kept before', async () => {
    await sixRecords()
    await setValue(`s:${id}:000005`, 'first')
    await resumed()
    await setValue(`s:${id}:000005`, 'second')
    await resumed()
    expect(await keysLike('x:%')).toEqual([`x:${id}:000005:1`, `x:${id}:000005:2`])
    expect([await valueAt(`x:${id}:000005:1`), await valueAt(`x:${id}:000005:2`)]).toEqual(['first', 'second'])
  })

  it('is not written over by a writer that has not read it', async () => {
    await sixRecords()
    const store = open()
    const journal = await held(store, id)
    await setValue(`s:${id}:000004`, 'damaged')
    const [entry] = await journal.append([finished('new')], update('/d'))
    expect(entry?.seq).toBe(4)
    await journal.release()
    await store.close()
    expect(await keysLike('x:%')).toEqual([`x:${id}:000004:1`, `x:${id}:000005:1`])
  })

  it('loses what was kept when it is removed', async () => {
    await sixRecords()
    await setValue(`s:${id}:000003`, 'damaged')
    await resumed()
    const store = open()
    await store.remove(id)
    await store.close()
    expect(await keysLike('%')).toEqual([])
  })
})

describe('a head', () => {
  for (const [what, value] of [
    ['no JSON', 'damaged'],
    ['null', 'null'],
    ['an array', '[]'],
    ['no fields', '{"v":1}'],
    [
      'a count that is none',
      '{"v":1,"session_id":"ID","cwd":"/d","created":"2026-01-01","used":"2026-01-01","model":"m","count":-1,"turns":1,"first_prompt":"","gauge":0}',
    ],
    ['a newer version', '{"v":9,"format":"unheard of"}'],
  ] as const) {
    it(`of no use is made anew from the records: ${what}`, async () => {
      await sixRecords()
      const text = value.replace('ID', id)
      await setValue(`h:${id}`, text)
      const store = open()
      const loaded = await store.load(id)
      expect(loaded?.head).toMatchObject({
        session_id: id,
        cwd: '/d',
        model: 'model-a',
        count: 6,
        turns: 1,
        first_prompt: 'do it',
      })
      expect(loaded?.entries).toHaveLength(6)
      expect(loaded?.warnings).toEqual([
        value.includes('"v":9')
          ? `The head of session ${id} was written by a newer version (format 9); it is made anew from the records.`
          : `The head of session ${id} is damaged; it is made anew from the records.`,
      ])
      expect((await store.list('/d')).map((head) => head.session_id)).toEqual([id])
      expect((await store.latest('/d'))?.session_id).toBe(id)
      expect(warnings.length).toBeGreaterThan(0)
      await store.close()

      const after = await resumed()
      expect(after.after).toEqual(['opened', 'prompt', 'result 2', 'result 3', 'result 4', 'result 5', 'new'])
      expect(after.again).toEqual([])
      expect(await valueAt(`x:${id}:head:1`)).toBe(text)
    })
  }

  it('of a session whose records are gone too harms no other', async () => {
    await sixRecords()
    const broken = randomUUID()
    await sql(
      file,
      ['INSERT INTO keyv VALUES (?, ?)', `h:${broken}`, 'damaged'],
      ['INSERT INTO keyv VALUES (?, ?)', 'h:odd', '{}'],
    )
    const store = open()
    expect((await store.list('/d')).map((head) => head.session_id)).toEqual([id])
    expect((await store.load(broken))?.warnings).toEqual([
      `The head of session ${broken} is damaged; it is made anew from the records.`,
    ])
    expect(await store.remove(broken)).toBe(true)
    await store.close()
  })

  it('that counts more records than there are gives those that are there', async () => {
    await sixRecords()
    const head = JSON.parse(String(await valueAt(`h:${id}`)))
    await setValue(`h:${id}`, JSON.stringify({ ...head, count: Number.MAX_SAFE_INTEGER }))
    expect(await resumed()).toMatchObject({
      warned: [`Record 6 of session ${id} is missing or cannot be read. Only the 6 records before it are used.`],
      after: ['opened', 'prompt', 'result 2', 'result 3', 'result 4', 'result 5', 'new'],
      again: [],
    })
  })

  it('decides what was committed: records beyond it are not read, and the next append takes their place', async () => {
    await sixRecords()
    const stray = (await valueAt(`s:${id}:000005`)) as string
    await sql(file, ['INSERT INTO keyv VALUES (?, ?)', `s:${id}:000006`, stray.replace('"seq":5', '"seq":6')])
    await sql(file, ['INSERT INTO keyv VALUES (?, ?)', `s:${id}:000007`, stray.replace('"seq":5', '"seq":7')])
    expect(await resumed()).toEqual({
      before: ['opened', 'prompt', 'result 2', 'result 3', 'result 4', 'result 5'],
      warned: [],
      after: ['opened', 'prompt', 'result 2', 'result 3', 'result 4', 'result 5', 'new'],
      again: [],
    })
  })
})

describe('a pointer', () => {
  for (const value of ['damaged', 'null', '{}', '{"session_id":"../../x","used":"2026-01-01"}', '{"session_id":5}']) {
    it(`of no use costs a search, nothing else: ${value}`, async () => {
      await sixRecords()
      await sql(file, ["UPDATE keyv SET value = ? WHERE key LIKE 'd:%'", value])
      const store = open()
      expect((await store.latest('/d'))?.session_id).toBe(id)
      await store.close()
      await resumed()
      const next = open()
      expect((await next.latest('/d'))?.session_id).toBe(id)
      await next.close()
    })
  }
})
