import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { endAllGroups } from '../../../src/services/tools/bash.ts'
import { bundleDriver, markedSeconds, nextLine, processesWith, type Shell, shell, startDriver } from './bashSupport.ts'

const onLinux = process.platform === 'linux'
let s: Shell
let mark: string
beforeEach(() => {
  s = shell()
  mark = markedSeconds()
})
afterEach(async () => {
  await endAllGroups()
  s.remove()
})

const ok = (content: string) => ({ kind: 'ok', content })
const timedOut = (ms: number, output: string) => ({
  kind: 'error',
  content: `${output}[timed out after ${ms} ms: the command and all it started were ended. Give a larger timeout, or start what should go on in the background with & and its output in a file]`,
})

describe('a process in the background', () => {
  test.each([
    'sleep MARK & echo ok',
    'nohup sleep MARK >/dev/null 2>&1 & echo ok',
    'setsid sleep MARK & echo ok',
    '(sleep MARK >&2 &) ; echo ok',
    'set -m; sleep MARK & echo ok',
    '(trap "" TERM HUP; sleep MARK) & echo ok',
    'setsid bash -c "(sleep MARK; true) & wait" & echo ok',
  ])('does not hold the call and ends with the run: %s', async (command) => {
    expect(await s.bash(command.replace('MARK', mark))).toEqual(ok('ok'))
    expect(processesWith(`sleep ${mark}`)).not.toEqual([])
    await endAllGroups()
    expect(processesWith(mark)).toEqual([])
  })

  test('can be a server whose log nobody reads any more', async () => {
    const script =
      'import os,sys\nwhile True: os.write(1, b"x" * 1000); os.path.exists("stop") and sys.exit(open("done", "w").close())'
    await s.bash(`python3 -c '${script}' & sleep 0.1`)
    await s.bash('sleep 0.3; touch stop')
    await vi.waitFor(() => expect(existsSync(join(s.dir, 'done'))).toBe(true), { timeout: 10_000 })
  })

  test('lives on while later commands run, which do not see it as their own', async () => {
    await s.bash(`sleep ${mark} >/dev/null 2>&1 &`)
    expect(await s.bash('jobs; wait; echo waited')).toEqual(ok('waited'))
    expect(processesWith(`sleep ${mark}`).length).toBe(1)
  })
})

test('commands after the end of a run are not taken for what was left of it', async () => {
  for (let round = 0; round < 20; round++) {
    expect(await s.bash('sleep 0.02; echo ok')).toEqual(ok('ok'))
    await endAllGroups()
  }
})

describe('a timeout', () => {
  test('ends the command and keeps what it has written', async () => {
    expect(await s.bash('echo before; echo too >&2; sleep 300', 300)).toEqual(timedOut(300, 'before\ntoo\n'))
  })

  test.each([
    `bash -c 'trap "" TERM; echo MARK >/dev/null; sleep MARK; sleep MARK'`,
    'sh -c "sleep MARK | cat"',
    'sh -c "sh -c \\"sh -c \'sleep MARK; true\'; true\\"; true"',
    'yes MARK',
    'while :; do sleep MARK & sleep 0.02; done',
    'setsid -w bash -c "trap : TERM; sleep MARK; sleep MARK"',
    'sleep MARK & kill -STOP $!; wait',
    'exec sleep MARK',
  ])('leaves nothing of it behind: %s', async (command) => {
    const result = await s.bash(command.replaceAll('MARK', mark), 300)
    expect(String(result.content)).toContain('[timed out after 300 ms')
    expect(result.kind).toBe('error')
    expect(processesWith(mark)).toEqual([])
  })

  test('gives a program the chance to end itself', async () => {
    const command = 'trap "echo cleaned; exit 0" TERM; echo ready; while :; do :; done'
    expect(await s.bash(command, 300)).toEqual(timedOut(300, 'ready\ncleaned\n'))
  })

  test('of one command does not touch another', async () => {
    const [other, late] = await Promise.all([s.bash('sleep 0.6; echo fine'), s.bash(`sleep ${mark}`, 100)])
    expect([other, late]).toEqual([ok('fine'), timedOut(100, '')])
  })
})

describe('an interruption', () => {
  const interrupted = (output: string) => ({
    kind: 'error',
    content: `${output}[interrupted: the command and all it started were ended]`,
  })

  test('ends the command at once and keeps what it has written', async () => {
    const stop = new AbortController()
    s.env.signal = stop.signal
    const running = s.bash(`echo started; touch up; sleep ${mark}`)
    await vi.waitFor(() => expect(existsSync(join(s.dir, 'up'))).toBe(true))
    stop.abort()
    expect(await running).toEqual(interrupted('started\n'))
    expect(processesWith(mark)).toEqual([])
  })

  test('before the start keeps the command from running', async () => {
    s.env.signal = AbortSignal.abort()
    expect(await s.bash('touch ran')).toEqual(interrupted(''))
    expect(existsSync(join(s.dir, 'ran'))).toBe(false)
  })
})

test('many commands side by side all end, warn of nothing, and leave no descriptor open', async () => {
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  const descriptors = () => (onLinux ? readdirSync('/proc/self/fd').length : 0)
  await s.bash('true')
  const before = descriptors()
  for (let round = 0; round < 3; round++) {
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => s.bash(`echo ${n}; exit ${n % 2}`)))
    expect(results.map(({ content }) => content)).toEqual(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? `${n}\n[exit code 1]` : `${n}`)),
    )
  }
  // Pipes made ahead: at most twenty, of two ends each.
  await vi.waitFor(() => expect(descriptors() - before).toBeLessThanOrEqual(40))
  process.off('warning', warn)
  expect(warnings).toEqual([])
})

describe('the end of the agent', () => {
  let driver: string
  let home: Shell
  beforeAll(async () => {
    home = shell()
    driver = await bundleDriver(home.dir)
  })
  afterAll(() => home.remove())

  const background = (of: string) => ({
    command: `setsid sleep ${of} & (trap "" TERM HUP; sleep ${of}) & sleep ${of} & echo $AGENT_RUN_MARK`,
  })

  test('by kill -9 ends every child within two seconds, also of a command that is still running', async () => {
    const agent = startDriver(
      driver,
      { commands: [background(mark), { command: `sleep ${mark}; true` }], atEnd: 'stay' },
      s.dir,
    )
    const { content } = await nextLine<{ content: string }>(agent)
    await vi.waitFor(() => expect(processesWith(`sleep ${mark}`).length).toBeGreaterThanOrEqual(4))
    agent.process.kill('SIGKILL')
    await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), { timeout: 2000, interval: 50 })
    const run = content.split('.')[0] ?? 'no mark'
    await vi.waitFor(() => expect(processesWith(run)).toEqual([]), { timeout: 2000, interval: 50 })
  })

  test.each(['exit', 'end'] as const)('by itself (%s) leaves neither children nor the watcher', async (atEnd) => {
    const agent = startDriver(driver, { commands: [background(mark)], atEnd }, s.dir)
    const ended = once(agent.process, 'exit')
    const { content } = await nextLine<{ content: string }>(agent)
    expect(await ended).toEqual([0, null])
    const run = content.split('.')[0] ?? 'no mark'
    await vi.waitFor(() => expect([...processesWith(mark), ...processesWith(run)]).toEqual([]), { timeout: 5000 })
  })

  test('by kill -9 of an agent that was started by another one’s command ends what it had started', async () => {
    const inner = `node ${driver} '${JSON.stringify({ commands: [background(mark)], atEnd: 'stay' })}'`
    const agent = startDriver(driver, { commands: [{ command: `${inner} & sleep 1.5` }], atEnd: 'stay' }, s.dir)
    await nextLine(agent)
    expect(processesWith(`sleep ${mark}`).length).toBeGreaterThanOrEqual(3)
    agent.process.kill('SIGKILL')
    await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), { timeout: 2000, interval: 50 })
  })

  test('does not wait for a process in the background', async () => {
    const agent = startDriver(driver, { commands: [{ command: `sleep ${mark} & echo ok` }], atEnd: 'end' }, s.dir)
    expect(await once(agent.process, 'exit')).toEqual([0, null])
  })

  test('600 MB of output pass through bounded memory', async () => {
    const command = "head -c 600000000 /dev/zero | tr '\\0' a; echo the end"
    const agent = startDriver(driver, { commands: [{ command }], atEnd: 'end' }, s.dir)
    const { kind, content } = await nextLine<{ kind: string; content: string }>(agent)
    const [first, note, last] = content.split('\n')
    expect([kind, first?.length, note, last?.slice(-9)]).toEqual([
      'ok',
      512 * 1024,
      `[… ${600_000_008 - 1024 * 1024} bytes of output left out here. To see them, send the output to a file and read its parts …]`,
      'aathe end',
    ])
    expect(await nextLine<number>(agent)).toBeLessThan(200)
  })

  test.runIf(onLinux)('nothing of the agent’s environment is in the watcher’s', async () => {
    vi.stubEnv('SECRET_OF_THE_AGENT', 'sk-ant-test-SECRET')
    const agent = startDriver(driver, { commands: [{ command: 'echo $AGENT_RUN_MARK' }], atEnd: 'stay' }, s.dir)
    vi.unstubAllEnvs()
    const { content } = await nextLine<{ content: string }>(agent)
    const watcher = processesWith(`stepwright-watcher ${content.split('.')[0]}`)
    const environments = watcher.map((line) => readFileSync(`/proc/${line.trim().split(' ')[0]}/environ`, 'utf8'))
    agent.process.kill()
    expect(environments.map((text) => text.split('=')[0])).toEqual(['PATH'])
    expect(environments.join()).not.toContain('SECRET')
  })
})
