/** What commands do where their output goes nowhere, and where a person is to read it. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentEnv, CLI } from '../support/agent.ts'
import { setUp } from './setUp.ts'

const COMMANDS = [
  ['sessions'],
  ['sessions', '--json'],
  ['config'],
  ['skills'],
  ['memory'],
  ['memory', '--json'],
  ['trust', '--list'],
  ['graph'],
  ['--help'],
  ['--version'],
]

interface End {
  code: number | null
  stderr: string
}

async function into(target: 'closed pipe' | 'full disk', args: string[]): Promise<End> {
  const { home, dir, bare } = await setUp(() => 'ok')
  mkdirSync(join(dir, '.memory'))
  writeFileSync(join(dir, '.memory', 'a.md'), '---\nname: a\ndescription: b\ntype: user\n---\nc\n')
  await bare(['-C', dir, '-p', 'x'])
  const stdout = target === 'full disk' ? openSync('/dev/full', 'w') : 'pipe'
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: dir,
    env: agentEnv({ home }),
    stdio: ['ignore', stdout, 'pipe'],
  })
  child.stdout?.destroy()
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stderr })))
}

describe.each(COMMANDS.map((args) => [args]))('agent %j', (args) => {
  test('ends in silence where its reader has gone', async () => {
    expect(await into('closed pipe', args)).toEqual({ code: 0, stderr: '' })
  })

  test.skipIf(!existsSync('/dev/full'))('says so and fails where the disk is full', async () => {
    expect(await into('full disk', args)).toEqual({ code: 1, stderr: expect.stringMatching(/^agent: .*ENOSPC.*\n$/) })
  })
})
