import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, reply } from '../support/fakeModel.ts'
import { write } from '../support/write.ts'
import { type SetUp, setUp } from './setUp.ts'

function trusted({ home }: SetUp): unknown {
  return JSON.parse(readFileSync(join(home, '.agent/trust.json'), 'utf8'))
}

describe('agent trust', () => {
  test('trusts the working directory or the one that is named, by its real path, in a private file', async () => {
    const agent = await setUp([])
    mkdirSync(join(agent.dir, 'sub'))
    symlinkSync(join(agent.dir, 'sub'), join(agent.dir, 'link'))
    const first = await agent.run(['trust'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain(`${agent.dir} is trusted now`)
    const second = await agent.run(['trust', 'link', '--json'])
    expect(JSON.parse(second.stdout)).toEqual({ trusted: join(agent.dir, 'sub'), changed: true })
    expect((await agent.run(['trust'])).stdout).toContain('was trusted already')
    expect(trusted(agent)).toEqual({ trusted: [agent.dir, join(agent.dir, 'sub')] })
    expect(statSync(join(agent.home, '.agent/trust.json')).mode & 0o777).toBe(0o600)
    expect(statSync(join(agent.home, '.agent')).mode & 0o777).toBe(0o700)
    const list = await agent.run(['trust', '--list'])
    expect(list.stdout).toBe(`${agent.dir}\n${join(agent.dir, 'sub')}\n`)
    expect(JSON.parse((await agent.run(['trust', '--list', '--json'])).stdout)).toEqual(trusted(agent))
  })

  test('takes trust away, also from a directory that is gone', async () => {
    const agent = await setUp([])
    const gone = join(agent.dir, 'gone')
    mkdirSync(gone)
    await agent.run(['trust', 'gone'])
    rmSync(gone, { recursive: true })
    const removed = await agent.run(['trust', '--remove', 'gone'])
    expect(removed).toMatchObject({ code: 0, stdout: `${gone} is no longer trusted.\n` })
    const none = await agent.run(['trust', '--remove'])
    expect(none).toMatchObject({ code: 2, stdout: '' })
    expect(none.stderr).toContain(`${agent.dir} is not trusted`)
    expect((await agent.run(['trust', '--list'])).stdout).toContain('No directory is trusted')
  })

  test('of a directory below a trusted one says which to remove', async () => {
    const agent = await setUp([])
    mkdirSync(join(agent.dir, 'sub'))
    await agent.run(['trust'])
    const end = await agent.run(['trust', '--remove', 'sub'])
    expect(end.code).toBe(2)
    expect(end.stderr).toContain(`agent trust --remove ${agent.dir}`)
  })

  test.each([
    [['trust', 'nope'], 'does not exist'],
    [['trust', 'file'], 'is not a directory'],
    [['trust', 'a', 'b'], 'Unexpected argument "b"'],
    [['trust', '--list', 'a'], '--list takes no directory'],
    [['-p', 'x', '--list'], '--list does not belong to a run'],
  ])('%j is refused', async (args, message) => {
    const agent = await setUp(['ok'])
    write(join(agent.dir, 'file'), '')
    const end = await agent.run(args)
    expect({ code: end.code, requests: agent.model.requests.length }).toEqual({ code: 2, requests: 0 })
    expect(end.stderr).toContain(message)
  })

  test('does not overwrite a list that it does not understand', async () => {
    const agent = await setUp([])
    const file = write(join(agent.home, '.agent/trust.json'), '{"trusted": ["/a"')
    const end = await agent.run(['trust'])
    expect(end.code).toBe(2)
    expect(end.stderr).toContain(`${file} is not understood`)
    // Nor does it say that nothing is trusted.
    expect(await agent.run(['trust', '--list'])).toMatchObject({ code: 2, stdout: '', stderr: end.stderr })
    expect(readFileSync(file, 'utf8')).toBe('{"trusted": ["/a"')
  })

  test('lets the rules, the variables and the outside imports of a project count', async () => {
    const commands = ['printf "$OURS"', 'touch made']
    const agent = await setUp((_, n) =>
      n % 2 === 0 ? reply(commands.map((command) => call('bash', { command }))) : 'done',
    )
    write(join(agent.home, 'rules.md'), 'IMPORTED')
    write(join(agent.dir, 'AGENTS.md'), '@~/rules.md\n')
    write(join(agent.dir, '.agent/settings.json'), {
      permissions: { allow: ['Bash'], deny: ['Bash(touch:*)'] },
      env: { OURS: 'ours' },
    })
    const before = await agent.run(['-p', 'go'])
    expect(before.stderr).toContain('ignored permissions.allow, env')
    expect(agent.model.requests[0]?.body.system).not.toContain('IMPORTED')
    expect(JSON.parse(before.stdout).permission_denials).toHaveLength(2)
    await agent.run(['trust'])
    const after = await agent.run(['-p', 'go'])
    expect(after.stderr).toBe('')
    expect(agent.model.requests[2]?.body.system).toContain('IMPORTED')
    const told = agent.model.requests[3]?.body.messages.at(-1)?.content as unknown as Array<{ content: string }>
    expect(told.map(({ content }) => content)).toEqual([
      'ours',
      expect.stringContaining('denied by the rule Bash(touch:*)'),
    ])
  })
})
