import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentEnv, CLI, ended } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

/** The workspace lines of a request's system prompt. */
function workspaceOf({ model }: SetUp, n = 0): string[] {
  expect(model.problems).toEqual([])
  const lines = String(model.requests[n]?.body.system).split('\n')
  return lines.filter((line) => /^(Working directory|Today's date|Git branch): /.test(line))
}

function branchOf(agent: SetUp, n = 0): string | null {
  const line = workspaceOf(agent, n).find((one) => one.startsWith('Git branch: '))
  return line === undefined ? null : line.slice('Git branch: '.length)
}

/** Runs git without the user's configuration. */
function git(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' }
  const settings = ['-c', 'user.name=T', '-c', 'user.email=t@example.com', '-c', 'protocol.file.allow=always']
  return execFileSync('git', [...settings, ...args], { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim()
}

function repository(dir: string): void {
  git(dir, 'init', '-q', '-b', 'trunk')
  git(dir, 'commit', '-q', '--allow-empty', '-m', 'c')
}

async function branchIn(agent: SetUp, dir: string, env: NodeJS.ProcessEnv = {}): Promise<string | null> {
  const n = agent.model.requests.length
  const end = await agent.bare(['-C', dir, '-p', 'hi'], { env })
  expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
  return branchOf(agent, n)
}

describe('where', () => {
  test('the working directory is named by its absolute path, also when -C is relative', async () => {
    const agent = await setUp(() => 'ok')
    mkdirSync(join(agent.home, 'my project ü'))
    await agent.bare(['-C', 'my project ü', '-p', 'hi'], { cwd: agent.home })
    await agent.bare(['-p', 'hi'], { cwd: join(agent.home, 'my project ü') })
    for (const n of [0, 1]) expect(workspaceOf(agent, n)[0]).toBe(`Working directory: ${agent.home}/my project ü`)
  })

  test('the tools work there too', async () => {
    const agent = await setUp([reply([call('bash', { command: 'pwd' })]), 'ok'])
    await agent.run(['--yes', '-p', 'where?'])
    expect(workspaceOf(agent)[0]).toBe(`Working directory: ${agent.dir}`)
    expect(agent.model.requests[1]?.raw).toContain(JSON.stringify(agent.dir).slice(1, -1))
  })
})

describe('when', () => {
  /** What the system's own `date` says for the zone; asked before and after, since a day may end between. */
  const today = (TZ: string) =>
    execFileSync('date', ['+%F'], { env: { TZ, PATH: process.env.PATH }, encoding: 'utf8' }).trim()

  test.each(['Pacific/Kiritimati', 'Pacific/Niue', 'Pacific/Pago_Pago', 'UTC', 'America/Sao_Paulo', 'Not/AZone', ''])(
    'with TZ=%s the date is that of `date +%%F`',
    async (TZ) => {
      const agent = await setUp(['ok'])
      const before = today(TZ)
      await agent.run(['-p', 'hi'], { env: { TZ } })
      expect([before, today(TZ)].map((date) => `Today's date: ${date}`)).toContain(workspaceOf(agent)[1])
    },
  )

  test('two zones that are 25 hours apart never have the same date', async () => {
    const agent = await setUp(() => 'ok')
    await agent.run(['-p', 'hi'], { env: { TZ: 'Pacific/Niue' } })
    await agent.run(['-p', 'hi'], { env: { TZ: 'Pacific/Kiritimati' } })
    const [early = '', late = ''] = [0, 1].map((n) => workspaceOf(agent, n)[1] ?? '')
    expect(early < late).toBe(true)
  })

  test.each(['ar_EG.UTF-8', 'fa_IR.UTF-8', 'th_TH.UTF-8', 'C'])(
    'with LC_ALL=%s it is Gregorian and in ASCII digits',
    async (LC_ALL) => {
      const agent = await setUp(['ok'])
      await agent.run(['-p', 'hi'], { env: { LC_ALL, LANG: LC_ALL, LC_TIME: LC_ALL } })
      expect(workspaceOf(agent)[1]).toMatch(/^Today's date: 20[2-9]\d-[01]\d-[0-3]\d$/)
    },
  )
})

describe('the git branch', () => {
  test('is left out where there is no repository', async () => {
    const agent = await setUp(() => 'ok')
    expect(await branchIn(agent, agent.dir)).toBeNull()
  })

  test('without commits, in a sub-directory, detached, of any name', async () => {
    const agent = await setUp(() => 'ok')
    const { dir } = agent
    git(dir, 'init', '-q', '-b', 'trunk')
    expect(await branchIn(agent, dir)).toBe('trunk')
    git(dir, 'commit', '-q', '--allow-empty', '-m', 'c')
    mkdirSync(join(dir, 'a/b'), { recursive: true })
    expect(await branchIn(agent, join(dir, 'a/b'))).toBe('trunk')
    git(dir, 'checkout', '-q', '-b', 'feat/ä-b')
    expect(await branchIn(agent, dir)).toBe('feat/ä-b')
    git(dir, 'checkout', '-q', '-b', 'x'.repeat(200))
    expect(await branchIn(agent, dir)).toBe('x'.repeat(200))
    git(dir, 'checkout', '-q', '--detach')
    expect(await branchIn(agent, dir)).toBe(`detached at ${git(dir, 'rev-parse', 'HEAD').slice(0, 7)}`)
  })

  test('of a worktree, a submodule and a bare repository is their own', async () => {
    const agent = await setUp(() => 'ok')
    const at = (name: string) => join(agent.dir, name)
    mkdirSync(at('r'))
    mkdirSync(at('lib'))
    repository(at('r'))
    repository(at('lib'))
    git(at('r'), 'worktree', 'add', '-q', '-b', 'feat', at('w'))
    git(at('r'), 'submodule', 'add', '-q', at('lib'), 'lib')
    git(at('r/lib'), 'checkout', '-q', '-b', 'lib-branch')
    git(agent.dir, 'clone', '-q', '--bare', at('r'), at('r.git'))
    expect([await branchIn(agent, at('r')), await branchIn(agent, at('w'))]).toEqual(['trunk', 'feat'])
    expect([await branchIn(agent, at('r/lib')), await branchIn(agent, at('r.git'))]).toEqual(['lib-branch', 'trunk'])
  })

  test('does not follow GIT_DIR and GIT_WORK_TREE of the caller', async () => {
    const agent = await setUp(() => 'ok')
    const other = join(agent.home, 'other')
    mkdirSync(other)
    git(other, 'init', '-q', '-b', 'wrong')
    const env = { GIT_DIR: join(other, '.git'), GIT_WORK_TREE: other }
    expect(await branchIn(agent, agent.dir, env)).toBeNull()
    repository(agent.dir)
    expect(await branchIn(agent, agent.dir, env)).toBe('trunk')
  })

  test('is left out where HEAD is corrupt, and needs no git to be found', async () => {
    const agent = await setUp(() => 'ok')
    repository(agent.dir)
    expect(await branchIn(agent, agent.dir, { PATH: '/nonexistent' })).toBe('trunk')
    writeFileSync(join(agent.dir, '.git/HEAD'), 'garbage\n')
    expect(await branchIn(agent, agent.dir)).toBeNull()
    rmSync(join(agent.dir, '.git/HEAD'))
    expect(await branchIn(agent, agent.dir)).toBeNull()
  })

  test('that a tool changes in round 1 is in the system prompt of round 2', async () => {
    const agent = await setUp([reply([call('bash', { command: 'git checkout -q -b next && echo ok' })]), 'ok'])
    repository(agent.dir)
    await agent.run(['--yes', '-p', 'branch off'])
    expect([branchOf(agent, 0), branchOf(agent, 1)]).toEqual(['trunk', 'next'])
  })
})

describe('a session that is resumed elsewhere', () => {
  const replies = [
    'first',
    reply([call('bash', { command: 'pwd; git branch --show-current' })]),
    'second',
    reply([call('bash', { command: 'pwd; git branch --show-current' })]),
    'third',
  ]

  test('its prompt names the directory and branch that its commands see', async () => {
    const agent = await setUp(replies)
    const repo = join(agent.dir, 'repo')
    const worktree = join(agent.dir, 'w')
    mkdirSync(repo)
    repository(repo)
    git(repo, 'worktree', 'add', '-q', '-b', 'feat', worktree)
    const first = await agent.bare(['-C', worktree, '-p', 'hi'])
    const id = JSON.parse(first.stdout).session_id as string
    const inWorktree = await agent.bare(['-C', worktree, '--resume', id, '--yes', '-p', 'go'])
    expect(inWorktree.stderr).toBe('')
    const inRepo = await agent.bare(['-C', repo, '--resume', id, '--yes', '-p', 'go'])
    expect(inRepo.stderr).toContain(worktree)
    expect(inRepo.stderr).toContain(repo)

    const seen = (n: number) => {
      const [result] = agent.model.requests[n]?.body.messages.at(-1)?.content ?? []
      return String(result?.content).trim().split('\n')
    }
    expect(seen(2)).toEqual([worktree, 'feat'])
    expect(seen(4)).toEqual([repo, 'trunk'])
    for (const [n, dir, branch] of [
      [1, worktree, 'feat'],
      [2, worktree, 'feat'],
      [3, repo, 'trunk'],
      [4, repo, 'trunk'],
    ] as const) {
      expect(workspaceOf(agent, n)[0]).toBe(`Working directory: ${dir}`)
      expect(branchOf(agent, n)).toBe(branch)
    }
  })
})

describe('~ is the home directory', () => {
  test('for file tools, the shell, mentions and imports; the project gets no directory of that name', async () => {
    const agent = await setUp([
      reply([call('write_file', { path: '~/made.txt', content: 'MADE' })]),
      reply([call('read_file', { path: '~/made.txt' }), call('bash', { command: 'ls ~; ls -A' })]),
      'ok',
    ])
    writeFileSync(join(agent.home, 'x.md'), 'HOME-X')
    writeFileSync(join(agent.dir, 'AGENTS.md'), 'see\n@~/x.md\n')
    const end = await agent.run(['--yes', '-p', 'look at @~/x.md'])
    expect(end.code).toBe(0)
    const { requests } = agent.model
    expect(JSON.stringify(requests[0]?.body.messages)).toContain('HOME-X')
    // Out of the project: the import waits for trust, and says so.
    expect(requests[0]?.body.system).toContain('@~/x.md')
    expect(end.stderr).toContain('@~/x.md was not imported')
    const results = requests[2]?.body.messages.at(-1)?.content.map(({ content }) => String(content)) ?? []
    expect(results[0]).toContain('MADE')
    expect(results[1]).toContain('made.txt')
    expect(results[1]?.split('\n')).not.toContain('~')
  })
})

test('an empty PATH: the model is told that the programs of a shell were not found, and what the user can do', async () => {
  const agent = await setUp([reply([call('bash', { command: 'echo x' })]), 'ok'])
  await agent.run(['--yes', '-p', 'go'], { env: { PATH: '' } })
  const [result] = agent.model.requests[1]?.body.messages.at(-1)?.content ?? []
  expect(String(result?.content)).toMatch(/ was not found on the PATH, which is "", so no command can run\. /)
  expect(String(result?.content)).toContain('such as /usr/local/bin:/usr/bin:/bin')
  expect(String(result?.content)).not.toContain('TMPDIR')
})

describe('where few files may be open', () => {
  test('commands that cannot start for it say so, the others run, and the run goes on', async () => {
    const calls = Array.from({ length: 80 }, () => call('bash', { command: 'sleep 0.5' }))
    const { model, home, dir } = await setUp([reply(calls), 'Done.'])
    const words = [process.execPath, CLI, '-C', dir, '--yes', '-p', 'hi'].map((word) => `'${word}'`).join(' ')
    const child = spawn('bash', ['-c', `ulimit -n 64; exec ${words}`], {
      env: agentEnv({ url: model.url, home }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    expect((await ended(child)).code).toBe(0)
    const contents = (model.requests[1]?.body.messages.at(-1)?.content ?? []).map(({ content }) => content)
    expect([contents.length, [...new Set(contents)].sort()]).toEqual([
      80,
      [
        '(no output)',
        'Too many files are open to run a command. Run fewer at the same time; where that does not help, tell the user to raise the limit (ulimit -n).',
      ],
    ])
  })
})
