/** One writer a session, whatever happened to the one before. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { acquireLock } from '../../src/services/lock.ts'
import { ensurePrivateDir } from '../../src/services/privateFiles.ts'
import { createStore } from '../../src/services/store/index.ts'
import { compiled, held, start, temporaryHomes } from './storeSupport.ts'

// Real processes and thousands of files, on machines that have other things to do.
vi.setConfig({ testTimeout: 300_000 })

const homes = temporaryHomes()
let home: string
let locks: string
let id: string

beforeEach(async () => {
  home = await homes.make()
  locks = join(home, 'locks')
  id = randomUUID()
})
afterEach(() => homes.clean())

const open = () => createStore({ home, warn: () => {} })
const refusal = async (): Promise<string> => {
  const result = await open().hold(id)
  if (!result.ok) return result.message
  await result.value.release()
  return 'held'
}
const write = (text: string, name = `${id}.lock`): void => {
  mkdirSync(locks, { recursive: true })
  writeFileSync(join(locks, name), text)
}
/** The pid of a process that has ended. */
const deadPid = (): number => spawnSync(process.execPath, ['-e', '']).pid
const ownerText = (more: Record<string, unknown>): string =>
  JSON.stringify({
    pid: process.pid,
    host: hostname(),
    started: null,
    at: new Date().toISOString(),
    token: 'other',
    ...more,
  })

describe('a lock', () => {
  it('is one private file that is gone after the release', async () => {
    const journal = await held(open(), id)
    expect(readdirSync(locks)).toEqual([`${id}.lock`])
    expect(statSync(locks).mode & 0o777).toBe(0o700)
    expect(statSync(join(locks, `${id}.lock`)).mode & 0o777).toBe(0o600)
    await journal.release()
    expect(readdirSync(locks)).toEqual([])
    await journal.release()
  })

  it('of a live process names its pid and since when', async () => {
    const journal = await held(open(), id)
    expect(await refusal()).toMatch(
      new RegExp(`^Session ${id} is in use by process ${process.pid} on .* since 20.*Z\\. Wait until it has ended`),
    )
    await journal.release()
    expect(await refusal()).toBe('held')
  })

  it('of a dead process is taken over', async () => {
    write(ownerText({ pid: deadPid() }))
    expect(await refusal()).toBe('held')
    expect(readdirSync(locks)).toEqual([])
  })

  it.runIf(process.platform === 'linux')('of a pid that another process has by now is taken over', async () => {
    write(ownerText({ started: 'earlier boot/123' }))
    expect(await refusal()).toBe('held')
  })

  it('of a process killed with -9 is taken over, also while its parent has not asked for it', async () => {
    const script = await compiled(
      home,
      `import { createStore } from '../../src/services/store/index.ts'
       import { held } from './storeSupport.ts'
       const [home, id] = process.argv.slice(2)
       await held(createStore({ home, warn: () => {} }), id)
       console.log('held')
       setInterval(() => {}, 1000)`,
    )
    const { child, ended } = start(script, [home, id])
    await new Promise((resolve) => child.stdout?.once('data', resolve))
    expect(await refusal()).toContain(`process ${child.pid}`)
    child.kill('SIGKILL')
    await ended
    expect(await refusal()).toBe('held')
  })

  it('of another machine is respected, and the file is named', async () => {
    write(ownerText({ host: 'elsewhere', pid: deadPid() }))
    expect(await refusal()).toMatch(new RegExp(`on elsewhere .* delete .*${id}\\.lock\\.$`))
  })

  for (const [what, text] of [
    ['empty', ''],
    ['cut', '{"pid":12'],
    ['of another program', 'null'],
    ['with a pid that is none', ownerText({ pid: -1 })],
  ] as const) {
    it(`that was never written whole is taken over: ${what}`, async () => {
      write(text)
      expect(await refusal()).toBe('held')
      expect(readdirSync(locks)).toEqual([])
    })
  }

  it('that is just being written is waited for', async () => {
    write('')
    const asked = refusal()
    await sleep(40)
    write(ownerText({}))
    expect(await asked).toContain(`process ${process.pid}`)
  })

  it('that somebody else has by now is not deleted by the release', async () => {
    const journal = await held(open(), id)
    write(ownerText({}))
    await journal.release()
    expect(readFileSync(join(locks, `${id}.lock`), 'utf8')).toContain('"token":"other"')
  })

  it('is taken over behind several dead ones, which are cleared away', async () => {
    for (const name of [`${id}.lock`, `${id}.lock.1`, `${id}.lock.7`]) write(ownerText({ pid: deadPid() }), name)
    const journal = await held(open(), id)
    expect(readdirSync(locks)).toEqual([`${id}.lock.8`])
    await journal.release()
  })

  it('of one session says nothing of another', async () => {
    const journals = await Promise.all(Array.from({ length: 5 }, () => held(open(), randomUUID())))
    expect(await refusal()).toBe('held')
    for (const journal of journals) await journal.release()
  })

  it('is got by exactly one of many that ask at once in one process', async () => {
    for (const dead of [false, true]) {
      if (dead) write(ownerText({ pid: deadPid() }), 'name.lock')
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () => acquireLock(join(locks, 'name.lock'), { prepare: ensurePrivateDir })),
      )
      expect(outcomes.filter(({ kind }) => kind === 'held')).toHaveLength(1)
      expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(19)
      for (const outcome of outcomes) if (outcome.kind === 'held') outcome.lock.release()
    }
  })

  it('is never held by two of several processes that take it, again and again, also over dead owners', async () => {
    const script = await compiled(
      home,
      `import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
       import { acquireLock } from '../../src/services/lock.ts'
       const [dir, inside, dead] = process.argv.slice(2)
       let got = 0
       let tries = 0
       while (got < 40 && tries++ < 100_000) {
         const outcome = await acquireLock(dir + '/name.lock')
         if (outcome.kind === 'impossible') throw outcome.error
         if (outcome.kind === 'refused') { await new Promise((resolve) => setTimeout(resolve, 1)); continue }
         // Fails if another process is between these two lines.
         closeSync(openSync(inside, 'wx'))
         await new Promise((resolve) => setTimeout(resolve, Math.random() * 2))
         unlinkSync(inside)
         got++
         // Every other time as a process that died: its lock is left behind with a dead owner.
         if (got % 2 === 0) writeFileSync(dir + '/name.lock.' + (1000 + got), dead)
         outcome.lock.release()
       }
       console.log(got)`,
    )
    mkdirSync(locks)
    const dead = ownerText({ pid: deadPid() })
    const runs = await Promise.all(
      Array.from({ length: 4 }, () => start(script, [locks, join(home, 'inside'), dead]).ended),
    )
    expect(runs.map(({ stdout, stderr }) => ({ stdout, stderr }))).toEqual(
      Array.from({ length: 4 }, () => ({ stdout: '40\n', stderr: '' })),
    )
  })
})
