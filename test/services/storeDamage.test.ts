/** What is found damaged: kept whole, told once, and the run goes on; and what cannot be used says why. */

import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createStore, StoreError } from '../../src/services/store/index.ts'
import {
  collected,
  compiled,
  finished,
  held,
  opened,
  prompted,
  sql,
  start,
  temporaryHomes,
  update,
} from './storeSupport.ts'

// Real processes and thousands of files, on machines that have other things to do.
vi.setConfig({ testTimeout: 300_000 })

const homes = temporaryHomes()
let home: string
let file: string
let warnings: string[]

beforeEach(async () => {
  home = await homes.make()
  file = join(home, 'sessions.sqlite')
  warnings = []
})
afterEach(() => homes.clean())

const open = () => createStore({ home, warn: (message) => void warnings.push(message) })

/** A session of three records; the store is closed again and its log is in the database. */
async function session(cwd = '/project'): Promise<string> {
  const store = open()
  const id = randomUUID()
  const journal = await held(store, id)
  await journal.append([opened(id, cwd), prompted('do it', cwd), finished('done')], update(cwd))
  await journal.release()
  await store.close()
  await sql(file, ['PRAGMA wal_checkpoint(TRUNCATE)'])
  return id
}

const bytesOf = (name: string): Buffer => readFileSync(join(home, name))
const asideNames = (): string[] => readdirSync(home).filter((name) => name.includes('damaged'))

/** A new run works: its session is saved and can be read by the next. */
async function expectUsable(): Promise<void> {
  const id = await session('/after')
  const store = open()
  expect((await store.load(id))?.entries).toHaveLength(3)
  expect((await store.latest('/after'))?.session_id).toBe(id)
  await store.close()
}

describe('a database file that cannot be used', () => {
  const noDatabase: Array<[string, () => Promise<void> | void]> = [
    ['random bytes', () => writeFileSync(file, randomBytes(5000))],
    ['a few random bytes', () => writeFileSync(file, randomBytes(60))],
    ['a text', () => writeFileSync(file, 'not a database\n'.repeat(400))],
    [
      'a database cut to 100 bytes',
      async () => {
        await session()
        truncateSync(file, 100)
      },
    ],
    [
      'a database cut in the middle',
      async () => {
        await session()
        truncateSync(file, 4096)
      },
    ],
    ['a table of another shape', () => sql(file, ['CREATE TABLE keyv (id INTEGER, data BLOB)']).then(() => {})],
    ['a table without a key', () => sql(file, ['CREATE TABLE keyv (key TEXT, value TEXT)']).then(() => {})],
    [
      'a view in place of the table',
      () => sql(file, ["CREATE VIEW keyv AS SELECT 'a' AS key, 'b' AS value"]).then(() => {}),
    ],
  ]
  for (const [what, damage] of noDatabase) {
    it(`is moved aside byte for byte with one warning, and the run goes on: ${what}`, async () => {
      await damage()
      warnings = []
      const before = bytesOf('sessions.sqlite')
      await expectUsable()
      expect(asideNames()).toContain('sessions.sqlite.damaged-1')
      expect(bytesOf('sessions.sqlite.damaged-1')).toEqual(before)
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toMatch(
        /^The session store .*sessions\.sqlite cannot be used because .*\. It is kept as .*sessions\.sqlite\.damaged-1, and sessions go into a new one\.$/,
      )
      expect(statSync(file).mode & 0o777).toBe(0o600)
    })
  }

  it('takes its log files along', async () => {
    writeFileSync(file, 'not a database\n'.repeat(400))
    const log = Buffer.concat([Buffer.from('377f0682', 'hex'), randomBytes(500)])
    writeFileSync(`${file}-wal`, log)
    writeFileSync(`${file}-shm`, 'shared memory')
    await expectUsable()
    expect(asideNames().sort()).toEqual([
      'sessions.sqlite.damaged-1',
      'sessions.sqlite.damaged-1-shm',
      'sessions.sqlite.damaged-1-wal',
    ])
    expect(bytesOf('sessions.sqlite.damaged-1-wal')).toEqual(log)
  })

  it('never overwrites what was moved aside before', async () => {
    for (const text of ['first '.repeat(200), 'second '.repeat(200)]) {
      writeFileSync(file, text)
      for (const part of ['-wal', '-shm']) writeFileSync(file + part, '')
      await expectUsable()
    }
    expect(bytesOf('sessions.sqlite.damaged-1').toString()).toBe('first '.repeat(200))
    expect(bytesOf('sessions.sqlite.damaged-2').toString()).toBe('second '.repeat(200))
  })

  it('is moved by one of several processes that find it at once; each saves its session', async () => {
    writeFileSync(file, 'not a database\n'.repeat(400))
    const script = await compiled(
      home,
      `import { createStore } from '../../src/services/store/index.ts'
       import { held, opened, update } from './storeSupport.ts'
       const [home, id] = process.argv.slice(2)
       const store = createStore({ home, warn: (message) => console.log('WARNING ' + message) })
       const journal = await held(store, id)
       await journal.append([opened(id, '/d')], update('/d'))
       await journal.release()`,
    )
    const ids = Array.from({ length: 6 }, () => randomUUID())
    const runs = await Promise.all(ids.map((id) => start(script, [home, id]).ended))
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(ids.map(() => ({ code: 0, stderr: '' })))
    expect(runs.filter(({ stdout }) => stdout.includes('WARNING'))).toHaveLength(1)
    expect(asideNames()).toEqual(['sessions.sqlite.damaged-1'])
    const store = open()
    expect((await store.list('/d')).map((head) => head.session_id).sort()).toEqual([...ids].sort())
    await store.close()
  })

  it('is used as it is where it is empty', async () => {
    writeFileSync(file, '')
    await expectUsable()
    expect({ warnings, aside: asideNames() }).toEqual({ warnings: [], aside: [] })
  })

  it('loses only a log that is none: the sessions stay', async () => {
    const id = await session()
    const noise = randomBytes(9000)
    writeFileSync(`${file}-wal`, noise)
    const store = open()
    expect((await store.load(id))?.entries).toHaveLength(3)
    await store.close()
    expect(asideNames()).toEqual(['sessions.sqlite.damaged-1-wal'])
    expect(bytesOf('sessions.sqlite.damaged-1-wal')).toEqual(noise)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('write-ahead log')
    await expectUsable()
  })

  it('is a clear error where a directory is in its place', async () => {
    mkdirSync(file)
    const store = open()
    await expect(store.load(randomUUID())).rejects.toThrow(`The session store ${file} is a directory. Move it away.`)
    const journal = await held(store, randomUUID())
    await expect(journal.append([finished('x')], update('/d'))).rejects.toBeInstanceOf(StoreError)
    await journal.release()
    await store.close()
    expect(readdirSync(file)).toEqual([])
  })

  it('is left alone where a newer version wrote it', async () => {
    await session()
    await sql(file, ['PRAGMA user_version = 2'], ['PRAGMA wal_checkpoint(TRUNCATE)'])
    const before = bytesOf('sessions.sqlite')
    const store = open()
    await expect(store.list(null)).rejects.toThrow('was written by a newer version. Update with "npm install')
    await store.close()
    expect(bytesOf('sessions.sqlite')).toEqual(before)
    expect(asideNames()).toEqual([])
  })

  it('is not thrown away for a damaged page in its middle', async () => {
    const other = await session('/other')
    const store = open()
    const id = randomUUID()
    const journal = await held(store, id)
    for (let n = 0; n < 40; n++) await journal.append([finished('x'.repeat(3000), `toolu_${n}`)], update('/d'))
    await journal.release()
    await store.close()
    await sql(file, ['PRAGMA wal_checkpoint(TRUNCATE)'])
    const bytes = bytesOf('sessions.sqlite')
    const place = bytes.indexOf('toolu_30')
    bytes.fill(0xff, place - (place % 4096), place - (place % 4096) + 4096)
    writeFileSync(file, bytes)

    const again = open()
    const loaded = await again.load(id)
    expect(loaded?.entries.map(({ seq }) => seq)).toEqual(
      Array.from({ length: loaded?.entries.length ?? 0 }, (_, seq) => seq),
    )
    expect(loaded?.entries.length).toBeGreaterThan(20)
    expect(loaded?.entries.length).toBeLessThanOrEqual(30)
    expect(loaded?.warnings).toHaveLength(1)
    expect(loaded?.warnings[0]).toMatch(
      /^Record \d+ of session .* is missing or cannot be read\. Only the \d+ records before it are used\.$/,
    )
    expect((await again.load(other))?.entries).toHaveLength(3)
    await again.close()
    expect(asideNames()).toEqual([])
  })
})

describe('a store that cannot be written', () => {
  /** What a run sees, as a user without special rights: the errors of an append and of a load. */
  const attempt = async (prepare: () => void): Promise<{ append: string; load: string; stderr: string }> => {
    const script = await compiled(
      await homes.make(),
      `import { createStore } from '../../src/services/store/index.ts'
       import { held, opened, update } from './storeSupport.ts'
       const [home, id] = process.argv.slice(2)
       const store = createStore({ home, warn: (message) => console.error('WARNING ' + message) })
       const said = (work) => work.then(() => 'ok', (error) => error.name + ': ' + error.message)
       const journal = await held(store, id)
       const append = await said(journal.append([opened(id, '/d')], update('/d')))
       await journal.release()
       const load = await said(store.load(id))
       console.log(JSON.stringify({ append, load }))`,
    )
    chmodSync(join(script, '..'), 0o755)
    const root = process.getuid?.() === 0
    if (root) for (const name of ['.', ...readdirSync(home)]) chownSync(join(home, name), 65534, 65534)
    prepare()
    const { ended } = start(script, [home, randomUUID()], root ? { uid: 65534, gid: 65534 } : {})
    const { stdout, stderr } = await ended
    return { ...JSON.parse(stdout || '{"append":"died","load":"died"}'), stderr }
  }
  afterEach(() => chmodSync(home, 0o700))

  it('says that it may not be opened (mode 000), and leaves it as it is', async () => {
    await session()
    const before = bytesOf('sessions.sqlite')
    const { append, load, stderr } = await attempt(() => chmodSync(file, 0))
    expect(append).toMatch(
      /^StoreError: The session store .*sessions\.sqlite cannot be opened \(.*\)\. Check its permissions, or set AGENT_HOME/,
    )
    expect({ load, stderr }).toEqual({ load: append, stderr: '' })
    expect(statSync(file).mode & 0o777).toBe(0)
    chmodSync(file, 0o600)
    expect(bytesOf('sessions.sqlite')).toEqual(before)
    expect(asideNames()).toEqual([])
  })

  it('says that it is read-only (mode 400)', async () => {
    await session()
    const { append, stderr } = await attempt(() => chmodSync(file, 0o400))
    expect(append).toMatch(/^StoreError: The session store .*sessions\.sqlite is read-only\. Make it writable/)
    expect(stderr).toBe('')
  })

  it('says that the home cannot be written, with a store in it or without', async () => {
    const empty = await attempt(() => chmodSync(home, 0o500))
    expect(empty.append).toMatch(
      /^StoreError: The session store .* cannot be opened \(.*permission denied.*\)\. Check its permissions/,
    )
    expect(empty.stderr).toBe('')
    chmodSync(home, 0o700)
    await session()
    const full = await attempt(() => {
      for (const part of ['-wal', '-shm']) rmSync(file + part, { force: true })
      chmodSync(home, 0o500)
    })
    expect(full.append).toMatch(/^StoreError: The session store /)
    expect(full.stderr).toBe('')
  })

  it('says that the home is no directory', async () => {
    home = join(home, 'file')
    file = join(home, 'sessions.sqlite')
    writeFileSync(home, '')
    const store = open()
    const journal = await held(store, randomUUID())
    for (const work of [journal.append([finished('x')], update('/d')), store.list(null)]) {
      await expect(work).rejects.toThrow(
        /^The session store .* because a part of its path is no directory\. Set AGENT_HOME/,
      )
    }
    await store.close()
    home = join(home, '..')
  })

  it('says so when the table is gone between two writes, and does not pretend', async () => {
    const store = open()
    const journal = await held(store, randomUUID())
    await journal.append([finished('one')], update('/d'))
    await sql(file, ['DROP TABLE keyv'])
    await expect(journal.append([finished('two')], update('/d'))).rejects.toThrow(
      `The session store ${file} does not work: no such table: keyv.`,
    )
    await journal.release()
    await store.close()
  })

  it('leaves a session as it was where a write fails half-way', async () => {
    const id = randomUUID()
    const script = await compiled(
      home,
      `import { createStore } from '../../src/services/store/index.ts'
       import { finished, held, opened, update } from './storeSupport.ts'
       const [home, id] = process.argv.slice(2)
       const store = createStore({ home, warn: (message) => console.error('WARNING ' + message) })
       const journal = await held(store, id)
       await journal.append([opened(id, '/d')], update('/d'))
       const large = [finished('small'), finished('x'.repeat(3_000_000))]
       await journal.append(large, update('/d')).catch((error) => console.log(error.name + ': ' + error.message))
       await journal.append([finished('after')], update('/d'))
       process.kill(process.pid, 'SIGKILL')`,
    )
    // No file may grow beyond 1 MiB (in blocks of 512 bytes or of 1,024, as the shell counts them).
    const limited = spawn('sh', ['-c', 'ulimit -f 1024; exec "$0" "$@"', process.execPath, script, home, id])
    const { stdout, stderr } = await collected(limited)
    expect(stdout).toMatch(/^StoreError: The session store .* cannot be (read or )?written .*\n$/)
    expect(stderr).toBe('')
    const store = open()
    const loaded = await store.load(id)
    expect(loaded?.entries.map(({ seq, record }) => [seq, record])).toEqual([
      [0, opened(id, '/d').record],
      [1, finished('after').record],
    ])
    expect(loaded?.warnings).toEqual([])
    await store.close()
  })
})
