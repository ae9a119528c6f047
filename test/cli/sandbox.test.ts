/** --sandbox: shell commands between bubblewrap's walls. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { write } from '../support/write.ts'
import { type SetUp, setUp } from './setUp.ts'

const WORKS = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', '--unshare-net', 'true']).status === 0

function bash(...commands: string[]) {
  return reply(commands.map((command) => call('bash', { command })))
}

function told(agent: SetUp, request = 1): string[] {
  const content = agent.model.requests[request]?.body.messages.at(-1)?.content as unknown as Array<{ content: string }>
  return content.map((block) => block.content)
}

describe.runIf(WORKS)('with --sandbox', () => {
  test('commands write in the working directory and in a /tmp of their own, and nowhere else', async () => {
    const outside = temporaryDirectory()
    const agent = await setUp([
      bash(
        'echo in > made; cat made',
        `echo out > ${outside}/made; echo "code $?"`,
        'echo home > ~/made; echo "code $?"',
        'echo etc > /etc/made; echo "code $?"',
        'echo tmp > /tmp/made-in-sandbox; pwd',
        'exit 7',
        'kill -9 $$',
      ),
      bash('cat /tmp/made-in-sandbox; ls'),
      'done',
    ])
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('stepwright-sandbox-'))
    const end = await agent.run(['--yes', '--sandbox', '-p', 'go'])
    expect(end.code).toBe(0)
    const [first, outer, home, etc, fourth, fifth, sixth] = told(agent)
    expect([first, fourth]).toEqual(['in', agent.dir])
    expect([outer, home, etc].map((text) => text?.endsWith('code 1'))).toEqual([true, true, true])
    expect(etc).toContain(process.getuid?.() === 0 ? 'Read-only file system' : 'ermission denied')
    expect([fifth, sixth]).toEqual(['[exit code 7]', expect.stringContaining('137')])
    expect(told(agent, 2)).toEqual(['tmp\nmade'])
    expect([readdirSync(outside), existsSync(join(agent.home, 'made')), existsSync('/tmp/made-in-sandbox')]).toEqual([
      [],
      false,
      false,
    ])
    expect(readFileSync(join(agent.dir, 'made'), 'utf8')).toBe('in\n')
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('stepwright-sandbox-'))).toEqual(before)
  })

  test('what decides over later runs stays as it is: .agent, .git/config, hooks', async () => {
    const agent = await setUp([
      bash(
        'echo x >> .agent/settings.json; echo x >> .git/config; echo x > .git/hooks/pre-commit; touch .git/index; true',
      ),
      'done',
    ])
    spawnSync('git', ['init', '-q'], { cwd: agent.dir })
    const file = write(join(agent.dir, '.agent/settings.json'), '{}')
    const config = readFileSync(join(agent.dir, '.git/config'), 'utf8')
    await agent.run(['--yes', '--sandbox', '-p', 'go'])
    expect([readFileSync(file, 'utf8'), readFileSync(join(agent.dir, '.git/config'), 'utf8')]).toEqual(['{}', config])
    expect(existsSync(join(agent.dir, '.git/hooks/pre-commit'))).toBe(false)
    expect(existsSync(join(agent.dir, '.git/index'))).toBe(true)
  })

  test('other processes cannot be seen, nor the agent be reached through /proc', async () => {
    const agent = await setUp([bash('ls /proc | grep -c "^[0-9]"; cat /proc/$PPID/cmdline | tr "\\0" " "'), 'done'])
    await agent.run(['--yes', '--sandbox', '-p', 'go'])
    expect(Number(told(agent)[0]?.split('\n')[0])).toBeLessThan(10)
    expect(told(agent)[0]).not.toContain('cli.js')
  })

  test('there is no network unless the settings allow it', async () => {
    const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const agent = await setUp((_, n) => (n % 2 === 0 ? bash(`cat < /dev/tcp/127.0.0.1/${port}`) : 'done'))
    await agent.run(['--yes', '--sandbox', '-p', 'go'])
    expect(told(agent)[0]).not.toContain('reached')
    write(join(agent.home, '.agent/settings.json'), { sandbox: { enabled: true, network: true } })
    await agent.run(['--yes', '-p', 'go'])
    expect(told(agent, 3)[0]).toContain('reached')
  })

  test('a project can neither open the network nor take the walls away', async () => {
    const agent = await setUp([bash('echo x > ~/made; true'), 'done'])
    write(join(agent.home, '.agent/settings.json'), { sandbox: { enabled: true } })
    write(join(agent.dir, '.agent/settings.json'), { sandbox: { enabled: false, network: true } })
    const end = await agent.run(['--yes', '-p', 'go'])
    expect(end.stderr).toContain('ignored sandbox')
    expect(existsSync(join(agent.home, 'made'))).toBe(false)
  })

  test('a long command, a timeout and a background process are no different', async () => {
    const agent = await setUp([
      reply([
        call('bash', { command: `echo ${'x'.repeat(150_000)} | wc -c` }),
        call('bash', { command: 'echo before; sleep 60', timeout: 500 }),
        call('bash', { command: 'sleep 60 & echo started' }),
      ]),
      'done',
    ])
    await agent.run(['--yes', '--sandbox', '-p', 'go'])
    expect(told(agent)).toEqual([
      '150001',
      expect.stringMatching(/^before\n\[timed out after 500 ms/),
      expect.stringMatching(/^started/),
    ])
  })
})

describe('without a working bubblewrap nothing is started', () => {
  test('it is missing', async () => {
    const agent = await setUp(['ok'])
    const end = await agent.run(['--sandbox', '-p', 'go'], { env: { PATH: temporaryDirectory() } })
    expect([end.code, agent.model.requests.length]).toEqual([2, 0])
    expect(end.stderr).toContain('bubblewrap is not installed')
  })

  test('it is not permitted', async () => {
    const agent = await setUp(['ok'])
    const bin = temporaryDirectory()
    const program = write(
      join(bin, 'bwrap'),
      '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
    )
    chmodSync(program, 0o755)
    const end = await agent.run(['--sandbox', '-p', 'go'], { env: { PATH: `${bin}:${process.env.PATH}` } })
    expect([end.code, agent.model.requests.length]).toEqual([2, 0])
    expect(end.stderr).toContain('No permissions to create new namespace')
  })

  test('the working directory is everything', async () => {
    const agent = await setUp(['ok'])
    const end = await agent.bare(['-C', '/', '--sandbox', '-p', 'go'])
    expect([end.code, end.stderr.includes('that is / here')]).toEqual([2, true])
  })
})
