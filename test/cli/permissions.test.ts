/** What may run and what not, seen from outside: files, remote repositories, and what the model is told. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { write } from '../support/write.ts'
import { type SetUp, setUp } from './setUp.ts'

interface Result {
  tool_use_id: string
  content: string
  is_error?: boolean
}

/** @returns the tool results that a request ends with */
function results(agent: SetUp, request: number): Result[] {
  return agent.model.requests[request]?.body.messages.at(-1)?.content as unknown as Result[]
}

function bash(...commands: string[]) {
  return reply(commands.map((command, i) => call('bash', { command }, `toolu_${i}`)))
}

function userSettings({ home }: SetUp, value: object): void {
  mkdirSync(join(home, '.agent'), { recursive: true })
  writeFileSync(join(home, '.agent/settings.json'), JSON.stringify(value))
}

const CHAINED = [
  'git log; rm keep.txt',
  'git log && rm keep.txt',
  'git log | xargs rm keep.txt',
  'git log & rm keep.txt',
  'git log\nrm keep.txt',
  'git log || rm keep.txt',
  'echo a > first; rm keep.txt',
]

const HIDDEN = [
  'X=$(touch p1) git status',
  'git status `touch p2`',
  'git status > p3',
  'cat <(touch p4)',
  'find . -name a -exec touch p5 ;',
  'find . -delete',
  'git status 2>p6',
  '"$(touch p7)"',
  'cat <<< "$(touch p8)"',
]

describe.each([
  ['without rules', {}],
  ['with a rule for git log', { permissions: { allow: ['Bash(git log:*)', 'Bash(git status:*)', 'Bash(find:*)'] } }],
])('a headless run without --yes, %s', (_, settings) => {
  test('runs no command that is more than what is allowed, nor a part of it', async () => {
    const commands = [...CHAINED, ...HIDDEN]
    const agent = await setUp([bash(...commands), 'done'])
    userSettings(agent, settings)
    write(join(agent.dir, 'keep.txt'), 'kept')
    const end = await agent.run(['-p', 'go'])
    expect(end.code).toBe(0)
    expect(readdirSync(agent.dir)).toEqual(['keep.txt'])
    expect(results(agent, 1)).toEqual(
      commands.map((_, i) => ({
        type: 'tool_result',
        tool_use_id: `toolu_${i}`,
        is_error: true,
        content: expect.stringMatching(
          /^Permission refused: .*needs approval.* Nothing was run\. To allow it, .*--yes/s,
        ),
        ...(i === commands.length - 1 && { cache_control: { type: 'ephemeral' } }),
      })),
    )
    expect(JSON.parse(end.stdout).permission_denials).toEqual(
      commands.map((command, i) => ({ tool_name: 'bash', tool_use_id: `toolu_${i}`, tool_input: { command } })),
    )
    expect(agent.model.requests).toHaveLength(2)
  })
})

test('a plain command that a rule of the user allows runs', async () => {
  const agent = await setUp([bash('git --version', 'printf %s "a b"', 'git --version | cat'), 'done'])
  userSettings(agent, { permissions: { allow: ['Bash(git --version)', 'Bash(printf:*)'] } })
  await agent.run(['-p', 'go'])
  expect(results(agent, 1).map(({ content, is_error = false }) => [is_error, content.slice(0, 18)])).toEqual([
    [false, expect.stringMatching(/^git version/)],
    [false, 'a b'],
    [true, 'Permission refused'],
  ])
  expect(results(agent, 1)[2]?.content).toContain('"Bash(cat)"')
})

test('what a rule allows runs by itself, and beside what it does not allow not at all', async () => {
  const agent = await setUp([bash('git log --format=%s', 'git log --format=%s; touch p', 'touch p'), 'done'])
  userSettings(agent, { permissions: { allow: ['Bash(git log:*)'] } })
  const identity = ['-c', 'user.email=e@example.com', '-c', 'user.name=n']
  for (const args of [
    ['init', '-q'],
    [...identity, 'commit', '-q', '--allow-empty', '-m', 'first'],
  ])
    execFileSync('git', args, { cwd: agent.dir })
  await agent.run(['-p', 'go'])
  expect(results(agent, 1).map(({ content, is_error = false }) => [is_error, content.slice(0, 18)])).toEqual([
    [false, 'first'],
    [true, 'Permission refused'],
    [true, 'Permission refused'],
  ])
  expect(existsSync(join(agent.dir, 'p'))).toBe(false)
})

test('a deny rule holds with --yes, whatever the spelling', async () => {
  const commands = [
    'git push',
    'git -C . push',
    'env git push',
    'cd . && git push',
    'command git push',
    'git  push',
    '/usr/bin/git push',
    'sh -c "git push"',
    'X=push; git $X',
    'sh -c "$CMD"',
    'git commit -q --allow-empty -m "git push"',
  ]
  const agent = await setUp([bash(...commands), 'done'])
  userSettings(agent, { permissions: { deny: ['Bash(git push:*)'] } })
  const remote = temporaryDirectory()
  const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' })
  git(remote, 'init', '-q', '--bare')
  git(agent.dir, 'init', '-q', '-b', 'main')
  git(agent.dir, 'config', 'user.email', 'e@example.com')
  git(agent.dir, 'config', 'user.name', 'n')
  git(agent.dir, 'commit', '-q', '--allow-empty', '-m', 'first')
  git(agent.dir, 'remote', 'add', 'origin', remote)
  git(agent.dir, 'config', 'push.default', 'current')
  git(agent.dir, 'config', 'branch.main.remote', 'origin')
  const end = await agent.run(['--yes', '-p', 'go'])
  expect(git(remote, 'for-each-ref')).toBe('')
  const told = results(agent, 1)
  expect(told.slice(0, -1).map(({ content }) => content)).toEqual(
    commands
      .slice(0, -1)
      .map(() => expect.stringContaining(`Bash(git push:*) (in ${agent.home}/.agent/settings.json)`)),
  )
  expect(told.at(-1)?.is_error).toBeUndefined()
  expect(JSON.parse(end.stdout).permission_denials).toHaveLength(commands.length - 1)
})

describe('rules that cannot be understood', () => {
  test.each([
    [{ deny: ['Bash(git push'] }, 'permissions.deny is not understood: it is not of the form tool or tool(specifier)'],
    [{ deny: ['Bsh(git push)'] }, 'permissions.deny is not understood: there is no tool Bsh'],
    [{ deny: ['Bash(a && b)'] }, 'permissions.deny is not understood: a rule names one plain command'],
    [{ ask: ['Read(!x)'] }, 'permissions.ask is not understood: a pattern cannot begin with !'],
  ])('of those that forbid, nothing is started: %j', async (permissions, message) => {
    const agent = await setUp(['ok'])
    userSettings(agent, { permissions })
    const end = await agent.run(['--yes', '-p', 'go'])
    expect(end.code).toBe(2)
    expect(end.stderr).toContain(`${agent.home}/.agent/settings.json: the rule `)
    expect(end.stderr).toContain(message)
    expect(agent.model.requests).toEqual([])
    expect(JSON.parse(end.stdout)).toMatchObject({ is_error: true })
  })

  test('of those that allow, a warning names file and rule', async () => {
    const agent = await setUp(['ok'])
    userSettings(agent, {
      permissions: { allow: ['Bash(a > b)', 'WebFetch', 'Bash(env:*)', 'Nope'], deny: ['mcp__x'] },
    })
    const end = await agent.run(['-p', 'go'])
    expect(end.code).toBe(0)
    for (const rule of ['Bash(a > b)', 'WebFetch', 'Bash(env:*)', 'Nope', 'mcp__x'])
      expect(end.stderr).toContain(
        `${agent.home}/.agent/settings.json: ${rule === 'Bash(env:*)' ? '' : 'the rule '}"${rule}"`,
      )
  })
})

describe('paths', () => {
  test('a write through a link, by .. or by an absolute path stays inside without --yes', async () => {
    const agent = await setUp([
      reply([
        call('write_file', { path: 'link/x.txt', content: 'x' }),
        call('edit_file', { path: 'link/old.txt', old_text: 'old', new_text: 'new' }),
        call('write_file', { path: 'sub/../../outside/x.txt', content: 'x' }),
        call('write_file', { path: 'file', content: 'x' }),
        call('write_file', { path: 'dangling', content: 'x' }),
        call('write_file', { path: 'src/in.txt', content: 'x' }),
        call('write_file', { path: 'src/out/x.txt', content: 'x' }),
      ]),
      'done',
    ])
    userSettings(agent, { permissions: { allow: ['Edit(**)', 'Edit(src/**)', 'Edit(link/**)', 'Edit'] } })
    const outside = temporaryDirectory()
    write(join(outside, 'old.txt'), 'old')
    mkdirSync(join(agent.dir, 'sub'))
    mkdirSync(join(agent.dir, 'src'))
    symlinkSync(outside, join(agent.dir, 'link'))
    symlinkSync(outside, join(agent.dir, 'src/out'))
    symlinkSync(join(outside, 'old.txt'), join(agent.dir, 'file'))
    symlinkSync(join(outside, 'new.txt'), join(agent.dir, 'dangling'))
    await agent.run(['-p', 'go'])
    expect(readdirSync(outside)).toEqual(['old.txt'])
    expect(readFileSync(join(outside, 'old.txt'), 'utf8')).toBe('old')
    expect(results(agent, 1).map(({ is_error = false }) => is_error)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      true,
    ])
    expect(results(agent, 1)[0]?.content).toContain(
      `link/x.txt (which leads to ${outside}/x.txt) is outside the working`,
    )
  })

  test('searches and reads do not leave the directory by .., absolute or brace patterns', async () => {
    const agent = await setUp([
      reply([
        call('glob', { pattern: '../secret/*' }),
        call('glob', { pattern: '{..,..}/secret/*' }),
        call('glob', { pattern: '/etc/pass*' }),
        call('grep', { pattern: 'KEY1', path: '..' }),
        call('read_file', { path: '../secret/leak.txt' }),
        call('read_file', { path: 'link/leak.txt' }),
        call('read_file', { path: '/proc/self/root/etc/passwd' }),
        call('read_file', { path: '/proc/self/environ' }),
        call('glob', { pattern: 'foo..bar/*.txt' }),
        call('grep', { pattern: 'KEY1', path: 'link' }),
      ]),
      'done',
    ])
    const project = join(agent.dir, 'proj')
    write(join(agent.dir, 'secret/leak.txt'), 'KEY1')
    write(join(project, 'foo..bar/a.txt'), 'a')
    symlinkSync(join(agent.dir, 'secret'), join(project, 'link'))
    await agent.bare(['-C', project, '-p', 'go'])
    const told = results(agent, 1)
    expect(told.map(({ is_error = false }) => is_error)).toEqual([
      true,
      true,
      true,
      true,
      true,
      true,
      true,
      true,
      false,
      true,
    ])
    expect(told[8]?.content).toBe('foo..bar/a.txt')
    expect(told.map(({ content }) => content).join('\n')).not.toMatch(/^KEY1|:KEY1/m)
  })

  test('.git, .agent and start-up files are asked for where a rule allows writing', async () => {
    const paths = [
      '.git/config',
      '.git/hooks/pre-commit',
      'sub/.git/config',
      '.agent/settings.json',
      '.bashrc',
      'x/.zshrc',
    ]
    const agent = await setUp([
      reply([...paths, '.gitignore', 'a.txt'].map((path) => call('write_file', { path, content: 'x' }))),
      'done',
    ])
    userSettings(agent, { permissions: { allow: ['Edit', 'Edit(**)', 'Edit(.git/**)', '*'] } })
    await agent.run(['-p', 'go'])
    const told = results(agent, 1)
    expect(told.map(({ is_error = false }) => is_error)).toEqual([...paths.map(() => true), false, false])
    expect(told[0]?.content).toContain('writes to .git/ are always asked for')
    expect(paths.filter((path) => existsSync(join(agent.dir, path)))).toEqual([])
  })

  test('what a rule forbids to read is not found by a search either, with --yes too', async () => {
    const agent = await setUp([
      reply([
        call('read_file', { path: '.env' }),
        call('read_file', { path: 'sub/.ENV' }),
        call('grep', { pattern: 'SECRET' }),
        call('grep', { pattern: 'SECRET', path: 'private' }),
        call('grep', { pattern: 'SECRET', path: '.env' }),
        call('read_file', { path: 'link' }),
        call('write_file', { path: '.env', content: 'x' }),
      ]),
      'done',
    ])
    userSettings(agent, { permissions: { deny: ['Read(.env)', 'Read(private/**)', 'Edit(.env)'] } })
    for (const file of ['.env', 'sub/.env', 'private/key', 'open.txt'])
      write(join(agent.dir, file), `SECRET of ${file}\n`)
    symlinkSync('.env', join(agent.dir, 'link'))
    await agent.run(['--yes', '-p', 'go'])
    const told = results(agent, 1)
    expect(told.map(({ is_error = false }) => is_error)).toEqual([true, true, false, true, true, true, true])
    expect(told[2]?.content).toBe('open.txt:1:SECRET of open.txt')
    expect(told[0]?.content).toContain('is denied by a rule: Read(.env)')
  })

  test('a rule may open a directory outside for reading, and one file for writing', async () => {
    const agent = await setUp([
      reply([
        call('read_file', { path: '~/notes/a.txt' }),
        call('grep', { pattern: 'x', path: '~/notes' }),
        call('read_file', { path: '~/other.txt' }),
        call('write_file', { path: '~/notes/b.txt', content: 'x' }),
        call('write_file', { path: '~/notes/c.txt', content: 'x' }),
      ]),
      'done',
    ])
    userSettings(agent, { permissions: { allow: ['Read(~/notes/**)', `Edit(/${agent.home}/notes/b.txt)`] } })
    write(join(agent.home, 'notes/a.txt'), 'x')
    write(join(agent.home, 'other.txt'), 'x')
    await agent.run(['-p', 'go'])
    expect(results(agent, 1).map(({ is_error = false }) => is_error)).toEqual([false, false, true, false, true])
    expect(readdirSync(join(agent.home, 'notes')).sort()).toEqual(['a.txt', 'b.txt'])
  })
})

test('a subagent may no more than its parent', async () => {
  const agent = await setUp([
    reply([call('task', { description: 'make files' })]),
    reply([call('bash', { command: 'touch p' }), call('write_file', { path: 'q', content: 'x' })]),
    'nothing could be done',
    'done',
  ])
  const end = await agent.run(['-p', 'go'])
  expect(readdirSync(agent.dir)).toEqual([])
  expect(results(agent, 2).map(({ is_error }) => is_error)).toEqual([true, true])
  expect(results(agent, 3)[0]?.content).toContain('nothing could be done')
  expect(JSON.parse(end.stdout).permission_denials).toHaveLength(2)
})
