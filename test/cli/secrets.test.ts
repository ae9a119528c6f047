/** The key is for the model's server and for nobody else. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/agent.ts'
import { apiError, call, raw, reply } from '../support/fakeModel.ts'
import { filesWithKey, holdsKey, TEST_KEY } from '../support/noKey.ts'
import { type SetUp, setUp } from './setUp.ts'

function told(agent: SetUp, request: number): string[] {
  const content = agent.model.requests[request]?.body.messages.at(-1)?.content as unknown as Array<{ content: string }>
  return content.map((block) => block.content)
}

test('commands get the environment without it, from the parent they cannot show it, and nothing keeps it', async () => {
  const agent = await setUp([
    reply([
      call('bash', { command: 'env; cat /proc/self/environ | tr "\\0" "\\n"; echo "[$PATH]"' }),
      call('bash', { command: 'cat /proc/$PPID/cmdline /proc/$PPID/environ | tr "\\0" "\\n"' }),
      call('bash', { command: 'bash -c "(sleep 0.1; env) & wait"' }),
    ]),
    'done',
  ])
  const end = await agent.run(['--yes', '--debug', '--output-format', 'stream-json', '-p', 'go'])
  expect(end.code).toBe(0)
  expect(agent.model.requests[0]?.headers['x-api-key']).toBe(TEST_KEY)
  const [own, parents, childs] = told(agent, 1)
  expect(own).toMatch(/\[\/.+\]/)
  expect([own, childs].join()).not.toContain('ANTHROPIC_API_KEY')
  if (process.platform === 'linux') expect(parents).toContain('ANTHROPIC_API_KEY=[the key of the model was here]')
  expect(agent.model.problems).toEqual([])
  expect(filesWithKey(agent.home)).toEqual([])
})

test('a command that prints it at length does not bring it into the file of its output either', async () => {
  const command =
    'k=$(tr "\\0" "\\n" < /proc/$PPID/environ | sed -n s/ANTHROPIC_API_KEY=//p); for i in $(seq 4000); do echo "$i $k"; done'
  const agent = await setUp([reply([call('bash', { command })]), 'done'])
  await agent.run(['--yes', '-p', 'go'])
  const path = /\.task_outputs\/tool-results\/\S+\.txt/.exec(told(agent, 1)[0] ?? '')?.[0] ?? ''
  const kept = readFileSync(join(agent.dir, path), 'utf8')
  expect([kept.split('\n').length > 3999, holdsKey(kept)]).toEqual([true, false])
  expect(kept).toContain('4000 [the key of the model was here]')
})

test('files that hold it are read without it: by tools, mentions and instructions', async () => {
  const agent = await setUp([
    reply([call('read_file', { path: '.env' }), call('grep', { pattern: 'KEY' }), call('glob', { pattern: '*' })]),
    'done',
  ])
  // Removed by the test itself: these files are the user's.
  writeFileSync(join(agent.dir, '.env'), `KEY=${TEST_KEY}\nOTHER=1\n`)
  writeFileSync(join(agent.dir, 'AGENTS.md'), `The key is ${TEST_KEY}.\n`)
  const end = await agent.run(['-p', 'look at @.env'])
  writeFileSync(join(agent.dir, '.env'), '')
  writeFileSync(join(agent.dir, 'AGENTS.md'), '')
  expect(end.code).toBe(0)
  expect(agent.model.problems).toEqual([])
  expect(told(agent, 1)[0]).toBe('KEY=[the key of the model was here]\nOTHER=1\n')
  expect(agent.model.requests[0]?.body.system).toContain('The key is [the key of the model was here].')
})

describe('errors do not quote it', () => {
  test.each([
    ['401', apiError(401, 'authentication_error', `invalid x-api-key: ${TEST_KEY}`)],
    ['400', apiError(400, 'invalid_request_error', `headers: {"x-api-key": "${TEST_KEY}"}`)],
    ['a page of a proxy', raw({ status: 502, body: `<pre>x-api-key: ${TEST_KEY}</pre>` })],
  ])('%s', async (_, answer) => {
    const agent = await setUp(() => answer)
    const end = await agent.run(['--debug', '-p', 'go'])
    expect(end.code).toBe(1)
    expect(filesWithKey(agent.home)).toEqual([])
  })

  test('line ends around it are cut off, one within it is an error that does not show it', async () => {
    const agent = await setUp(() => 'ok')
    const trimmed = await agent.run(['-p', 'go'], { env: { ANTHROPIC_API_KEY: ` ${TEST_KEY}\r\n` } })
    expect([trimmed.code, agent.model.requests[0]?.headers['x-api-key']]).toEqual([0, TEST_KEY])
    const broken = await agent.run(['--debug', '-p', 'go'], {
      env: { ANTHROPIC_API_KEY: `${TEST_KEY.slice(0, 12)}\n${TEST_KEY.slice(12)}` },
    })
    expect([broken.code, agent.model.requests.length]).toEqual([2, 1])
    expect(broken.stderr).toContain('ANTHROPIC_API_KEY')
    expect(broken.stderr + broken.stdout).not.toContain('SECRET')
  })
})

test('it is not in a recording, nor in what sessions show and export', async () => {
  const agent = await setUp([reply([call('bash', { command: 'cat /proc/$PPID/environ' })]), 'done'])
  const file = join(temporaryDirectory(), 'replies.jsonl')
  const run = await agent.run(['--yes', '--record', file, '-p', 'go'])
  const { session_id } = JSON.parse(run.stdout)
  for (const command of ['show', 'export']) {
    const end = await agent.run(['sessions', command, session_id])
    expect(end.code).toBe(0)
  }
  for (const args of [
    ['trace', session_id],
    ['replay', session_id, '--json'],
    ['config', '--json'],
  ]) {
    expect((await agent.run(args)).code).toBe(0)
  }
  expect(holdsKey(readFileSync(file))).toBe(false)
})

test('settings of the user cannot put it into the environment of commands again', async () => {
  const agent = await setUp([reply([call('bash', { command: 'echo "[$ANTHROPIC_API_KEY][$MINE]"' })]), 'done'])
  mkdirSync(join(agent.home, '.agent'), { recursive: true })
  writeFileSync(
    join(agent.home, '.agent/settings.json'),
    JSON.stringify({ env: { ANTHROPIC_API_KEY: 'other', MINE: 'mine' } }),
  )
  await agent.run(['--yes', '-p', 'go'])
  expect(told(agent, 1)).toEqual(['[][mine]'])
})

test('the check at the end of every test finds a key that was written', () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, 'deep'))
  const file = join(directory, 'deep/session')
  writeFileSync(file, Buffer.concat([Buffer.from([0, 255]), Buffer.from(TEST_KEY)]))
  expect(filesWithKey(directory)).toEqual([file])
  writeFileSync(file, '')
})
