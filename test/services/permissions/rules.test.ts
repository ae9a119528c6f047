/** Rules and what they mean, paths too; what is answered at a question. */
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { approvalLine } from '../../../src/services/approvalWords.ts'
import { createPermissions } from '../../../src/services/permissions/index.ts'
import type { Answer, CallEffect, Question } from '../../../src/services/ports.ts'
import { keepRules } from '../../../src/services/settings/keepRules.ts'
import { temporaryDirectory } from '../../support/agent.ts'
import { judgeWith, type Rules, textsOf } from './support.ts'

const read = (...paths: string[]): CallEffect => ({ kind: 'read', paths })
const write = (...paths: string[]): CallEffect => ({ kind: 'write', paths })

const PATHS: Array<[rules: Rules, tool: string, effect: CallEffect, decision: string]> = [
  [{}, 'read_file', read('/project/a.ts'), 'allow'],
  [{}, 'read_file', read('/project'), 'allow'],
  [{}, 'read_file', read('/project2/a.ts'), 'ask'],
  [{}, 'read_file', read('/project/a.ts', '/etc/passwd'), 'ask'],
  [{}, 'write_file', write('/project/a.ts'), 'ask'],
  [{}, 'todo_write', { kind: 'none' }, 'allow'],
  [{ allow: ['Edit(src/**)'] }, 'write_file', write('/project/src/a.ts'), 'allow'],
  [{ allow: ['Edit(src/**)'] }, 'edit_file', write('/project/src/deep/a.ts'), 'allow'],
  [{ allow: ['Edit(src/**)'] }, 'write_file', write('/project/srcs/a.ts'), 'ask'],
  [{ allow: ['Edit(src/**)'] }, 'write_file', write('/project/lib/src/a.ts'), 'ask'],
  [{ allow: ['Edit(src/**)'] }, 'write_file', write('/project/SRC/a.ts'), 'ask'],
  [{ allow: ['Edit(*.ts)'] }, 'write_file', write('/project/deep/a.ts'), 'allow'],
  [{ allow: ['Edit(/*.ts)'] }, 'write_file', write('/project/deep/a.ts'), 'ask'],
  [{ allow: ['Edit(./a.ts)'] }, 'write_file', write('/project/a.ts'), 'allow'],
  [{ allow: ['Write(src/**)'] }, 'write_file', write('/project/src/a.ts'), 'allow'],
  [{ allow: ['Write(src/**)'] }, 'edit_file', write('/project/src/a.ts'), 'ask'],
  [{ allow: ['write_file'] }, 'write_file', write('/project/a.ts'), 'allow'],
  [{ allow: ['write_file'] }, 'edit_file', write('/project/a.ts'), 'ask'],
  [{ allow: ['Edit'] }, 'write_file', write('/elsewhere/a.ts'), 'ask'],
  [{ allow: ['*'] }, 'write_file', write('/project/a.ts'), 'allow'],
  [{ allow: ['Edit(**)'] }, 'write_file', write('/elsewhere/a.ts'), 'ask'],
  [{ allow: ['Edit(//elsewhere/**)'] }, 'write_file', write('/elsewhere/a.ts'), 'allow'],
  [{ allow: ['Edit(~/x/*)'] }, 'write_file', write('/home/me/x/a'), 'allow'],
  [{ allow: ['Read(~/x/*)'] }, 'read_file', read('/home/me/x/a'), 'allow'],
  [{ allow: ['Read(~/x/**)'] }, 'grep', read('/home/me/x'), 'allow'],
  [{ allow: ['Read(~/x/*.md)'] }, 'grep', read('/home/me/x'), 'ask'],
  [{ allow: ['Edit(**)'] }, 'write_file', write('/project/.git/config'), 'ask'],
  [{ allow: ['Edit(**)'] }, 'write_file', write('/project/a/.GIT/config'), 'ask'],
  [{ allow: ['Edit(**)'] }, 'write_file', write('/project/.agent/settings.json'), 'ask'],
  [{ allow: ['Edit(**)'] }, 'write_file', write('/project/.gitignore'), 'allow'],
  [{ allow: ['Edit(**)'] }, 'write_file', write('/project/.github/x.yml'), 'allow'],
  [{ allow: ['Edit(~/**)'] }, 'write_file', write('/home/me/.bashrc'), 'ask'],
  [{ allow: ['Edit(~/**)'] }, 'write_file', write('/home/me/.ssh/authorized_keys'), 'ask'],
  [{ allow: ['Edit(~/**)'] }, 'write_file', write('/home/me/.agent/trust.json'), 'ask'],
  [{ deny: ['Edit(secrets/)'] }, 'write_file', write('/project/secrets/a'), 'deny'],
  [{ deny: ['Read(.env)'] }, 'read_file', read('/project/x/.env'), 'deny'],
  [{ deny: ['Read(.env)'] }, 'read_file', read('/project/x/.ENV'), 'deny'],
  [{ deny: ['Read(./.env)'] }, 'read_file', read('/project/.env'), 'deny'],
  [{ deny: ['Read(./.env)'] }, 'read_file', read('/project/x/.env'), 'allow'],
  [{ deny: ['Read(.env)'] }, 'grep', read('/project'), 'allow'],
  [{ deny: ['Read(secrets/**)'] }, 'grep', read('/project/secrets'), 'deny'],
  [{ deny: ['Read(secrets/**)'] }, 'glob', read('/project/secrets/deep'), 'deny'],
  [{ deny: ['Read'] }, 'grep', read('/project'), 'deny'],
  [{ deny: ['Write(x)'] }, 'edit_file', write('/project/x'), 'deny'],
  [{ deny: ['Edit(x)'], allow: ['Edit(x)'] }, 'edit_file', write('/project/x'), 'deny'],
  [{ deny: ['Read(x)'], allow: ['Edit(x)'] }, 'edit_file', write('/project/x'), 'deny'],
  [{ deny: ['Read(x)'], allow: ['Edit(x)'] }, 'write_file', write('/project/x'), 'allow'],
  [{ deny: ['Read'], allow: ['Edit(x)'] }, 'edit_file', write('/project/x'), 'allow'],
  [{ ask: ['Read(x)'], allow: ['Edit(x)'] }, 'edit_file', write('/project/x'), 'ask'],
  [{ ask: ['Read(x)'] }, 'read_file', read('/project/x'), 'ask'],
  [{ ask: ['Edit(x)'], allow: ['Edit(x)'] }, 'edit_file', write('/project/x'), 'ask'],
  [{ deny: ['Task'] }, 'task', { kind: 'none' }, 'deny'],
  [{ deny: ['TodoWrite'] }, 'todo_write', { kind: 'none' }, 'deny'],
  [{ ask: ['todo_write'] }, 'todo_write', { kind: 'none' }, 'ask'],
  [{ deny: ['*'] }, 'todo_write', { kind: 'none' }, 'deny'],
  [{ deny: ['remember'] }, 'remember', write('/project/.memory/MEMORY.md'), 'deny'],
  [{ allow: ['remember'] }, 'remember', write('/project/.memory/MEMORY.md'), 'allow'],
]

test.each(PATHS)('%j: %s %j: %s', async (rules, tool, effect, decision) => {
  const judge = await judgeWith(rules)
  expect((await judge.call(tool, effect)).kind).toBe(decision)
})

test('a rule for a skill is about the one it names', async () => {
  const judge = await judgeWith({ deny: ['Skill(deploy)'] })
  expect((await judge.call('load_skill', { kind: 'none' }, { name: 'deploy' })).kind).toBe('deny')
  expect((await judge.call('load_skill', { kind: 'none' }, { name: 'review' })).kind).toBe('allow')
})

test('with --yes what asks is approved and what is denied is not', async () => {
  const judge = await judgeWith({ ask: ['Bash(ls:*)'], deny: ['Bash(rm:*)', 'Edit(x)'] }, { yes: true })
  const kinds = await Promise.all([
    judge.bash('ls'),
    judge.bash('anything > at all'),
    judge.call('write_file', write('/etc/passwd')),
    judge.bash('ls; rm x'),
    judge.call('write_file', write('/project/x')),
  ])
  expect(kinds.map(({ kind }) => kind)).toEqual(['allow', 'allow', 'allow', 'deny', 'deny'])
})

test('a decision names its rule and the file it stands in, and what would allow it', async () => {
  const judge = await judgeWith({ allow: ['Bash(git log:*)'], deny: ['Bash(rm:*)'] })
  expect(await judge.bash('git log')).toEqual({ kind: 'allow', rule: 'Bash(git log:*)', source: 'settings.json' })
  expect(await judge.bash('rm x')).toEqual({
    kind: 'deny',
    rule: 'Bash(rm:*)',
    source: 'settings.json',
    reason: 'This command is denied by the rule Bash(rm:*) (in settings.json).',
    howToAllow: 'A deny rule holds whatever else is set; go on without this.',
  })
  expect(await judge.bash('git log; npm test -- "a b"')).toEqual({
    kind: 'ask',
    reason: 'bash runs a command, and that needs approval: no rule allows "npm test -- a b".',
    suggested: ["Bash(npm test -- 'a b')"],
    howToAllow: `To allow it, the user can run again with --yes, or add "Bash(npm test -- 'a b')" to permissions.allow in their settings.json. Go on with what can be done without it, and say what is left.`,
  })
})

test('what is suggested allows exactly what was asked for', async () => {
  for (const command of [
    'npm test',
    "echo 'a b' 'c;d' e=f",
    'git commit -m "x (y) [z]"',
    'a; b c; d "e*"',
    'sort -o p x',
  ]) {
    const first = await (await judgeWith({})).bash(command)
    const suggested = first.kind === 'ask' ? first.suggested : []
    expect(suggested.length).toBeGreaterThan(0)
    expect((await (await judgeWith({ allow: suggested })).bash(command)).kind).toBe('allow')
  }
  for (const path of [
    '/project/a.ts',
    '/project/we[i]rd *.ts',
    '/project/#x',
    '/project/!y',
    '/other/dir/f',
    '/project/a\\b',
  ]) {
    const first = await (await judgeWith({})).call('write_file', write(path))
    const allow = first.kind === 'ask' ? first.suggested : []
    const judge = await judgeWith({ allow })
    expect([path, (await judge.call('edit_file', write(path))).kind]).toEqual([path, 'allow'])
    expect((await judge.call('edit_file', write(`${path}2`))).kind).toBe('ask')
    // It may be kept in the user's settings, which hold everywhere.
    const elsewhere = await judgeWith({ allow }, { cwd: '/elsewhere' })
    expect((await elsewhere.call('edit_file', write(path.replace('/project/', '/elsewhere/')))).kind).toBe(
      path.startsWith('/project/') ? 'ask' : 'allow',
    )
  }
})

test('paths are judged by where they lead: both ends of a link must be allowed, one is enough to be denied', async () => {
  const top = realpathSync(temporaryDirectory())
  const cwd = join(top, 'project')
  for (const directory of ['project/src', 'project/lib', 'outside'])
    mkdirSync(join(top, directory), { recursive: true })
  writeFileSync(join(top, 'outside/a'), '')
  symlinkSync('../../outside', join(cwd, 'src/out'))
  symlinkSync('../lib', join(cwd, 'src/lib'))
  symlinkSync('chain2', join(cwd, 'src/chain'))
  symlinkSync('out/new', join(cwd, 'src/chain2'))
  symlinkSync('loop', join(cwd, 'src/loop'))
  const judge = await judgeWith({ allow: ['Edit(src/**)'], deny: ['Read(lib/**)'] }, { cwd })
  const kinds = async (tool: string, effect: (path: string) => CallEffect, ...paths: string[]) =>
    Promise.all(paths.map(async (path) => (await judge.call(tool, effect(join(cwd, path)))).kind))
  expect(
    await kinds('write_file', (path) => write(path), 'src/a', 'src/out/a', 'src/lib/a', 'src/chain', 'src/new/x'),
  ).toEqual(['allow', 'ask', 'ask', 'ask', 'allow'])
  expect(await kinds('read_file', (path) => read(path), 'src/a', 'src/out/a', 'src/lib/a', 'lib/a')).toEqual([
    'allow',
    'ask',
    'deny',
    'deny',
  ])
})

test('a rule that forbids holds for where a link in it leads, one that allows does not', async () => {
  const top = realpathSync(temporaryDirectory())
  const cwd = join(top, 'project')
  for (const directory of ['project', 'real/secrets']) mkdirSync(join(top, directory), { recursive: true })
  symlinkSync('real', join(top, 'link'))
  symlinkSync('../real', join(cwd, 'out'))
  const secret = join(top, 'real/secrets/key')
  const [file, directory, relative, one] = await Promise.all(
    [
      `Read(/${top}/link/secrets/key)`,
      `Read(/${top}/link/secrets/**)`,
      'Read(./out/secrets/**)',
      'Read(out/*/key)',
    ].map((deny) => judgeWith({ deny: [deny], allow: ['Read(//**)'] }, { cwd })),
  )
  for (const judge of [file, directory, relative, one])
    expect((await judge?.call('read_file', read(secret)))?.kind).toBe('deny')
  const allowed = await judgeWith({ allow: ['Edit(out/**)', `Edit(/${top}/link/**)`] }, { cwd })
  expect((await allowed.call('write_file', write(join(cwd, 'out/x')))).kind).toBe('ask')
  expect((await allowed.call('write_file', write(join(top, 'link/x')))).kind).toBe('ask')
})

test('readable directories may be read and not written', async () => {
  const judge = await judgeWith({}, { readable: ['/skills'] })
  expect((await judge.call('read_file', read('/skills/a/SKILL.md'))).kind).toBe('allow')
  expect((await judge.call('write_file', write('/skills/a/SKILL.md'))).kind).toBe('ask')
  expect((await judge.call('read_file', read('/skills2/a'))).kind).toBe('ask')
})

describe('a person who is asked', () => {
  const CALL = { type: 'tool_use' as const, id: 't', name: 'bash', input: { command: 'npm test' } }
  const EFFECT: CallEffect = { kind: 'execute', command: 'npm test' }

  async function asked(answers: Answer[], rules: Rules = {}) {
    const questions: Question[] = []
    const kept: string[][] = []
    const made = await createPermissions({
      ...{ cwd: '/project', home: '/home/me', agentHome: '/home/me/.agent', yes: false, rules: textsOf(rules) },
      ask: async (question) => {
        questions.push(question)
        return answers.shift() ?? { kind: 'no', why: null }
      },
      keep: async (rules) => {
        kept.push(rules)
        return { ok: true, value: null }
      },
    })
    if (!made.ok) throw new Error(made.message)
    const settle = async () => (await made.value.settle(CALL, EFFECT, new AbortController().signal)).kind
    return { settle, questions, kept, port: made.value }
  }

  test('is asked once for calls that come together where the first answer covers them', async () => {
    const { settle, questions } = await asked([{ kind: 'session' }])
    expect(await Promise.all([settle(), settle(), settle()])).toEqual(['allow', 'allow', 'allow'])
    expect(questions).toEqual([
      {
        tool: 'bash',
        call: CALL,
        subject: 'npm test',
        reason: 'bash runs a command, and that needs approval: no rule allows "npm test".',
        rules: ['Bash(npm test)'],
      },
    ])
  })

  test('is asked again after "once", and not where a rule decides', async () => {
    const { settle, questions, kept } = await asked([{ kind: 'once' }, { kind: 'always' }])
    expect([await settle(), await settle(), await settle()]).toEqual(['allow', 'allow', 'allow'])
    expect([questions.length, kept]).toEqual([2, [['Bash(npm test)']]])
    const denied = await asked([{ kind: 'always' }], { deny: ['Bash(npm:*)'] })
    expect([await denied.settle(), denied.questions]).toEqual(['deny', []])
  })

  test('what is allowed for the session is listed, what is kept in the settings is not', async () => {
    const session = await asked([{ kind: 'session' }])
    await session.settle()
    expect(session.port.approvals()).toEqual([{ kind: 'rule', rule: 'Bash(npm test)' }])
    const always = await asked([{ kind: 'always' }])
    await always.settle()
    expect(always.port.approvals()).toEqual([])
    const exact = await asked([{ kind: 'session' }])
    const call = { ...CALL, input: { command: 'npm test > log' } }
    await exact.port.settle(call, { kind: 'execute', command: 'npm test > log' }, new AbortController().signal)
    expect(exact.port.approvals()).toEqual([{ kind: 'call', call }])
    expect(approvalLine({ kind: 'call', call })).toBe('bash, exactly: npm test > log')
  })

  test('is never asked by those who only want to know', async () => {
    const { port, questions } = await asked([{ kind: 'once' }])
    expect([(await port.decide(CALL, EFFECT)).kind, questions]).toEqual(['ask', []])
  })
})

describe('rules that are kept', () => {
  test.each([
    [null, '{\n  "permissions": {\n    "allow": [\n      "Bash(a)"\n    ]\n  }\n}\n'],
    ['', '{\n  "permissions": {\n    "allow": [\n      "Bash(a)"\n    ]\n  }\n}\n'],
    ['{"permissions": {"allow": ["Bash(a)"]}}', '{"permissions": {"allow": ["Bash(a)"]}}'],
    [
      '{"permissions": {"allow": ["x"], "deny": ["y"]}} // end',
      '{"permissions": {"allow": ["x", "Bash(a)"], "deny": ["y"]}} // end',
    ],
    [
      '\ufeff{\r\n  // c\r\n  "permissions": {},\r\n}\r\n',
      '\ufeff{\r\n  // c\r\n  "permissions": {\r\n    "allow": [\r\n      "Bash(a)"\r\n    ]\r\n  },\r\n}\r\n',
    ],
  ])('%j', async (before, after) => {
    const home = temporaryDirectory()
    if (before !== null) writeFileSync(join(home, 'settings.json'), before)
    expect(await keepRules(home, ['Bash(a)'])).toEqual({ ok: true, value: null })
    expect(readFileSync(join(home, 'settings.json'), 'utf8').replace(/\s/g, '')).toBe(after.replace(/\s/g, ''))
  })

  test.each(['{', '[]', '{"permissions": 5}', '{"permissions": {"allow": "x"}}'])(
    '%j stays as it is',
    async (before) => {
      const home = temporaryDirectory()
      writeFileSync(join(home, 'settings.json'), before)
      expect(await keepRules(home, ['Bash(a)'])).toMatchObject({ ok: false })
      expect(readFileSync(join(home, 'settings.json'), 'utf8')).toBe(before)
    },
  )
})
