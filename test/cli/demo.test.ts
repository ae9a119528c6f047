import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { selfCommand } from '../../src/commands/self.ts'
import { runAgent, temporaryDirectory } from '../support/agent.ts'

test('the demo mends its project without a key, and its session can be looked at', async () => {
  const home = temporaryDirectory()
  const demo = await runAgent(['demo'], { home })
  expect(demo.code).toBe(0)
  const directory = /broken project is in (\S+)/.exec(demo.stdout)?.[1] ?? expect.fail('no directory was named')
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const id = /trace ([0-9a-f-]{36})/.exec(demo.stdout)?.[1] ?? expect.fail('no session was named')
  expect(spawnSync(process.execPath, ['--test', directory]).status).toBe(0)
  const trace = await runAgent(['trace', id, '--json'], { home })
  expect(trace.code).toBe(0)
  const last = JSON.parse(trace.stdout.trimEnd().split('\n').at(-1) ?? 'null') as { to: string }
  expect(last.to).toBe('done')
  const replay = await runAgent(['replay', id, '--json'], { home })
  expect({ code: replay.code, ...JSON.parse(replay.stdout) }).toMatchObject({ code: 0, state: 'done', matches: true })
})

test('commands are named the way the user started the agent', () => {
  expect(selfCommand('/usr/local/bin/agent', '/home/me')).toBe('agent')
  expect(selfCommand(join('/home/me', 'stepwright/dist/cli.js'), '/home/me')).toBe('node stepwright/dist/cli.js')
  expect(selfCommand('/opt/stepwright/dist/cli.js', '/home/me')).toBe('node /opt/stepwright/dist/cli.js')
})
