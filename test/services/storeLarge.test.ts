/** Thousands of sessions, and a very large one: what is done does not grow with what is there. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStore } from '../../src/services/store/index.ts'
import { finished, held, opened, sql, temporaryHomes, update } from './storeSupport.ts'

// Real processes and thousands of files, on machines that have other things to do.
vi.setConfig({ testTimeout: 300_000 })

const homes = temporaryHomes()
let home: string

beforeEach(async () => {
  home = await homes.make()
})
afterEach(() => homes.clean())

const open = () => createStore({ home, warn: (message) => expect(message).toBe('') })
const file = () => join(home, 'sessions.sqlite')

describe('a store of five thousand sessions', () => {
  /** Sessions as the store writes them, dated 400 days back, one second apart, in five directories. */
  async function fill(count: number): Promise<string[]> {
    let now = Date.now() - 400 * 86_400_000
    const store = createStore({ home, warn: () => {}, now: () => now })
    const ids: string[] = []
    for (let n = 0; n < count; n++) {
      const id = randomUUID()
      now += 1000
      const journal = await held(store, id)
      await journal.append([opened(id, `/d${n % 5}`), finished('x'.repeat(300))], update(`/d${n % 5}`))
      await journal.release()
      ids.push(id)
    }
    await store.close()
    return ids
  }

  it('lists them all, newest first, and knows the latest of each directory, however old', async () => {
    const ids = await fill(5000)
    const store = open()
    expect((await store.list(null)).map((head) => head.session_id)).toEqual([...ids].reverse())
    expect((await store.list('/d3')).map((head) => head.session_id)).toEqual(
      ids.filter((_, n) => n % 5 === 3).reverse(),
    )
    for (let n = 0; n < 5; n++) expect((await store.latest(`/d${n}`))?.session_id).toBe(ids[4995 + n])
    expect(await store.latest('/d5')).toBeNull()
    expect((await store.load(ids[0] ?? ''))?.entries).toHaveLength(2)

    expect(await store.remove(ids[4999] ?? '')).toBe(true)
    expect((await store.latest('/d4'))?.session_id).toBe(ids[4994])
    await store.close()
  })

  it('answers for the latest with two reads of single keys', async () => {
    const ids = await fill(20)
    const store = open()
    await store.latest('/d0')
    // Only what the answer needs is left whole: anything else it read would be missed or warned about.
    const latest = ids[15] ?? ''
    await sql(file(), ["DELETE FROM keyv WHERE key <> ? AND key NOT LIKE 'd:%'", `h:${latest}`])
    expect((await store.latest('/d0'))?.session_id).toBe(latest)
    await store.close()
  })
})

describe('a session of 50 MB', () => {
  it('is read whole, and an append writes only what it adds', async () => {
    const id = randomUUID()
    const store = open()
    const journal = await held(store, id)
    const text = (n: number): string => `${n}:${'0123456789abcdef'.repeat(1600)}`
    await journal.append([opened(id, '/d')], update('/d'))
    for (let n = 0; n < 2000; n += 2) await journal.append([finished(text(n)), finished(text(n + 1))], update('/d'))
    await journal.release()
    await store.close()

    const again = open()
    const loaded = await again.load(id)
    const contents = loaded?.entries
      .slice(1)
      .map(({ record }) => (record.type === 'toolFinished' ? record.content : ''))
    expect(contents?.length).toBe(2000)
    expect(contents?.every((content, n) => content === text(n))).toBe(true)

    await sql(file(), ['PRAGMA wal_checkpoint(TRUNCATE)'])
    const size = statSync(file()).size
    expect(size).toBeLessThan(1.2 * 2000 * text(0).length)
    const next = await held(again, id)
    await next.append([finished('small')], update('/d'))
    // One transaction's pages, not the session: a few of 4 KiB each.
    expect(statSync(`${file()}-wal`).size).toBeLessThan(64 * 1024)
    await next.release()
    await again.close()
  })
})

describe('a session that was removed', () => {
  const SECRET = 'the words nobody shall read again '
  const bytes = () => {
    const files = readdirSync(home).filter((name) => name.startsWith('sessions.sqlite'))
    return Buffer.concat(files.filter((name) => !name.endsWith('-shm')).map((name) => readFileSync(join(home, name))))
  }

  async function make(count: number): Promise<string[]> {
    const store = open()
    const ids: string[] = []
    for (let n = 0; n < count; n++) {
      const id = randomUUID()
      const journal = await held(store, id)
      await journal.append([opened(id, '/d')], update('/d', { first_prompt: SECRET }))
      await journal.append([finished(SECRET.repeat(2000))], update('/d', { first_prompt: SECRET }))
      await journal.release()
      ids.push(id)
    }
    await store.close()
    return ids
  }

  it('leaves none of its words in the files, and its space is given back', async () => {
    const ids = await make(30)
    expect(bytes().includes(SECRET)).toBe(true)
    const before = bytes().length
    const store = open()
    for (const id of ids) expect(await store.remove(id)).toBe(true)
    await store.close()
    expect({ found: bytes().includes(SECRET), small: bytes().length < before / 20 }).toEqual({
      found: false,
      small: true,
    })
  })

  it('does not hold up a run that goes on beside it, and takes nothing of that', async () => {
    const ids = await make(5)
    const [kept, store] = [randomUUID(), open()]
    const other = open()
    const journal = await held(other, kept)
    await journal.append([opened(kept, '/d')], update('/d'))
    const removing = Promise.all(ids.map((id) => store.remove(id)))
    for (let n = 0; n < 50; n++) await journal.append([finished(`${n}`)], update('/d'))
    expect(await removing).toEqual(ids.map(() => true))
    await journal.append([finished('last')], update('/d'))
    await journal.release()
    await other.close()
    expect((await store.list(null)).map((head) => head.session_id)).toEqual([kept])
    expect((await store.load(kept))?.entries).toHaveLength(52)
    await store.close()
  })
})
