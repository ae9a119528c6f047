/** What becomes of subagents when the run that they belong to is interrupted or killed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ended, resultOf, startAgent } from '../support/agent.ts'
import { type CapturedRequest, call, hang, reply, type ScriptedReply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

const topic = ({ body }: CapturedRequest) => String(body.messages[0]?.content[0]?.text)
const USAGE = { usage: { input_tokens: 1000, output_tokens: 100 } }

/** A main conversation with three tasks: one in a shell command, one waiting for the model, one at its second call. */
function threeTasks(afterwards: ScriptedReply[]) {
  let mains = 0
  return (request: CapturedRequest): ScriptedReply => {
    const isFirst = request.body.messages.length === 1
    switch (topic(request)) {
      case 'shell':
        return reply([call('bash', { command: 'echo $$ > shell.pid; sleep 60' }, 's1')], USAGE)
      case 'model':
        return hang()
      case 'second':
        return isFirst ? reply(['Half way.', call('bash', { command: 'echo x > second.txt' })], USAGE) : hang()
      default:
        return mains++ === 0
          ? reply(
              ['shell', 'model', 'second'].map((description) => call('task', { description }, `t-${description}`)),
              USAGE,
            )
          : (afterwards[mains - 2] ?? 'ok')
    }
  }
}

/** Starts the run and waits until all three are where they are to be interrupted. */
async function startThree(place: SetUp) {
  const child = startAgent(['-C', place.dir, '--yes', '-p', 'main'], { url: place.model.url, home: place.home })
  const end = ended(child)
  const pid = await until(() => readFileSync(join(place.dir, 'shell.pid'), 'utf8').trim())
  await until(() => place.model.requests.filter((request) => topic(request) === 'model')[0])
  await until(() => place.model.requests.filter((request) => topic(request) === 'second')[1])
  return { child, end, pid: Number(pid) }
}

async function until<T>(look: () => T | undefined | ''): Promise<T> {
  for (;;) {
    try {
      const value = look()
      if (value) return value
    } catch {
      // Not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

interface Head {
  session_id: string
  parent?: string
  first_prompt: string
}

async function children({ bare, dir }: SetUp, parent: string) {
  const heads = JSON.parse((await bare(['-C', dir, 'sessions', '--json'])).stdout) as Head[]
  const own = heads.filter((head) => head.parent === parent)
  return Promise.all(
    own
      .sort((a, b) => (a.first_prompt < b.first_prompt ? -1 : 1))
      .map(async ({ session_id, first_prompt }) => {
        const { stdout } = await bare(['sessions', 'export', session_id])
        const records = stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).record)
        return { first_prompt, records }
      }),
  )
}

test('SIGINT interrupts them all: their journals say so, their commands end, what they used counts', async () => {
  const place = await setUp(threeTasks([]))
  const { child, end, pid } = await startThree(place)
  child.kill('SIGINT')
  const done = await end
  const result = resultOf(done)
  expect({ code: done.code, subtype: result.subtype, is_error: result.is_error }).toEqual({
    code: 130,
    subtype: 'error_interrupted',
    is_error: true,
  })
  // What is left of it until the system has taken note may still have its number.
  await until(() => !isAlive(pid))
  expect(result.usage).toMatchObject({ input_tokens: 3000, output_tokens: 300 })
  const all = await children(place, result.session_id)
  expect(all.map(({ first_prompt, records }) => [first_prompt, records.at(-1)])).toEqual(
    ['model', 'second', 'shell'].map((name) => [
      name,
      {
        type: 'turnEnded',
        status: 'cancelled',
        subtype: 'error_interrupted',
        message: 'Interrupted (the run that gave the task was interrupted). Resume the session to go on.',
      },
    ]),
  )
  expect(done.stderr).toMatch(/^error: Interrupted \(SIGINT\)\. To go on: agent resume [0-9a-f-]{36}\n$/)
})

test('after kill -9 their sessions are there, the parent is told of each open task, and none runs again', async () => {
  const place = await setUp(threeTasks(['went on']))
  const { child, end, pid } = await startThree(place)
  child.kill('SIGKILL')
  expect((await end).signal).toBe('SIGKILL')
  await until(() => !isAlive(pid))
  const before = place.model.requests.length
  const result = resultOf(await place.run(['--yes', '-c', '-p', 'go on']))
  expect(result).toMatchObject({ is_error: false, result: 'went on' })
  expect(place.model.problems).toEqual([])
  expect(place.model.requests.slice(before).map(topic)).toEqual(['main'])
  expect(place.model.requests.at(-1)?.body.messages.at(-1)?.content).toEqual([
    ...['t-shell', 't-model', 't-second'].map((tool_use_id) => ({
      type: 'tool_result',
      tool_use_id,
      is_error: true,
      content: expect.stringMatching(/^Interrupted: .*may have taken effect/),
    })),
    expect.objectContaining({ type: 'text', text: 'go on' }),
  ])
  const all = await children(place, result.session_id)
  expect(all.map(({ first_prompt, records }) => [first_prompt, records.at(-1).type])).toEqual([
    ['model', 'context'],
    ['second', 'toolFinished'],
    ['shell', 'toolStarted'],
  ])
})

test('a task that ended before the kill keeps its result, and is not done again', async () => {
  const place = await setUp((request) => {
    if (topic(request) === 'quick') return 'quick is done'
    if (topic(request) === 'slow') return hang()
    if (request.body.messages.length > 1) return 'went on'
    return reply([call('task', { description: 'quick' }, 't-quick'), call('task', { description: 'slow' }, 't-slow')])
  })
  const child = startAgent(['-C', place.dir, '-p', 'main'], { url: place.model.url, home: place.home })
  const end = ended(child)
  await place.model.waitForRequest(2)
  const finished = async () => {
    const heads = JSON.parse((await place.bare(['-C', place.dir, 'sessions', '--json'])).stdout) as Head[]
    const main = heads.find(({ parent }) => parent === undefined)?.session_id ?? ''
    return (await place.bare(['sessions', 'export', main])).stdout.includes('"toolFinished"')
  }
  while (!(await finished()));
  child.kill('SIGKILL')
  await end
  const before = place.model.requests.length
  expect(resultOf(await place.run(['-c', '-p', 'go on'])).result).toBe('went on')
  expect(place.model.requests.slice(before).map(topic)).toEqual(['main'])
  const results = place.model.requests.at(-1)?.body.messages.at(-1)?.content.slice(0, 2)
  expect(results?.map(({ tool_use_id, is_error, content }) => [tool_use_id, is_error ?? false, content])).toEqual([
    ['t-quick', false, 'quick is done'],
    ['t-slow', true, expect.stringMatching(/^Interrupted: /)],
  ])
})
