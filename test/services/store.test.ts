import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeyvSqlite } from '@keyv/sqlite'
import { Keyv } from 'keyv'
import { describe, expect, it, vi } from 'vitest'
import { parseStoreUri, withoutPassword } from '../../src/services/store/adapter.ts'
import { StoreError, storeError } from '../../src/services/store/errors.ts'
import { createStore } from '../../src/services/store/index.ts'
import { overKeyv, PLAIN_TEXT } from '../../src/services/store/keyValue.ts'
import { storeOver } from '../../src/services/store/store.ts'
import { describeStore } from './storeContract.ts'
import { compiled, finished, held, start, temporaryHomes, update } from './storeSupport.ts'

// Real processes and thousands of files, on machines that have other things to do.
vi.setConfig({ testTimeout: 300_000 })

const homes = temporaryHomes()

describeStore('SQLite', async () => {
  const home = join(await homes.make(), 'home')
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  return { open: (now = Date.now) => createStore({ home, warn, now }), clean: homes.clean, warnings }
})

/** Adapters as they are, without what SQLite has of its own. */
for (const [name, adapter] of [
  ['a Map', () => new Map()],
  ['an adapter that has nothing of its own', (home: string) => new KeyvSqlite(`sqlite://${home}/any.sqlite`)],
] as const) {
  describeStore(`any Keyv: ${name}`, async () => {
    const home = await homes.make()
    const keyv = new Keyv<string>({ store: adapter(home), ...PLAIN_TEXT })
    const warnings: string[] = []
    const warn = (message: string) => void warnings.push(message)
    // Several stores share the one Keyv, so none of them may close it.
    const connect = async () => ({ ...overKeyv(keyv, 'a test'), close: async () => {} })
    return {
      open: (now = Date.now) => storeOver({ locks: join(home, 'locks'), connect, warn, now }),
      clean: homes.clean,
      warnings,
    }
  })
}

describe('a store URI', () => {
  const home = join(tmpdir(), 'home')
  it('names a file, memory, or by default the file in the home', () => {
    expect(parseStoreUri(undefined, home)).toEqual({
      ok: true,
      value: { kind: 'sqlite', path: join(home, 'sessions.sqlite') },
    })
    expect(parseStoreUri('', home)).toEqual(parseStoreUri(undefined, home))
    expect(parseStoreUri('sqlite:///var/x.db', home)).toEqual({
      ok: true,
      value: { kind: 'sqlite', path: '/var/x.db' },
    })
    expect(parseStoreUri('sqlite://x.db', home)).toEqual({
      ok: true,
      value: { kind: 'sqlite', path: join(home, 'x.db') },
    })
    expect(parseStoreUri('memory:', home)).toEqual({ ok: true, value: { kind: 'memory' } })
  })

  it('that cannot be used is named without its password', () => {
    for (const uri of ['mongodb://u:secret@host/db', 'x', 'sqlite://', 'sqlite://:memory:', '/path/only']) {
      const parsed = parseStoreUri(uri, home)
      expect(!parsed.ok && parsed.message).toMatch(/^The store .+ (names no file|is of no known kind); .*\.$/)
      expect(JSON.stringify(parsed)).not.toContain('secret')
    }
    expect(withoutPassword('redis://:p@ss@host:1/0')).toBe('redis://***@host:1/0')
    expect(withoutPassword('redis://host:1/0')).toBe('redis://host:1/0')
  })

  it('that cannot be used makes every call say so, and the run can go on unsaved', async () => {
    const store = createStore({ home: await homes.make(), uri: 'mongodb://host', warn: () => {} })
    const sentence = /^The store mongodb:\/\/host is of no known kind; write sqlite:/
    await expect(store.load(randomUUID())).rejects.toThrow(sentence)
    const journal = await held(store, randomUUID())
    await expect(journal.append([finished('x')], update('/d'))).rejects.toThrow(sentence)
    await journal.release()
    await store.close()
    await homes.clean()
  })

  it('memory: keeps sessions as long as the store', async () => {
    const store = createStore({ home: await homes.make(), uri: 'memory:', warn: () => {} })
    const id = randomUUID()
    const journal = await held(store, id)
    await journal.append([finished('x')], update('/d'))
    await journal.release()
    expect((await store.load(id))?.entries).toHaveLength(1)
    expect((await store.latest('/d'))?.session_id).toBe(id)
    await homes.clean()
  })
})

describe('a store', () => {
  it('makes nothing before it is used, and loads no driver', async () => {
    const home = join(await homes.make(), 'home')
    const store = createStore({ home, warn: () => {} })
    await store.close()
    expect(readdirSync(join(home, '..'))).toEqual([])
    await homes.clean()
  })

  it('is used again after it was closed', async () => {
    const home = await homes.make()
    const store = createStore({ home, warn: () => {} })
    const id = randomUUID()
    const journal = await held(store, id)
    await journal.append([finished('x')], update('/d'))
    await store.close()
    await journal.append([finished('y')], update('/d'))
    await journal.release()
    expect((await store.load(id))?.entries).toHaveLength(2)
    await store.close()
    await homes.clean()
  })

  it('leaves no lock of a process that ends by itself, even if it released nothing', async () => {
    const home = mkdtempSync(join(tmpdir(), 'stepwright-exit-'))
    const script = await compiled(
      home,
      `import { createStore } from '../../src/services/store/index.ts'
       import { held } from './storeSupport.ts'
       const [home, ...ids] = process.argv.slice(2)
       const store = createStore({ home, warn: () => {} })
       for (const id of ids) await held(store, id)
       process.exit(7)`,
    )
    const ids = Array.from({ length: 15 }, () => randomUUID())
    expect(await start(script, [home, ...ids]).ended).toEqual({ code: 7, signal: null, stdout: '', stderr: '' })
    expect(readdirSync(join(home, 'locks'))).toEqual([])
    rmSync(home, { recursive: true })
  })
})

describe('what goes wrong', () => {
  it('is said in whole sentences without a code', () => {
    const codes = [
      'BUSY',
      'LOCKED',
      'FULL',
      'READONLY',
      'CANTOPEN',
      'PERM',
      'CORRUPT',
      'NOTADB',
      'IOERR',
      'ERROR',
      'MISUSE',
    ]
    for (const code of codes) {
      const error = storeError(
        Object.assign(new Error(`SQLITE_${code}: what it says`), { code: `SQLITE_${code}` }),
        '/h/s.sqlite',
      )
      expect(error).toBeInstanceOf(StoreError)
      expect(error.message).toMatch(/^The session store \/h\/s\.sqlite .*\.$/)
      expect(error.message).not.toContain('SQLITE')
    }
    for (const code of ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'EIO', 'EWHATEVER']) {
      const error = storeError(Object.assign(new Error(`${code}: what it says, open '/h'`), { code }), '/h/s.sqlite')
      expect(error.message).toMatch(/^The session store \/h\/s\.sqlite .*\.$/)
      expect(error.message).not.toContain(code)
    }
  })
})
