/** One lock, taken by many processes at the same moment; the home and `.memory` use it in their own ways. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { acquireLock } from '../../src/services/lock.ts'
import { whileLocked } from '../../src/services/memory/lock.ts'
import { compiled, start, temporaryHomes } from './storeSupport.ts'

// Real processes, on machines that have other things to do.
vi.setConfig({ testTimeout: 120_000 })

const PROCESSES = 20

const homes = temporaryHomes()
let home: string
let dir: string
let file: string

beforeEach(async () => {
  home = await homes.make()
  dir = join(home, 'folder')
  file = join(dir, '.lock')
  mkdirSync(dir, { mode: 0o755 })
})
afterEach(() => homes.clean())

const ownerText = (more: Record<string, unknown>): string =>
  JSON.stringify({
    pid: spawnSync(process.execPath, ['-e', '']).pid,
    host: hostname(),
    started: null,
    at: new Date().toISOString(),
    token: 'other',
    ...more,
  })

/** Waits for the file `go` in its home, so that all begin at the same moment; then works in the lock once. */
const WORKER = (locked: string): string => `
  import { appendFileSync, closeSync, existsSync, openSync, unlinkSync } from 'node:fs'
  import { waitForLock } from '../../src/services/lock.ts'
  import { whileLocked } from '../../src/services/memory/lock.ts'
  const [home, dir, end] = process.argv.slice(2)
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const work = async () => {
    // Fails if another process is between these two lines.
    closeSync(openSync(home + '/inside', 'wx'))
    await pause(5)
    unlinkSync(home + '/inside')
    appendFileSync(home + '/worked', process.pid + '\\n')
    // A dead owner again, for all that still wait.
    if (end === 'killed') process.kill(process.pid, 'SIGKILL')
  }
  console.log('ready')
  while (!existsSync(home + '/go')) await pause(1)
  ${locked}`

const WAYS = [
  {
    way: 'the lock',
    locked: `const outcome = await waitForLock(dir + '/.lock', 60_000)
      if (outcome.kind !== 'held') throw new Error(JSON.stringify(outcome))
      await work()
      outcome.lock.release()`,
  },
  {
    way: "the lock of .memory's writers",
    // A slow machine may need longer for all of them than one waits.
    locked: `for (let done = false; !done; ) {
        await whileLocked(dir, work).then(() => { done = true }, (error) => {
          if (!/another agent is writing/.test(error.message)) throw error
        })
      }`,
  },
]

describe.each(WAYS)('$way, left behind by a dead process', ({ locked }) => {
  test.each(['released', 'killed'])(
    `is held by one at a time of ${PROCESSES} that take it over at once and are then %s`,
    async (end) => {
      writeFileSync(file, ownerText({}))
      const script = await compiled(home, WORKER(locked))
      const runs = Array.from({ length: PROCESSES }, () => start(script, [home, dir, end]))
      await Promise.all(runs.map(({ child }) => new Promise((resolve) => child.stdout?.once('data', resolve))))
      writeFileSync(join(home, 'go'), '')
      const ends = await Promise.all(runs.map(({ ended }) => ended))
      expect(ends.map(({ stderr }) => stderr)).toEqual(Array(PROCESSES).fill(''))
      const worked = readFileSync(join(home, 'worked'), 'utf8').trim().split('\n').map(Number)
      expect(worked.sort()).toEqual(runs.map(({ child }) => child.pid).sort())
      await whileLocked(dir, () => {})
      expect(readdirSync(dir)).toEqual([])
    },
  )
})

test('a lock leaves its directory as open as it was, and is itself for its owner only', async () => {
  await whileLocked(dir, () => expect(statSync(file).mode & 0o777).toBe(0o600))
  expect(statSync(dir).mode & 0o777).toBe(0o755)
})

test('a lock in a directory that is not there cannot be taken, and nothing is made', async () => {
  expect(await acquireLock(join(home, 'nowhere', 'a.lock'))).toEqual({
    kind: 'impossible',
    error: expect.objectContaining({ code: 'ENOENT' }),
  })
  expect(readdirSync(home)).toEqual(['folder'])
})

test('a lock of another machine is respected, or forgotten after a while where its holders hold it for moments', async () => {
  writeFileSync(file, ownerText({ host: 'elsewhere' }))
  const hour = 3_600_000
  utimesSync(file, new Date(), new Date(Date.now() - hour))
  expect(await acquireLock(file)).toMatchObject({ kind: 'refused', owner: { host: 'elsewhere' } })
  expect(await acquireLock(file, { forgottenAfter_ms: 2 * hour })).toMatchObject({ kind: 'refused' })
  const taken = await acquireLock(file, { forgottenAfter_ms: hour / 2 })
  expect(taken.kind).toBe('held')
  if (taken.kind === 'held') taken.lock.release()
  expect(readdirSync(dir)).toEqual([])
})

test('a living process of this machine keeps its lock however old it is', async () => {
  const outcome = await acquireLock(file)
  utimesSync(file, new Date(0), new Date(0))
  expect(await acquireLock(file, { forgottenAfter_ms: 1 })).toMatchObject({
    kind: 'refused',
    owner: { pid: process.pid },
  })
  if (outcome.kind === 'held') outcome.lock.release()
})

test('a writer of .memory waits for another to end', async () => {
  const said: string[] = []
  const first = whileLocked(dir, async () => {
    await sleep(100)
    said.push('first')
  })
  await sleep(20)
  await Promise.all([first, whileLocked(dir, () => void said.push('second'))])
  expect(said).toEqual(['first', 'second'])
})
