/** Stores on real servers: the contract of every store, and runs of the command line over them. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import KeyvRedis from '@keyv/redis'
import pg from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type Server, startServers } from '../../scripts/servers.mjs'
import { createStore, parseStoreUri } from '../../src/services/store/index.ts'
import { brain, effect, effects, NEW_PROMPT, PROMPT } from '../kill/scenario.ts'
import { describeStore } from '../services/storeContract.ts'
import { finished, held, opened, temporaryHomes, update } from '../services/storeSupport.ts'
import { type Ended, resultOf } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const { redis, postgres } = await startServers()
afterAll(async () => {
  for (const server of [redis, postgres]) if (typeof server !== 'string') await server.stop()
})

const homes = temporaryHomes()

/** Runs statements beside the store. */
async function query(uri: string, text: string): Promise<Array<Record<string, unknown>>> {
  const pool = new pg.Pool({
    connectionString: uri,
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
    max: 1,
    allowExitOnIdle: true,
  })
  const { rows } = await pool.query(text)
  await pool.end()
  return rows
}

async function withRedis<T>(uri: string, work: (store: KeyvRedis<string>) => Promise<T>): Promise<T> {
  const store = new KeyvRedis<string>(uri, { throwOnErrors: true })
  const result = await work(store)
  await store.disconnect()
  return result
}

interface Kind {
  name: 'redis' | 'postgres'
  server: Server | string
  /** Puts a thing of someone else beside ours. */
  foreign(uri: string): Promise<void>
  /** All there is by name, of ours or not. */
  names(uri: string): Promise<string[]>
  clear(uri: string): Promise<void>
}

const KINDS: Kind[] = [
  {
    name: 'redis',
    server: redis,
    foreign: (uri) => withRedis(uri, async (store) => void (await store.set('h:theirs', 'x'))),
    names: (uri) =>
      withRedis(uri, async (store) => ((await store.getClient()) as { keys(p: string): Promise<string[]> }).keys('*')),
    clear: (uri) =>
      withRedis(
        uri,
        async (store) => void (await ((await store.getClient()) as { flushAll(): Promise<unknown> }).flushAll()),
      ),
  },
  {
    name: 'postgres',
    server: postgres,
    foreign: async (uri) =>
      void (await query(uri, "CREATE TABLE keyv(key text, value text); INSERT INTO keyv VALUES ('h:theirs', 'x')")),
    names: async (uri) => {
      const tables = await query(uri, "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
      const keys = await query(uri, 'SELECT key AS name FROM stepwright')
      return [...tables, ...keys].map(({ name }) => String(name))
    },
    clear: async (uri) => void (await query(uri, 'DROP TABLE IF EXISTS stepwright; DROP TABLE IF EXISTS keyv')),
  },
]

const secretOf = (uri: string): string => decodeURIComponent(new URL(uri).password)

/** The password is nowhere, encoded or not. */
function expectNoSecret(end: Ended, uri: string): void {
  expect(end.stdout + end.stderr).not.toContain(secretOf(uri))
  expect(end.stdout + end.stderr).not.toContain(new URL(uri).password)
  expect(end.stderr).not.toMatch(/\n\s+at |internal error|Unhandled/)
}

for (const kind of KINDS) {
  const { server } = kind
  if (typeof server === 'string') {
    // A check that nobody can make here; where CI runs, it must be made.
    test.skipIf(!process.env.CI)(`${kind.name}: ${server}`, () => expect.fail(server))
    continue
  }
  const { uri } = server

  describeStore(`a ${kind.name} server`, async () => {
    await kind.clear(uri)
    const home = await homes.make()
    const warnings: string[] = []
    const warn = (message: string) => void warnings.push(message)
    return { open: (now = Date.now) => createStore({ home, uri, warn, now }), clean: homes.clean, warnings }
  })

  describe(`a ${kind.name} server`, () => {
    const runs = async (replies: Parameters<typeof setUp>[0]): Promise<SetUp> => {
      await kind.clear(uri)
      const place = await setUp(replies)
      const env = { AGENT_STORE: uri }
      const bare: SetUp['bare'] = (args, more = {}) => place.bare(args, { ...more, env: { ...env, ...more.env } })
      return { ...place, bare, run: (args, more) => bare(['-C', place.dir, ...args], more) }
    }

    test('keeps sessions of the command line: run, continued, listed, exported, removed', async () => {
      const place = await runs(brain({ name: 'two', steps: [{ calls: [effect('a')] }, { calls: [effect('b')] }] }))
      const first = await place.run(['--yes', '-p', PROMPT])
      expect([first.code, first.stderr]).toEqual([0, ''])
      const { session_id } = resultOf(first)
      // From another home, as from another machine.
      const other = await setUp(['never'])
      const list = await place.run(['sessions', '--json'], { home: other.home })
      expect(JSON.parse(list.stdout)).toMatchObject([{ session_id, first_prompt: PROMPT }])
      const next = await place.run(['--continue', '-p', NEW_PROMPT])
      expect([next.code, resultOf(next).session_id, place.model.problems]).toEqual([0, session_id, []])
      expect((await place.run(['sessions', 'export', session_id])).stdout.split('\n').length).toBeGreaterThan(10)
      expect((await place.run(['sessions', 'rm', session_id])).code).toBe(0)
      expect((await place.run(['--continue', '-p', 'x'])).code).toBe(2)
    })

    test('that serves others too: their data is neither read nor touched', async () => {
      const place = await runs(['ok'])
      await kind.foreign(uri)
      const { session_id } = resultOf(await place.run(['-p', 'x']))
      expect(JSON.parse((await place.run(['sessions', '--all', '--json'])).stdout)).toHaveLength(1)
      await place.run(['sessions', 'rm', session_id])
      const left = await kind.names(uri)
      expect(left.filter((name) => !/^(stepwright:)?(d|x):|^stepwright$/.test(name))).toEqual([
        kind.name === 'redis' ? 'h:theirs' : 'keyv',
      ])
    })

    test('after kill -9 at any record the session goes on', async () => {
      const place = await runs(brain({ name: 'one', steps: [{ calls: [effect('a')] }] }))
      for (const n of [2, 4, 5, 6]) {
        await place.run(['--yes', '-p', PROMPT], { env: { AGENT_FAULT: `kill journal.append ${n} after` } })
        const end = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
        expect([end.code, place.model.problems]).toEqual([0, []])
      }
      expect(effects(place.dir).length).toBeLessThanOrEqual(4)
    })

    test('holds many processes at once', async () => {
      const place = await runs(({ body }) => `answer to ${body.messages[0]?.content[0]?.text}`)
      const ends = await Promise.all(Array.from({ length: 8 }, (_, n) => place.run(['-p', `prompt ${n}`])))
      expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, '']))
      expect(JSON.parse((await place.run(['sessions', '--json'])).stdout)).toHaveLength(8)
    })

    test('that refuses the password, or is not there: the answer comes, an old session is refused, no secret is told', async () => {
      const wrong = uri.replace(new URL(uri).password, 'WRONG-SECRET')
      const nobody = uri.replace(/:\d+(?=$|\/)/, ':1')
      for (const address of [wrong, nobody]) {
        const place = await runs(['the answer'])
        const env = { AGENT_STORE: address }
        const end = await place.run(['-p', 'x'], { env })
        expectNoSecret(end, address)
        expect([end.code, resultOf(end).result, resultOf(end).errors]).toEqual([
          1,
          'the answer',
          [
            expect.stringMatching(
              /^The session could not be saved: The session store (redis|postgres):\/\/\*\*\*@127\.0\.0\.1:\d+.* (does not work|cannot be reached)/,
            ),
          ],
        ])
        const resumed = await place.run(['--continue', '-p', 'x'], { env })
        expectNoSecret(resumed, address)
        expect([resumed.code, resultOf(resumed).is_error]).toEqual([2, true])
        const config = await place.run(['config', '--json'], { env })
        expectNoSecret(config, address)
        expect(config.stdout).toContain('***@127.0.0.1')
      }
    })

    test('is not named to the tools, since its address holds a password', async () => {
      const place = await runs((request) =>
        JSON.stringify(request.body.messages).includes('toolu_env')
          ? 'ok'
          : reply([call('bash', { command: 'env' }, 'toolu_env')]),
      )
      expect((await place.run(['--yes', '-p', 'x'])).code).toBe(0)
      const sent = place.model.requests.map(({ raw }) => raw).join()
      expect(sent).not.toContain(secretOf(uri))
      expect(sent).not.toContain(new URL(uri).password)
    })

    test('that dies in the middle of a run: the answer comes and is said to be lost; later it is there again', async () => {
      const place = await runs(async (request, n) => {
        if (n === 0) return 'before'
        if (JSON.stringify(request.body.messages).includes('toolu_a')) return 'the answer'
        if (n === 1) await server.kill()
        return reply([effect('a')])
      })
      await place.run(['-p', 'first'])
      const end = await place.run(['--yes', '--continue', '-p', 'second'])
      await server.start()
      expectNoSecret(end, uri)
      expect([end.code, resultOf(end).result]).toEqual([1, 'the answer'])
      expect(resultOf(end).errors?.[0]).toMatch(/^The session could not be saved: /)
      expect(effects(place.dir)).toEqual(['toolu_a'])
      const next = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
      expect([next.code, place.model.problems]).toEqual([0, []])
    })

    test('written from two machines at once: the second is told, and the first loses nothing', async () => {
      await kind.clear(uri)
      const [here, there] = [await homes.make(), await homes.make()].map((home) =>
        createStore({ home, uri, warn: () => {} }),
      )
      if (here === undefined || there === undefined) throw new Error('two stores')
      const id = randomUUID()
      const first = await held(here, id)
      await first.append([opened(id, '/d')], update('/d'))
      // The locks are files of a home: this one is not seen there.
      const second = await held(there, id)
      await second.append([finished('theirs')], update('/d'))
      await expect(first.append([finished('ours')], update('/d'))).rejects.toThrow(
        /written by another machine meanwhile/,
      )
      await second.append([finished('theirs too')], update('/d'))
      const contents = (await here.load(id))?.entries.map(({ record }) =>
        record.type === 'toolFinished' ? record.content : record.type,
      )
      expect(contents).toEqual(['opened', 'theirs', 'theirs too'])
      for (const store of [here, there]) await store.close()
      await homes.clean()
    })

    test('keeps a long session in the order of its records', async () => {
      await kind.clear(uri)
      const store = createStore({ home: await homes.make(), uri, warn: () => {} })
      const id = randomUUID()
      const journal = await held(store, id)
      await journal.append([opened(id, '/d')], update('/d'))
      for (let n = 0; n < 50; n++) {
        await journal.append(
          Array.from({ length: 50 }, (_, k) => finished(`${n}.${k}`)),
          update('/d'),
        )
      }
      await journal.release()
      const contents = (await store.load(id))?.entries.map(({ record }) =>
        record.type === 'toolFinished' ? record.content : '',
      )
      expect(contents?.slice(1)).toEqual(Array.from({ length: 2500 }, (_, n) => `${Math.floor(n / 50)}.${n % 50}`))
      await store.close()
      await homes.clean()
    })
  })
}

describe('the address of a server', () => {
  const home = join('/', 'home')
  test.each([
    ['redis://localhost', 'redis', 'redis://localhost'],
    ['rediss://user:SECRET@host:6380/2', 'redis', 'rediss://***@host:6380/2'],
    ['postgres://user:SECRET@host/db', 'postgres', 'postgres://***@host/db'],
    [
      'postgresql://host/db?password=SECRET&sslmode=require',
      'postgres',
      'postgresql://host/db?password=***&sslmode=require',
    ],
    ['postgres:///db?host=/var/run/postgresql', 'postgres', 'postgres:///db?host=/var/run/postgresql'],
  ])('%s', (uri, kind, place) => {
    expect(parseStoreUri(uri, home)).toEqual({ ok: true, value: { kind, uri, place } })
  })

  test.each(['redis://', 'redis://user:SE/CRET@host', 'postgres://u:SEC#RET@host:port/db'])(
    '%s is refused, and the password not told',
    (uri) => {
      const parsed = parseStoreUri(uri, home)
      expect(parsed).toEqual({
        ok: false,
        message: expect.stringMatching(/^The store .* is no URI of a server; write /),
      })
      expect(JSON.stringify(parsed)).not.toMatch(/SEC?\/?#?CRET|SEC#RET/)
    },
  )
})
