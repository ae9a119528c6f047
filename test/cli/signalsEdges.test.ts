/** Ends that are not in order: twice a signal, a locked store, a reader that takes nothing or leaves, a closed terminal. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  brain,
  effect,
  effects,
  latest,
  lockDatabase,
  marked,
  NEW_PROMPT,
  PROMPT,
  read,
  type Scenario,
} from '../kill/scenario.ts'
import { agentEnv, CLI, ended, resultOf, startAgent } from '../support/agent.ts'
import { type HeldReply, hang, held } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const PATIENCE_MS = 8000

const start = ({ model, home, dir }: SetUp, args: string[], stdin: string | null = null): ChildProcess =>
  startAgent(['-C', dir, '--yes', ...args], { url: model.url, home, stdin })

async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await is()); ) {
    if (Date.now() > end) throw new Error('it never came to be')
    await sleep(10)
  }
}

/** A call that goes on for long and takes no notice of SIGTERM. */
function stubborn(marker: string): Scenario {
  const command = `trap '' TERM INT HUP; bash -c 'exec -a ${marker} sleep 300' & bash -c 'exec -a ${marker} sleep 300'`
  return { name: 'stubborn', steps: [{ calls: [effect('a')] }, { calls: [effect('b', command), effect('c')] }] }
}

describe('a second SIGINT', () => {
  test('ends the run at once, and its children with it', async () => {
    const marker = `marker-${randomUUID()}`
    const place = await setUp(brain(stubborn(marker)))
    const child = start(place, ['-p', PROMPT])
    const end = ended(child)
    await until(() => effects(place.dir).length === 3 && marked(marker).length > 0)
    child.kill('SIGINT')
    await sleep(100)
    child.kill('SIGINT')
    const { code, stdout } = await end
    // In order there would be a result.
    expect([code, stdout]).toEqual([130, ''])
    await until(() => marked(marker).length === 0)
    const resumed = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect([resumed.code, place.model.problems]).toEqual([0, []])
    expect(effects(place.dir)).toHaveLength(3)
  })

  test('is waited for by nobody: one SIGTERM after another ends in order', async () => {
    const place = await setUp(brain(stubborn(`marker-${randomUUID()}`)))
    const child = start(place, ['-p', PROMPT])
    const end = ended(child)
    await until(() => effects(place.dir).length === 3)
    child.kill('SIGTERM')
    await sleep(100)
    child.kill('SIGTERM')
    const done = await end
    expect([done.code, resultOf(done).subtype]).toEqual([143, 'error_interrupted'])
  })
})

describe('a signal before anything was started', () => {
  test('while the prompt is read from a pipe that stays open', async () => {
    const place = await setUp(['never'])
    for (const [args, id] of [
      [['-p', '-'], ''],
      [['--resume', 'some-id', '-p'], 'some-id'],
    ] as const) {
      const child = start(place, [...args], '')
      const end = ended(child)
      child.stdin?.write('half a prompt')
      await sleep(300)
      child.kill('SIGTERM')
      const done = await end
      expect([done.code, resultOf(done)]).toEqual([
        143,
        expect.objectContaining({
          subtype: 'error_interrupted',
          is_error: true,
          session_id: id,
          errors: ['Interrupted (SIGTERM) before anything was started.'],
        }),
      ])
    }
    expect(place.model.requests).toEqual([])
  })

  test('while another process locks the store', async () => {
    const place = await setUp(['one'])
    await place.run(['-p', 'one'])
    const unlock = await lockDatabase(join(place.home, '.agent', 'sessions.sqlite'), [
      'PRAGMA journal_mode = DELETE',
      'BEGIN EXCLUSIVE',
    ])
    const child = start(place, ['--continue', '-p', 'two'])
    const end = ended(child)
    await sleep(500)
    const sent = performance.now()
    child.kill('SIGINT')
    const done = await end
    expect([done.code, resultOf(done).subtype, place.model.requests.length]).toEqual([130, 'error_interrupted', 1])
    expect(performance.now() - sent).toBeLessThan(PATIENCE_MS)
    await unlock()
  })
})

describe('a signal while a run cannot end in order', () => {
  test('since another process locks the store: the result comes all the same', async () => {
    const place = await setUp((_, n) => (n === 0 ? 'one' : hang()))
    const { session_id } = resultOf(await place.run(['-p', 'one']))
    const child = start(place, ['--continue', '-p', 'two'])
    const end = ended(child)
    await place.model.waitForRequest(1)
    const unlock = await lockDatabase(join(place.home, '.agent', 'sessions.sqlite'), ['BEGIN IMMEDIATE'])
    const sent = performance.now()
    child.kill('SIGTERM')
    const done = await end
    expect(performance.now() - sent).toBeLessThan(PATIENCE_MS)
    expect([done.code, resultOf(done)]).toEqual([
      143,
      expect.objectContaining({ subtype: 'error_interrupted', is_error: true, session_id, num_turns: 0 }),
    ])
    await unlock()
    // What was written before is there: the second prompt, unanswered.
    const last = (await latest(place.home, place.dir))?.entries.at(-1)?.record
    expect(last).toMatchObject({ type: 'prompt', text: 'two' })
  })

  test('since nobody reads its answer', async () => {
    const place = await setUp(['x'.repeat(1_000_000)])
    const { model, home, dir } = place
    const child = spawn(process.execPath, [CLI, '-C', dir, '-p', 'x'], {
      cwd: home,
      env: agentEnv({ url: model.url, home }),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    // Nothing listens to child.stdout: the pipe fills up and stays so.
    const exit = new Promise((resolve) => child.on('exit', (code) => resolve(code)))
    await until(async () => (await latest(home, dir))?.entries.at(-1)?.record.type === 'turnEnded')
    await sleep(200)
    const sent = performance.now()
    child.kill('SIGTERM')
    expect(await exit).toBe(143)
    expect(performance.now() - sent).toBeLessThan(PATIENCE_MS)
    child.stdout.destroy()
  })
})

describe('a stdout that is closed', () => {
  test('ends the run quietly, its tools too, and the session can go on', async () => {
    const marker = `marker-${randomUUID()}`
    const { steps } = stubborn(marker)
    // That the reader has left is noticed with the next line for it.
    const slowly = { name: 'slowly', steps: [{ calls: [effect('s', 'sleep 0.7')] }, ...steps] }
    let left = false
    const usual = brain(slowly)
    const place = await setUp((request) => (left ? 'gone on' : usual(request)))
    const { model, home, dir } = place
    const line = `${process.execPath} ${CLI} -C ${dir} --yes --output-format stream-json -p '${PROMPT}' | head -n 2 >/dev/null; exit \${PIPESTATUS[0]}`
    const child = spawn('bash', ['-c', line], {
      cwd: home,
      env: agentEnv({ url: model.url, home }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { code, stderr } = await ended(child)
    left = true
    expect([code, stderr]).toEqual([1, ''])
    expect(marked(marker)).toEqual([])
    expect((await latest(home, dir))?.entries.at(-1)?.record).toMatchObject({ type: 'turnEnded', status: 'cancelled' })
    const resumed = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect([resumed.code, model.problems]).toEqual([0, []])
  })

  test('after the answer is no failure of the run', async () => {
    const place = await setUp(['x'.repeat(1_000_000)])
    const { model, home, dir } = place
    const line = `${process.execPath} ${CLI} -C ${dir} -p x | head -c 10 >/dev/null; exit \${PIPESTATUS[0]}`
    const child = spawn('bash', ['-c', line], { env: agentEnv({ url: model.url, home }), stdio: ['ignore', 1, 'pipe'] })
    const { code, stderr } = await ended(child)
    expect([code, stderr]).toEqual([0, ''])
    expect((await latest(home, dir))?.entries.at(-1)?.record).toMatchObject({ type: 'turnEnded', status: 'done' })
  })
})

describe('a terminal that is closed', () => {
  test('ends the run and its tools; the session can go on', async () => {
    const marker = `marker-${randomUUID()}`
    const place = await setUp(brain(stubborn(marker)))
    const { model, home, dir } = place
    const pid = join(dir, 'pid')
    const line = `echo $$ > ${pid}; exec ${process.execPath} ${CLI} -C ${dir} --yes -p '${PROMPT}'`
    const terminal = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...agentEnv({ url: model.url, home }), SHELL: '/bin/bash' },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    await until(() => effects(dir).length === 3 && marked(marker).length > 0)
    terminal.kill('SIGKILL')
    const agent = read(pid).trim()
    await until(() => marked(marker).length === 0 && /^$|\) Z /.test(read(`/proc/${agent}/stat`)))
    const { entries } = (await latest(home, dir)) ?? expect.fail('no session')
    expect(entries.map(({ record }) => record)).toContainEqual({ type: 'interrupted', reason: 'SIGHUP' })
    const resumed = await place.run(['--yes', '--continue', '-p', NEW_PROMPT])
    expect([resumed.code, model.problems]).toEqual([0, []])
  })

  test.each([
    ['json', ['-p', PROMPT]],
    ['text', ['--output-format', 'text', '-p', PROMPT]],
    ['steps', ['--step', '-p', PROMPT]],
  ])('is no crash (%s): the process ends with 129', async (_, args) => {
    const { model, home, dir } = await setUp(() => hang())
    const code = join(dir, 'code')
    const words = [process.execPath, CLI, '-C', dir, ...args].map((word) => `'${word}'`).join(' ')
    // The shell outlives its terminal, hands the signal on as shells do, and writes down what the agent ended with.
    const line = `trap 'kill -HUP $!' HUP; ${words} <&0 & wait $!; wait $!; echo $? > ${code}`
    const terminal = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...agentEnv({ url: model.url, home }), SHELL: '/bin/bash', TERM: 'xterm' },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    if (args[0] === '--step') terminal.stdin?.write('c\n')
    await model.waitForRequest(0)
    terminal.kill('SIGKILL')
    await until(() => read(code) !== '')
    expect(read(code)).toBe('129\n')
  })
})

describe('a run that was started with nohup', () => {
  async function outlives(start: (words: string[], options: { env: NodeJS.ProcessEnv }) => ChildProcess) {
    const answer: HeldReply = held('Done.')
    const { model, home, dir } = await setUp([answer])
    const words = [process.execPath, CLI, '-C', dir, '--json', '-p', PROMPT]
    const child = start(words, { env: agentEnv({ url: model.url, home }) })
    const end = ended(child)
    await model.waitForRequest(0)
    child.kill('SIGHUP')
    await sleep(200)
    answer.release()
    const { code, stdout } = await end
    expect([code, JSON.parse(stdout).result]).toEqual([0, 'Done.'])
  }

  test('goes on when its terminal is closed', () =>
    outlives((words, options) => {
      const line = `nohup ${words.map((word) => `'${word}'`).join(' ')}`
      return spawn('bash', ['-c', line], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    }))

  test.runIf(process.platform === 'linux')('is known by its stdin too, where no shell names the program', () =>
    outlives(([program = '', ...args], options) => {
      const stdin = openSync('/dev/null', constants.O_WRONLY)
      try {
        return spawn(program, args, { ...options, stdio: [stdin, 'pipe', 'pipe'] })
      } finally {
        closeSync(stdin)
      }
    }),
  )
})
