/** Many processes on one store, killed at any moment. */

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { entryText } from '../../src/machines/entryText.ts'
import { createStore } from '../../src/services/store/index.ts'
import { compiled, finished, held, opened, sql, start, temporaryHomes, update } from './storeSupport.ts'

// Real processes and thousands of files, on machines that have other things to do.
vi.setConfig({ testTimeout: 300_000 })

const homes = temporaryHomes()
let home: string
let warnings: string[]

beforeEach(async () => {
  home = join(await homes.make(), 'not', 'there', 'yet')
  warnings = []
})
afterEach(() => homes.clean())

const open = () => createStore({ home, warn: (message) => void warnings.push(message) })

const WRITER = `
  import { createStore } from '../../src/services/store/index.ts'
  import { finished, held, opened, update } from './storeSupport.ts'
  const [home, id, cwd, appends, entries] = process.argv.slice(2)
  const store = createStore({ home, warn: (message) => console.error('WARNING ' + message) })
  const journal = await held(store, id)
  await journal.append([opened(id, cwd)], update(cwd))
  for (let n = 0; n < Number(appends); n++) {
    const some = Array.from({ length: Number(entries) }, (_, k) => finished(n + '.' + k))
    await journal.append(some, update(cwd, { turns: n }))
    console.log(n)
  }
  await journal.release()
  await store.close()`

const expected = (appends: number, entries: number): string[] => [
  'opened',
  ...Array.from({ length: appends * entries }, (_, at) => `${Math.floor(at / entries)}.${at % entries}`),
]

async function contents(id: string): Promise<string[]> {
  const store = open()
  const loaded = await store.load(id)
  await store.close()
  expect(loaded?.warnings).toEqual([])
  return (
    loaded?.entries.map(({ record }) => (record.type === 'toolFinished' ? String(record.content) : record.type)) ?? []
  )
}

describe('several processes in one home', () => {
  it('begin it together and lose nothing: eight, two hundred appends each', async () => {
    const script = await compiled(await homes.make(), WRITER)
    const ids = Array.from({ length: 8 }, () => randomUUID())
    const runs = await Promise.all(ids.map((id) => start(script, [home, id, '/d', '200', '1']).ended))
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(ids.map(() => ({ code: 0, stderr: '' })))
    for (const id of ids) expect(await contents(id)).toEqual(expected(200, 1))
    const store = open()
    const list = await store.list('/d')
    expect(list.map((head) => head.session_id).sort()).toEqual([...ids].sort())
    expect(list.map((head) => head.count)).toEqual(ids.map(() => 201))
    expect(ids).toContain((await store.latest('/d'))?.session_id)
    await store.close()
  })

  it('take the last of two that finish in one directory for its latest', async () => {
    const script = await compiled(await homes.make(), WRITER)
    const ids = Array.from({ length: 4 }, () => randomUUID())
    await Promise.all(ids.map((id) => start(script, [home, id, '/d', '20', '1']).ended))
    const store = open()
    const last = randomUUID()
    const journal = await held(store, last)
    await journal.append([opened(last, '/d')], update('/d'))
    await journal.release()
    expect((await store.latest('/d'))?.session_id).toBe(last)
    await store.close()
  })

  it('wait for one that holds the database for a while', async () => {
    const store = open()
    const id = randomUUID()
    const journal = await held(store, id)
    await journal.append([opened(id, '/d')], update('/d'))
    const file = join(home, 'sessions.sqlite')
    const blocker = await compiled(
      await homes.make(),
      `import { createRequire } from 'node:module'
       const { Database } = createRequire(${JSON.stringify(import.meta.url)})('sqlite3')
       const db = new Database(process.argv[2], () => db.all('BEGIN IMMEDIATE', (error) => {
         console.log(error?.message ?? 'begun')
         setTimeout(() => db.all('COMMIT', () => db.close()), 1500)
       }))`,
    )
    const { child, ended } = start(blocker, [file])
    const began = await new Promise<string>((resolve) => child.stdout?.once('data', (chunk) => resolve(String(chunk))))
    expect(began).toBe('begun\n')
    await journal.append([finished('waited')], update('/d'))
    await journal.release()
    await store.close()
    await ended
    expect(await contents(id)).toEqual(['opened', 'waited'])
  })
})

describe('a process killed with -9', () => {
  it('leaves every append it was told of whole, and no part of the one it was at', async () => {
    const script = await compiled(await homes.make(), WRITER)
    for (let round = 0; round < 8; round++) {
      const id = randomUUID()
      const { child, ended } = start(script, [home, id, '/d', '100000', '3'])
      let seen = ''
      await new Promise<void>((resolve) => {
        child.stdout?.on('data', (chunk) => {
          seen += chunk
          if (seen.split('\n').length > 10 + round * 7) resolve()
        })
      })
      child.kill('SIGKILL')
      const { stdout, signal } = await ended
      expect(signal).toBe('SIGKILL')
      const told = stdout.split('\n').filter((line) => line !== '').length
      const found = await contents(id)
      expect(found.length % 3).toBe(1)
      const appends = (found.length - 1) / 3
      // The one after the last it told of may have been written, and not yet told.
      expect([told, told + 1]).toContain(appends)
      expect(found).toEqual(expected(appends, 3))

      const store = open()
      const journal = await held(store, id)
      const [entry] = await journal.append([finished('resumed')], update('/d'))
      expect(entry?.seq).toBe(found.length)
      await journal.release()
      await store.close()
      expect(await contents(id)).toEqual([...expected(appends, 3), 'resumed'])
    }
  })
})

describe('the files of a store', () => {
  it('are open to nobody else, whatever the umask', async () => {
    const script = await compiled(
      await homes.make(),
      `import { readdirSync, statSync } from 'node:fs'
       import { createStore } from '../../src/services/store/index.ts'
       import { held, opened, update } from './storeSupport.ts'
       const [home, id, mask] = process.argv.slice(2)
       process.umask(Number.parseInt(mask, 8))
       const store = createStore({ home, warn: (message) => console.error('WARNING ' + message) })
       const journal = await held(store, id)
       await journal.append([opened(id, '/d')], update('/d'))
       const modes = {}
       for (const name of ['.', ...readdirSync(home), 'locks/' + readdirSync(home + '/locks')[0]]) {
         modes[name.replace(id, 'ID')] = (statSync(home + '/' + name).mode & 0o777).toString(8)
       }
       console.log(JSON.stringify(modes))`,
    )
    for (const mask of ['000', '022', '077', '377']) {
      const { stdout, stderr } = await start(script, [join(home, mask), randomUUID(), mask]).ended
      expect(stderr).toBe('')
      expect([mask, JSON.parse(stdout)]).toEqual([
        mask,
        {
          '.': '700',
          locks: '700',
          'locks/ID.lock': '600',
          'sessions.sqlite': '600',
          'sessions.sqlite-shm': '600',
          'sessions.sqlite-wal': '600',
        },
      ])
    }
  })

  it('are closed to others where an older run left them open', async () => {
    mkdirSync(home, { recursive: true, mode: 0o755 })
    const store = open()
    const journal = await held(store, randomUUID())
    await journal.append([finished('x')], update('/d'))
    await journal.release()
    await store.close()
    execFileSync('chmod', ['-R', 'go+rX', home])
    const again = open()
    await again.list(null)
    const modes = ['.', ...readdirSync(home)].map((name) => [name, statSync(join(home, name)).mode & 0o077])
    expect(modes).toEqual(modes.map(([name]) => [name, name === 'locks' ? 0o055 : 0]))
    await again.close()
  })

  it('do not close a directory that serves others too', async () => {
    mkdirSync(join(home, 'public'), { recursive: true, mode: 0o755 })
    const store = open()
    await store.list(null)
    await store.close()
    expect(statSync(home).mode & 0o777).toBe(0o755)
    expect(statSync(join(home, 'sessions.sqlite')).mode & 0o777).toBe(0o600)
  })

  it('hold plain JSON that other tools can read', async () => {
    const store = open()
    const id = randomUUID()
    const journal = await held(store, id)
    const [entry] = await journal.append([opened(id, '/d')], update('/d'))
    if (entry === undefined) throw new Error('nothing was written')
    await journal.release()
    await store.close()
    const rows = await sql(join(home, 'sessions.sqlite'), ['SELECT value FROM keyv WHERE key = ?', `s:${id}:000000`])
    expect(rows).toEqual([{ value: entryText(entry) }])
  })
})
