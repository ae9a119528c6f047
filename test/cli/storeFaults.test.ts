/** Whatever is wrong with the session store: the answer is delivered, and what could not be kept is said. */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { effect, effects, lockDatabase, NEW_PROMPT } from '../kill/scenario.ts'
import { sql } from '../services/storeSupport.ts'
import { agentEnv, CLI, type Ended, ended, resultOf, temporaryDirectory } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const isRoot = process.getuid?.() === 0
const agentOf = ({ home }: SetUp): string => join(home, '.agent')
const databaseOf = (place: SetUp): string => join(agentOf(place), 'sessions.sqlite')

/** Nothing of the machinery is shown: no stack, no code of SQLite's, no report wanted for what is no bug. */
function expectClean(end: Ended): void {
  expect(end.stderr + end.stdout).not.toMatch(/SQLITE|\n\s+at |internal error|Unhandled|undefined/)
}

/** A new prompt is answered, and the end says that it was not kept. */
function expectUnsaved(end: Ended, why: string): void {
  expectClean(end)
  expect([end.code, resultOf(end)]).toEqual([
    1,
    expect.objectContaining({
      subtype: 'error_during_execution',
      is_error: true,
      result: 'the answer',
      errors: [expect.stringMatching(/^The session could not be saved: The (session )?store .*\.$/)],
    }),
  ])
  expect(resultOf(end).errors?.[0]).toContain(why)
  expect(end.stderr).toMatch(/^warning: This session is not being saved: /m)
}

function expectRefused(end: Ended, why: string): void {
  expectClean(end)
  expect([end.code, resultOf(end)]).toEqual([2, expect.objectContaining({ is_error: true, num_turns: 0 })])
  expect(resultOf(end).errors?.[0]).toContain(why)
}

describe('a store that cannot be opened', () => {
  const broken: Array<[string, (place: SetUp) => void | Promise<void>, string]> = [
    ['is a directory', (place) => mkdirSync(databaseOf(place), { recursive: true }), 'is a directory'],
    ['has a file for its home', (place) => writeFileSync(agentOf(place), 'x'), 'no directory'],
    ['is of a newer version', (place) => newer(databaseOf(place)), 'newer version'],
  ]
  test.each(broken)('since it %s: a new prompt is answered, an old session refused', async (_, breakIt, why) => {
    const place = await setUp(['the answer'])
    await breakIt(place)
    expectUnsaved(await place.run(['-p', 'x']), why)
    expectRefused(await place.run(['--continue', '-p', 'x']), why)
    expectRefused(await place.run(['--resume', '00000000-0000-4000-8000-000000000000']), why)
    expectRefused(await place.run(['resume', 'abc']), why)
    expect(place.model.requests).toHaveLength(1)
    const list = await place.run(['sessions'])
    expectClean(list)
    expect([list.code, list.stderr.trimEnd().split('\n')]).toEqual([1, [expect.stringContaining(why)]])
  })

  test('since nothing can be made in its home: the answer comes', async () => {
    const place = await setUp(['the answer'])
    const end = await place.run(['-p', 'x'], { env: { AGENT_HOME: '/proc/nowhere/agent' } })
    expectUnsaved(end, '/proc/nowhere/agent/locks')
  })

  test('since its address is of no known kind: a mistake in the settings, nothing is started', async () => {
    const place = await setUp(['never'])
    const env = { AGENT_STORE: 'mongodb://user:SECRET@host/db' }
    const end = await place.run(['-p', 'x'], { env })
    expectRefused(end, 'of no known kind')
    expect(end.stderr + end.stdout).not.toContain('SECRET')
    expect(place.model.requests).toEqual([])
  })

  test('for an empty HOME: it is the home of the user, never the working directory', async () => {
    const place = await setUp(['the answer'])
    // HOME is empty, AGENT_HOME is not: nothing is written into the real home by a test.
    expect((await place.run(['-p', 'x'], { env: { HOME: '' }, cwd: place.dir })).code).toBe(0)
    const end = await place.run(['config', '--json'], { env: { HOME: '', AGENT_HOME: '' }, cwd: place.dir })
    expect(end.code).toBe(0)
    expect(readdirSync(place.dir)).toEqual([])
  })
})

describe.skipIf(!isRoot)('for a user without a name (needs root to become one)', () => {
  /** Runs as a user that owns nothing here and has no home. */
  async function asNobody(place: SetUp, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const { model, home, dir } = place
    for (const path of [home, dir]) chmodSync(path, 0o755)
    const { HOME: _, ...rest } = { ...agentEnv({ url: model.url, home }), ...env }
    const options = { uid: 54_321, gid: 54_321, cwd: '/', env: rest }
    return ended(spawn(process.execPath, [CLI, '-C', dir, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] }))
  }

  test('a read-only home', async () => {
    const place = await setUp(['the answer'])
    mkdirSync(agentOf(place))
    chmodSync(agentOf(place), 0o555)
    expectUnsaved(await asNobody(place, ['-p', 'x']), 'Check its permissions')
    expectRefused(await asNobody(place, ['--continue', '-p', 'x']), 'Check its permissions')
  })

  test('a database that cannot be read is left as it is', async () => {
    const place = await setUp(['one', 'the answer'])
    await place.run(['-p', 'one'])
    const before = readFileSync(databaseOf(place))
    chmodSync(agentOf(place), 0o777)
    chmodSync(join(agentOf(place), 'locks'), 0o777)
    expectUnsaved(await asNobody(place, ['-p', 'x']), 'cannot be opened')
    expect(readFileSync(databaseOf(place)).equals(before)).toBe(true)
  })

  test('no home at all', async () => {
    const place = await setUp(['the answer'])
    expectUnsaved(await asNobody(place, ['-p', 'x'], { AGENT_HOME: '' }), '/.agent')
  })
})

describe('a file that is no database of ours', () => {
  const foreign: Array<[string, (file: string) => Promise<void> | void, string]> = [
    ['random bytes', (file) => writeFileSync(file, randomBytes(70_000)), 'it is not a database'],
    ['text', (file) => writeFileSync(file, 'dear diary\n'.repeat(500)), 'it is not a database'],
    ['one that was cut to 100 bytes', (file) => truncateSync(file, 100), 'it is'],
    ['one that was cut to three pages', (file) => truncateSync(file, 4096 * 3), 'it is'],
    ['zeros in its middle', (file) => writeFileSync(file, readFileSync(file).fill(0, 200, 9000)), 'it is'],
    [
      'the database of another program',
      async (file) => {
        rmSync(file)
        await sql(file, ['CREATE TABLE keyv(id INTEGER, name TEXT)'], ['INSERT INTO keyv VALUES (1, ?)', 'theirs'])
      },
      'its tables are not those of this program',
    ],
  ]
  test.each(foreign)('%s: moved aside byte for byte, said once, and the run is saved', async (_, breakIt, why) => {
    const place = await setUp((_request, n) => (n === 0 ? 'x'.repeat(400_000) : 'the answer'))
    await place.run(['-p', 'first'])
    for (const part of ['-wal', '-shm']) rmSync(databaseOf(place) + part, { force: true })
    await breakIt(databaseOf(place))
    const bytes = readFileSync(databaseOf(place))

    const end = await place.run(['-p', 'second'])
    expectClean(end)
    expect([end.code, resultOf(end).result]).toEqual([0, 'the answer'])
    const aside = `${databaseOf(place)}.damaged-1`
    expect(end.stderr).toMatch(/^warning: .*cannot be used because it.*\n$/)
    expect(end.stderr).toContain(why)
    expect(end.stderr).toContain(aside)
    expect(readFileSync(aside).equals(bytes)).toBe(true)

    const again = await place.run(['--continue', '-p', 'third'])
    expect([again.code, again.stderr]).toEqual([0, ''])
    expect(place.model.requests.at(-1)?.body.messages[0]?.content[0]?.text).toBe('second')
  })

  test('one that was emptied beside its log: both are moved aside, since the log holds the sessions', async () => {
    const place = await setUp(['a', 'the answer'])
    await place.run(['-p', 'first'])
    truncateSync(databaseOf(place))
    const log = readFileSync(`${databaseOf(place)}-wal`)
    expect(log.length).toBeGreaterThan(0)
    const end = await place.run(['-p', 'second'])
    expectClean(end)
    expect([end.code, resultOf(end).result]).toEqual([0, 'the answer'])
    expect(end.stderr).toMatch(/^warning: .*cannot be used because it is empty, and its log alone .*damaged-1, .*\n$/)
    expect(readFileSync(`${databaseOf(place)}.damaged-1-wal`).equals(log)).toBe(true)
    expect(await place.run(['-c', '-p', 'third'])).toMatchObject({ stderr: expect.not.stringContaining('damaged') })
  })

  test('an empty one is filled', async () => {
    const place = await setUp(['a', 'b'])
    mkdirSync(agentOf(place))
    writeFileSync(databaseOf(place), '')
    expect(await place.run(['-p', 'x'])).toMatchObject({ code: 0, stderr: '' })
    expect(await place.run(['-c', '-p', 'x'])).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('a link in the place of the database', () => {
  const linked = async (target: string) => {
    const place = await setUp((_request, n) => `answer ${n}`)
    mkdirSync(agentOf(place))
    symlinkSync(target, databaseOf(place))
    return place
  }
  const namesIn = (dir: string) => readdirSync(dir).sort()

  test('leads to a file that nobody else can read, nor its log', async () => {
    const place = await linked('../disk/kept.db')
    const disk = join(place.home, 'disk')
    mkdirSync(disk)
    writeFileSync(join(disk, 'other'), '')
    for (const args of [[], ['-c']])
      expect(await place.run([...args, '-p', 'x'])).toMatchObject({ code: 0, stderr: '' })
    expect(place.model.requests[1]?.body.messages).toHaveLength(3)
    const files = namesIn(disk).filter((name) => name.startsWith('kept.db'))
    expect(files).toEqual(['kept.db', 'kept.db-shm', 'kept.db-wal'])
    expect(files.map((name) => statSync(join(disk, name)).mode & 0o777)).toEqual([0o600, 0o600, 0o600])

    for (const part of ['-wal', '-shm']) rmSync(join(disk, `kept.db${part}`))
    writeFileSync(join(disk, 'kept.db'), randomBytes(9000))
    const end = await place.run(['-p', 'x'])
    expect([end.code, end.stderr]).toEqual([0, expect.stringContaining(join(disk, 'kept.db.damaged-1'))])
    expect(namesIn(disk)).toContain('kept.db.damaged-1')
  })

  test('into a directory that is not there is said, and nothing is made', async () => {
    const place = await linked('../not-mounted/kept.db')
    const why = `is a link into ${place.home}/not-mounted, and there is no such directory`
    const end = await place.run(['-p', 'x'])
    expect([end.code, resultOf(end).result, resultOf(end).errors?.[0]]).toEqual([
      1,
      'answer 0',
      expect.stringContaining(why),
    ])
    expectRefused(await place.run(['-c', '-p', 'x']), why)
    expect(namesIn(place.home)).toEqual(['.agent'])
  })
})

describe('records that cannot be read', () => {
  async function withRecords(): Promise<SetUp & { session_id: string }> {
    const place = await setUp((_request, n) => `answer ${n}`)
    const { session_id } = resultOf(await place.run(['-p', 'first']))
    await place.run(['--continue', '-p', 'second'])
    return { ...place, session_id }
  }
  const change = (place: SetUp, session_id: string, n: number, value: string) =>
    sql(databaseOf(place), [
      'UPDATE keyv SET value = ? WHERE key = ?',
      value,
      `s:${session_id}:${String(n).padStart(6, '0')}`,
    ])

  test.each([
    ['damaged', '[1,5,179', 'is damaged: it is not JSON'],
    ['damaged in their middle', '[1,5,0,{"type":"prompt","text":"x"}]', 'is damaged: its record has no proper blocks'],
    ['of a newer version', '[99,5,0,{}]', 'was written by a newer version (format 99)'],
  ])('%s: what lies before them is gone on with, and the warning says which', async (_, value, why) => {
    const place = await withRecords()
    // The second prompt; the first turn is whole.
    const { stdout } = await place.run(['sessions', 'export', place.session_id])
    const at = stdout.split('\n').findIndex((line) => line.includes('"second"'))
    await change(place, place.session_id, at, value)
    const end = await place.run(['--continue', '-p', 'third'])
    expectClean(end)
    expect(end.code).toBe(0)
    expect(end.stderr).toContain(`Record ${at} of session ${place.session_id} ${why}`)
    const texts = place.model.requests.at(-1)?.body.messages.map(({ content }) => content[0]?.text)
    expect(texts).toEqual(['first', 'answer 0', 'third'])
    // From then on the session is sound again.
    expect(await place.run(['--continue', '-p', 'fourth'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('all of them: a new prompt begins the session anew', async () => {
    const place = await withRecords()
    await change(place, place.session_id, 0, 'nonsense')
    const end = await place.run(['--continue', '-p', 'third'])
    expectClean(end)
    expect(end.code).toBe(0)
    expect(end.stderr).toContain('Nothing of the session can be used')
    expect(place.model.requests.at(-1)?.body.messages).toHaveLength(1)
    expect(place.model.problems).toEqual([])
  })
})

describe('a store that fails in the middle of a run', () => {
  /** A run whose first call is the fault, and which then goes on. */
  async function damage(command: string, more: Partial<{ env: NodeJS.ProcessEnv }> = {}): Promise<[SetUp, Ended]> {
    const calls = [call('bash', { command }, 'toolu_fault')]
    const place = await setUp((request, n) => {
      if (n === 0) return 'before'
      const text = JSON.stringify(request.body.messages)
      if (!text.includes('toolu_fault')) return reply(calls)
      return text.includes('toolu_a') ? 'the answer' : reply([effect('a')])
    })
    await place.run(['-p', 'before'], more)
    return [place, await place.run(['--yes', '-p', 'x'], more)]
  }

  test.each([
    ['deleted', 'rm -f "$AGENT_HOME"/sessions.sqlite*', 'was deleted or moved'],
    ['deleted with its directory', 'rm -rf "$AGENT_HOME"', 'was deleted or moved'],
    [
      'put in the place of another',
      'cd "$AGENT_HOME" && cp sessions.sqlite x && mv x sessions.sqlite',
      'was deleted or moved',
    ],
  ])('when it is %s: the tools go on, the answer comes, and is said to be lost', async (_, command, why) => {
    const [place, end] = await damage(command)
    expectUnsaved(end, why)
    expect(effects(place.dir)).toEqual(['toolu_a'])
    const next = await place.run(['-p', 'x'])
    expect([next.code, next.stderr]).toEqual([0, ''])
  })

  test('when its table is gone', async () => {
    const script = `const { Database } = require(${JSON.stringify(createRequire(import.meta.url).resolve('sqlite3'))});
      const db = new Database(process.env.AGENT_HOME + '/sessions.sqlite'); db.all('DROP TABLE keyv', (error) => { if (error) throw error; db.close() })`
    const place = await setUp((request) =>
      JSON.stringify(request.body.messages).includes('toolu_fault')
        ? 'the answer'
        : reply([call('bash', { command: 'node drop.cjs' }, 'toolu_fault')]),
    )
    writeFileSync(join(place.dir, 'drop.cjs'), script)
    expectUnsaved(await place.run(['--yes', '-p', 'x']), 'no such table')
  })

  test('when another process locks it for longer than anyone waits', async () => {
    const place = await setUp(['before', 'the answer'])
    await place.run(['-p', 'before'])
    const unlock = await lockDatabase(databaseOf(place), ['BEGIN IMMEDIATE'])
    expectUnsaved(await place.run(['-p', 'x']), 'is locked by another process')
    await unlock()
    expect((await place.run(['sessions', '--json'])).stdout).toContain('before')
  })

  /** A home on a file system of its own, of one megabyte; null where none can be mounted. */
  function smallDisk(): string | null {
    const disk = temporaryDirectory()
    const done = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
    if (done.status !== 0) return null
    onTestFinished(() => void spawnSync('umount', ['-l', disk]))
    return disk
  }

  test('when the disk is full, from the beginning or by then', async ({ skip }) => {
    const disk = smallDisk()
    if (disk === null) return skip('a small file system cannot be mounted here: it needs root and the right to mount')
    const AGENT_HOME = join(disk, 'agent')
    const [place, end] = await damage('head -c 5M /dev/zero > "$AGENT_HOME/fill"; true', { env: { AGENT_HOME } })
    expectUnsaved(end, 'the disk is full')
    expect(effects(place.dir)).toEqual(['toolu_a'])

    expectUnsaved(await place.run(['-p', 'toolu_fault toolu_a'], { env: { AGENT_HOME } }), 'the disk is full')
    rmSync(join(AGENT_HOME, 'fill'))
    // What was written before the disk was full is there, and can be gone on with.
    const next = await place.run(['--continue', '-p', NEW_PROMPT], { env: { AGENT_HOME } })
    expect([next.code, next.stderr, place.model.problems]).toEqual([0, '', []])
    expect(effects(place.dir)).toEqual(['toolu_a'])
  })
})

describe('time', () => {
  /** Moves the clock of a run. */
  function shifted(days: number): NodeJS.ProcessEnv {
    const file = join(temporaryDirectory(), 'clock.cjs')
    writeFileSync(
      file,
      `const shift = ${days * 86_400_000}, now = Date.now
       globalThis.Date = class extends Date { constructor(...a) { a.length ? super(...a) : super(now() + shift) } static now() { return now() + shift } }`,
    )
    return { NODE_OPTIONS: `--require ${file}` }
  }

  test('that was set back does not change which session was used last', async () => {
    const place = await setUp((_request, n) => `answer ${n}`)
    await place.run(['-p', 'older'])
    const { session_id } = resultOf(await place.run(['-p', 'newer'], { env: shifted(-2) }))
    const end = await place.run(['--continue', '-p', 'x'], { env: shifted(-3) })
    expect(resultOf(end).session_id).toBe(session_id)
    const [first] = JSON.parse((await place.run(['sessions', '--json'])).stdout) as Array<{ session_id: string }>
    expect(first?.session_id).toBe(session_id)
  })

  test('that went by makes no session unusable', async () => {
    const place = await setUp((_request, n) => `answer ${n}`)
    await place.run(['-p', 'old'], { env: shifted(-400) })
    expect(await place.run(['--continue', '-p', 'x'])).toMatchObject({ code: 0, stderr: '' })
    expect(place.model.requests.at(-1)?.body.messages).toHaveLength(3)
  })
})

async function newer(file: string): Promise<void> {
  mkdirSync(join(file, '..'), { recursive: true })
  await sql(file, ['PRAGMA user_version = 7'])
}
