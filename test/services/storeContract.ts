/** What every store does, whatever Keyv adapter is under it. Each adapter's test file runs it over its own. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { JOURNAL_VERSION } from '../../src/machines/journal.ts'
import type { StorePort } from '../../src/services/ports.ts'
import { finished, granted, held, opened, prompted, update } from './storeSupport.ts'

export interface StoreUnderTest {
  /** A store over the same data as every other one of this factory's call; `now` gives ms since 1970. */
  open(now?: () => number): StorePort
  clean(): Promise<void>
  warnings: string[]
}

/** @param factory called once a test: data that no other test sees */
export function describeStore(name: string, factory: () => Promise<StoreUnderTest>): void {
  describe(`a store over ${name}`, () => {
    let under: StoreUnderTest
    let store: StorePort

    beforeEach(async () => {
      under = await factory()
      store = under.open()
    })
    afterEach(async () => {
      await store.close()
      await under.clean()
    })

    const session = async (cwd: string, more: Parameters<typeof update>[1] = {}): Promise<string> => {
      const id = randomUUID()
      const journal = await held(store, id)
      await journal.append([opened(id, cwd), prompted('do it', cwd)], update(cwd, more))
      await journal.release()
      return id
    }

    it('gives back what was appended, numbered and dated, with its head', async () => {
      const at = Date.UTC(2026, 0, 2, 3, 4, 5)
      const dated = under.open(() => at)
      const id = randomUUID()
      const journal = await held(dated, id)
      const first = await journal.append([opened(id, '/project'), prompted('do it')], update('/project'))
      const second = await journal.append([finished('ok')], update('/project', { turns: 2, gauge: 900 }))
      await journal.release()

      const when = '2026-01-02T03:04:05.000Z'
      const entries = [opened(id, '/project'), prompted('do it'), finished('ok')].map((entry, seq) => ({
        v: JOURNAL_VERSION,
        seq,
        at: when,
        ...entry,
      }))
      expect([...first, ...second]).toEqual(entries)
      expect(await dated.load(id)).toEqual({
        head: {
          v: JOURNAL_VERSION,
          session_id: id,
          cwd: '/project',
          created: when,
          used: when,
          model: 'model-a',
          count: 3,
          turns: 2,
          first_prompt: 'do it',
          gauge: 900,
        },
        entries,
        warnings: [],
      })
      await dated.close()
    })

    it('keeps every character of a record', async () => {
      const text = 'a\0b \u2028 "quoted" \\n \r\n 日本 😀 \ud83d :base64:AAAA ::x \u001b[31m'
      const id = randomUUID()
      const journal = await held(store, id)
      await journal.append([finished(text)], update('/project', { first_prompt: text }))
      await journal.release()
      const loaded = await store.load(id)
      expect(loaded?.entries.map((entry) => entry.record)).toEqual([finished(text).record])
      expect(loaded?.head.first_prompt).toBe(text)
    })

    it('goes on where another process left off, and keeps what the session began with', async () => {
      const id = await session('/project')
      const created = (await store.load(id))?.head.created
      const other = under.open(() => Date.parse(created ?? '') + 60_000)
      const journal = await held(other, id)
      const [entry] = await journal.append([finished('more')], update('/project'))
      await journal.release()
      expect(entry?.seq).toBe(2)
      const loaded = await store.load(id)
      expect(loaded?.entries.map((one) => one.seq)).toEqual([0, 1, 2])
      expect(loaded?.head.created).toBe(created)
      expect(loaded?.head.used).toBe(new Date(Date.parse(created ?? '') + 60_000).toISOString())
      await other.close()
    })

    it('writes appends that were not waited for one after the other', async () => {
      const id = randomUUID()
      const journal = await held(store, id)
      const appends = Array.from({ length: 20 }, (_, n) => journal.append([finished(`${n}`)], update('/project')))
      const seqs = (await Promise.all(appends)).flat().map((entry) => entry.seq)
      await journal.release()
      expect(seqs).toEqual(Array.from({ length: 20 }, (_, n) => n))
      const records = (await store.load(id))?.entries.map(({ record }) => record)
      expect(records).toEqual(Array.from({ length: 20 }, (_, n) => finished(`${n}`).record))
    })

    it('refuses a second writer with the pid of the first until it is released', async () => {
      const id = randomUUID()
      const journal = await held(store, id)
      const other = under.open()
      const refused = await other.hold(id)
      expect(refused.ok).toBe(false)
      expect(!refused.ok && refused.message).toContain(`process ${process.pid}`)
      await journal.release()
      await granted(await other.hold(id)).release()
      await other.close()
    })

    it('knows no session of an unknown id, and nothing that is no id', async () => {
      await session('/project')
      for (const id of [randomUUID(), '', 'nope', '../../etc/passwd', '__proto__', 'a/b', 'x\ny', '%']) {
        expect([id, await store.load(id), await store.remove(id)]).toEqual([id, null, false])
      }
      for (const id of ['', 'nope', '../../etc/passwd', '__proto__', 'x\ny', randomUUID().toUpperCase()]) {
        expect((await store.hold(id)).ok, id).toBe(false)
      }
    })

    it('does not know a real id in upper case', async () => {
      const id = await session('/project')
      expect(await store.load(id.toUpperCase())).toBeNull()
      expect(await store.find(id.toUpperCase().slice(0, 8).concat('-'))).toEqual(
        /[a-f]/.test(id.slice(0, 8)) ? [] : [id],
      )
    })

    it('finds ids by what they begin with', async () => {
      const ids = [await session('/a'), await session('/b')]
      for (const id of ids) expect(await store.find(id.slice(0, 13))).toEqual([id])
      expect(await store.find('')).toEqual([])
      expect(await store.find('%')).toEqual([])
      expect(await store.find('_')).toEqual([])
    })

    it('lists the session used last first, of one directory or of all', async () => {
      let now = Date.UTC(2026, 0, 1)
      store = under.open(() => (now += 1000))
      const [a, b, c] = [await session('/one'), await session('/two'), await session('/one')]
      const journal = await held(store, a)
      await journal.append([finished('again')], update('/one'))
      await journal.release()
      expect((await store.list(null)).map((head) => head.session_id)).toEqual([a, c, b])
      expect((await store.list('/one')).map((head) => head.session_id)).toEqual([a, c])
      expect(await store.list('/three')).toEqual([])
    })

    it('takes for the latest of a directory the one used last there, no subagent and no neighbour', async () => {
      const first = await session('/d')
      const second = await session('/d')
      await session('/d/sub')
      await session('/other')
      expect((await store.latest('/d'))?.session_id).toBe(second)
      const journal = await held(store, first)
      await journal.append([finished('again')], update('/d'))
      await session('/d', { parent: first })
      expect((await store.latest('/d'))?.session_id).toBe(first)
      await journal.release()
    })

    it('keeps the order of use when the clock is set back', async () => {
      let now = Date.UTC(2026, 5, 1, 12)
      store = under.open(() => now)
      await session('/d')
      now = Date.UTC(2026, 5, 1, 10)
      const second = await session('/d')
      expect((await store.latest('/d'))?.session_id).toBe(second)
      expect((await store.list('/d'))[0]?.session_id).toBe(second)
    })

    it('falls back to the one before when the latest is removed', async () => {
      const first = await session('/d')
      const second = await session('/d')
      expect(await store.remove(second)).toBe(true)
      expect((await store.latest('/d'))?.session_id).toBe(first)
      expect(await store.load(second)).toBeNull()
      expect(await store.remove(second)).toBe(false)
      expect(await store.remove(first)).toBe(true)
      expect(await store.latest('/d')).toBeNull()
    })

    it('looks elsewhere when the latest has moved to another directory', async () => {
      const first = await session('/d')
      const second = await session('/d')
      const journal = await held(store, second)
      await journal.append([finished('moved')], update('/elsewhere'))
      await journal.release()
      expect((await store.latest('/d'))?.session_id).toBe(first)
      expect((await store.latest('/elsewhere'))?.session_id).toBe(second)
    })

    it('removes a session with those of its subagents, and no other', async () => {
      const parent = await session('/d')
      const child = await session('/d', { parent })
      const grandchild = await session('/d', { parent: child })
      const other = await session('/d')
      expect(await store.remove(parent)).toBe(true)
      expect((await store.list(null)).map((head) => head.session_id)).toEqual([other])
      expect(await store.load(grandchild)).toBeNull()
    })

    it('does not remove a session that is in use', async () => {
      const id = await session('/d')
      const journal = await held(store, id)
      await expect(store.remove(id)).rejects.toThrow(`process ${process.pid}`)
      await journal.release()
      expect((await store.load(id))?.entries).toHaveLength(2)
    })

    it('never takes one directory for another that looks like it', async () => {
      const pairs = [
        ['/a-b/c', '/a/b-c'],
        ['/päth', '/p-th'],
        ['/日本', '/中国'],
        ['/A', '/a'],
        ['/x.y', '/x-y'],
        ['/x ', '/x'],
        ['/%2F', '//'],
        ['/a_b', '/a%b'],
        ['/\u00e9', '/e\u0301'],
        [`/${'long'.repeat(1000)}`, `/${'long'.repeat(1000)}r`],
      ] as const
      for (const [used, unused] of pairs) {
        const id = await session(used)
        expect([unused, await store.latest(unused)]).toEqual([unused, null])
        expect((await store.latest(used))?.session_id).toBe(id)
        expect(await store.list(unused)).toEqual([])
      }
    })

    it('keeps the head small however long the prompt is, and cuts no character in two', async () => {
      const id = await session('/d', { first_prompt: 'x'.repeat(1999) + '😀'.repeat(50_000) })
      expect((await store.load(id))?.head.first_prompt).toBe(`${'x'.repeat(1999)}…`)
    })

    it('reads a thousand records in their order', async () => {
      const id = randomUUID()
      const journal = await held(store, id)
      const entries = Array.from({ length: 1000 }, (_, n) => finished(`result ${n}`))
      await journal.append(entries, update('/d'))
      await journal.release()
      const loaded = await store.load(id)
      expect(loaded?.entries.map((entry) => entry.record)).toEqual(entries.map((entry) => entry.record))
      expect(loaded?.warnings).toEqual([])
    })
  })
}
