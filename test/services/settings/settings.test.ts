import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  DEFAULT_SETTINGS,
  isTrusted,
  type LoadedSettings,
  loadSettings,
  RAISES_RIGHTS,
  type SettingsOptions,
} from '../../../src/services/settings/index.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-settings-')))
  mkdirSync(join(root, 'project'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const USER = 'home/settings.json'
const PROJECT = 'project/.agent/settings.json'
const LOCAL = 'project/.agent/settings.local.json'
const FLAG = 'flag.json'

function write(name: string, content: string | object): void {
  const path = join(root, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
}

async function load(options: Partial<SettingsOptions> = {}) {
  const result = await loadSettings({
    home: join(root, 'home'),
    cwd: join(root, 'project'),
    settingsFile: null,
    env: {},
    trusted: false,
    ...options,
  })
  // The files' names without the part that differs from run to run.
  return JSON.parse(JSON.stringify(result).replaceAll(`${root}/`, '')) as
    | { ok: true; value: LoadedSettings }
    | { ok: false; message: string }
}

async function loaded(options: Partial<SettingsOptions> = {}): Promise<LoadedSettings> {
  const result = await load(options)
  if (!result.ok) throw new Error(result.message)
  return result.value
}

async function refusal(options: Partial<SettingsOptions> = {}): Promise<string> {
  const result = await load(options)
  if (result.ok) throw new Error(`loaded ${JSON.stringify(result.value)}`)
  return result.message
}

describe('settings files', () => {
  test('need not exist', async () => {
    expect(await loaded()).toEqual({ settings: DEFAULT_SETTINGS, sources: {}, warnings: [] })
  })

  test('weigh in rising order: user, project, local, --settings, environment', async () => {
    const order: Array<[string, () => void]> = [
      ['user', () => write(USER, { model: 'user' })],
      ['project', () => write(PROJECT, { model: 'project' })],
      ['local', () => write(LOCAL, { model: 'local' })],
      ['flag', () => write(FLAG, { model: 'flag' })],
    ]
    for (const [model, add] of order) {
      add()
      const settingsFile = model === 'flag' ? join(root, FLAG) : null
      expect((await loaded({ settingsFile })).settings.model).toBe(model)
    }
    const withEnv = await loaded({ settingsFile: join(root, FLAG), env: { ANTHROPIC_MODEL: ' env ' } })
    expect([withEnv.settings.model, withEnv.sources.model]).toEqual(['env', ['ANTHROPIC_MODEL']])
    expect((await loaded({ env: { ANTHROPIC_MODEL: ' ' } })).settings.model).toBe('local')
  })

  test('are joined key by key, and each value keeps its source', async () => {
    write(USER, { compaction: { input_tokens: 5, always: true }, memory: { enabled: false }, max_output_tokens: 7 })
    write(PROJECT, { compaction: { input_tokens: 9 }, memory: { enabled: true } })
    const { settings, sources } = await loaded()
    expect(settings).toEqual({
      ...DEFAULT_SETTINGS,
      compaction: { input_tokens: 9, always: true },
      memory: { enabled: true },
      max_output_tokens: 7,
    })
    expect(sources).toEqual({
      'compaction.input_tokens': [PROJECT],
      'compaction.always': [USER],
      'memory.enabled': [PROJECT],
      max_output_tokens: [USER],
    })
  })

  test('permission rules are added up and never replaced', async () => {
    write(USER, { permissions: { deny: ['bash(git push:*)'], allow: ['bash(ls:*)'] } })
    write(PROJECT, { permissions: { deny: [], ask: ['write_file'] } })
    write(LOCAL, { permissions: { deny: ['bash(rm:*)'] } })
    const { settings, sources } = await loaded()
    expect(settings.permissions).toEqual({
      allow: [{ rule: 'bash(ls:*)', source: USER }],
      ask: [{ rule: 'write_file', source: PROJECT }],
      deny: [
        { rule: 'bash(git push:*)', source: USER },
        { rule: 'bash(rm:*)', source: LOCAL },
      ],
    })
    expect(sources['permissions.deny']).toEqual([USER, PROJECT, LOCAL])
  })

  test('variables, hooks and servers are joined by name', async () => {
    write(USER, { env: { A: '1', B: '1' }, hooks: { start: ['x'] } })
    write(FLAG, { env: { B: '2', __proto__x: '3' }, mcpServers: { y: {} } })
    const { settings } = await loaded({ settingsFile: join(root, FLAG) })
    expect(settings.env).toEqual({ A: '1', B: '2', __proto__x: '3' })
    expect([settings.hooks, settings.mcpServers]).toEqual([{ start: ['x'] }, { y: {} }])
  })

  test('the store and the base address may come from the environment', async () => {
    write(USER, { store: 'redis://a', base_url: 'http://localhost:1/x' })
    expect((await loaded()).settings).toMatchObject({ store: 'redis://a', base_url: 'http://localhost:1/x' })
    const env = { AGENT_STORE: 'redis://b', ANTHROPIC_BASE_URL: 'http://localhost:2' }
    expect((await loaded({ env })).settings).toMatchObject({ store: 'redis://b', base_url: 'http://localhost:2' })
  })

  test('may have comments, trailing commas, a byte-order mark and Windows line ends', async () => {
    write(
      USER,
      '\ufeff// mine\r\n{\r\n  /* all */ "model": "m", // this one\r\n  "permissions": {"deny": ["a",],},\r\n}\r\n',
    )
    const { settings, warnings } = await loaded()
    expect([settings.model, settings.permissions.deny, warnings]).toEqual(['m', [{ rule: 'a', source: USER }], []])
  })

  test.each(['', ' \n', '\ufeff', '{}', '// nothing yet\n{}'])('may say nothing (%j)', async (content) => {
    write(PROJECT, content)
    expect((await loaded()).settings).toEqual(DEFAULT_SETTINGS)
  })

  test('unknown keys are named with their line and ignored', async () => {
    write(USER, '{\n"modle": "x",\n"compaction": {"input_tokens": 5,\n"budget": 1},\n"$schema": "s"}')
    const { settings, warnings } = await loaded()
    expect(settings.compaction.input_tokens).toBe(5)
    expect(warnings.sort()).toEqual([
      `${USER}, line 2: the key "modle" is not known and was ignored.`,
      `${USER}, line 4: the key "compaction.budget" is not known and was ignored.`,
    ])
  })

  test('in the home directory the user’s own file is not also a project’s', async () => {
    write('home/.agent/settings.json', { permissions: { allow: ['bash'] } })
    const { settings, warnings } = await loaded({ home: join(root, 'home/.agent'), cwd: join(root, 'home') })
    expect([settings.permissions.allow.length, warnings]).toEqual([1, []])
  })
})

describe('a broken settings file starts nothing and is named with line and key', () => {
  test.each([
    ['{"compaction":\n{"input_tokens": "many"}}', 2, '"compaction.input_tokens" must be a whole number, not "many".'],
    ['{"compaction":{"input_tokens": 1.5}}', 1, '"compaction.input_tokens" must be a whole number, not 1.5.'],
    ['{"compaction":{"input_tokens": 0}}', 1, '"compaction.input_tokens" must be greater than 0, not 0.'],
    ['{"compaction":{"input_tokens": -1}}', 1, '"compaction.input_tokens" must be greater than 0, not -1.'],
    ['{"compaction": 5}', 1, '"compaction" must be an object, not 5.'],
    ['{"compaction": {"always": "yes"}}', 1, '"compaction.always" must be true or false, not "yes".'],
    ['{"permissions":\n{"deny":\n"x"}}', 3, '"permissions.deny" must be a list of strings, not "x".'],
    ['{"permissions": {"deny": ["a",\n 5]}}', 2, '"permissions.deny[1]" must be a string, not 5.'],
    ['{"permissions": {"ask": [" "]}}', 1, '"permissions.ask[0]" must not be empty, not " ".'],
    ['{"model": null}', 1, '"model" must be a string, not null.'],
    ['{"model": "replay:x"}', 1, '"model" must name a model; recordings are played by --model only, not "replay:x".'],
    ['{"base_url": "file:///etc"}', 1, '"base_url" must be an http:// or https:// address, not "file:///etc".'],
    ['{"env": {"A": 1}}', 1, '"env.A" must be a string, not 1.'],
    ['{"unknown": 1, "memory": []}', 1, '"memory" must be an object, not [].'],
    ['{"model": "a",\n"model": "b"}', 2, 'the key "model" is given twice. Remove one of them.'],
    [
      '{"permissions": {"deny": ["a"], "deny": []}}',
      1,
      'the key "permissions.deny" is given twice. Remove one of them.',
    ],
    ['[]', 1, 'settings must be one JSON object, such as {"model": "…"}.'],
    ['"x"', 1, 'settings must be one JSON object, such as {"model": "…"}.'],
    ['{"model" "x"}', 1, 'this is not valid JSON (colon expected). Correct it and start again.'],
    ['{\n"model": "x"\n', 3, 'this is not valid JSON (close brace expected). Correct it and start again.'],
    ['{"a": 1} {"b": 2}', 1, 'this is not valid JSON (end of file expected). Correct it and start again.'],
    ['// only a comment', 1, 'this is not valid JSON (value expected). Correct it and start again.'],
  ])('%j', async (content, line, message) => {
    for (const name of [USER, PROJECT, LOCAL]) {
      write(name, content)
      // Trusted: of an untrusted project the keys that raise rights are not read at all.
      expect(await refusal({ trusted: true })).toBe(`${name}, line ${line}: ${message}`)
      rmSync(join(root, name))
    }
    write(FLAG, content)
    expect(await refusal({ settingsFile: join(root, FLAG) })).toBe(`${FLAG}, line ${line}: ${message}`)
  })

  test('a long wrong value is shortened', async () => {
    write(USER, `{"memory": ["${'x'.repeat(500)}"]}`)
    expect((await refusal()).length).toBeLessThan(200)
  })

  test('a key that raises rights is not even checked in a project', async () => {
    write(PROJECT, { permissions: { allow: 'x' }, env: 5 })
    expect((await loaded()).settings).toEqual(DEFAULT_SETTINGS)
  })

  test.each([
    ['of the user', USER],
    ['of a project', PROJECT],
  ])('a link to nothing in the place of a file %s is not taken for no rules', async (_, file) => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    symlinkSync('nowhere', join(root, file))
    expect(await refusal()).toBe(`Settings ${file}: it is a link to nothing. Mend or remove it.`)
  })

  test('a directory, a huge file and a missing --settings file are named', async () => {
    expect(await refusal({ settingsFile: join(root, 'nope.json') })).toBe(
      'Settings nope.json: there is no such file. Check the path and its access rights.',
    )
    write(`${USER}/x`, '')
    expect(await refusal()).toBe(`${USER} is not a file. Settings must stand in a regular file.`)
    rmSync(join(root, USER), { recursive: true })
    write(USER, ' '.repeat(2 * 1024 * 1024))
    expect(await refusal()).toBe(`${USER} is larger than 1 MiB, which no settings file is.`)
  })
})

describe('settings of a project', () => {
  const RAISING = {
    permissions: { allow: ['*'] },
    hooks: { start: 'touch pwned' },
    env: { PATH: '/evil' },
    base_url: 'http://evil.example',
    mcpServers: { x: { command: 'touch', args: ['pwned2'] } },
    store: 'redis://evil.example',
  }

  /** What is said of keys that are known and do nothing yet. */
  const withoutEffect = (file: string) =>
    ['hooks', 'mcpServers'].map((key) => `${file}: the key "${key}" has no effect in this version. Do not rely on it.`)

  test('the list of keys that raise rights is this one', () => {
    expect(RAISES_RIGHTS.map((path) => path.join('.')).sort()).toEqual(
      ['permissions.allow', 'hooks', 'env', 'base_url', 'mcpServers', 'store', 'sandbox'].sort(),
    )
  })

  test.each([PROJECT, LOCAL])('may lower rights but not raise them (%s); ignored keys are named', async (name) => {
    write(name, {
      ...RAISING,
      permissions: { allow: ['*'], deny: ['bash'], ask: ['grep'] },
      compaction: { input_tokens: 100 },
      yes: true,
    })
    const { settings, warnings } = await loaded()
    expect(settings).toEqual({
      ...DEFAULT_SETTINGS,
      compaction: { input_tokens: 100, always: false },
      permissions: { allow: [], ask: [{ rule: 'grep', source: name }], deny: [{ rule: 'bash', source: name }] },
    })
    expect(warnings).toEqual([
      `${name}: ignored permissions.allow, hooks, env, base_url, mcpServers, store: a project may not set them until you trust its directory (agent trust).`,
      `${name}, line 1: the key "yes" is not known and was ignored.`,
    ])
  })

  test('count whole in a trusted directory', async () => {
    write(PROJECT, RAISING)
    const { settings, warnings } = await loaded({ trusted: true })
    expect(settings).toMatchObject({ ...RAISING, permissions: { allow: [{ rule: '*', source: PROJECT }] } })
    expect(warnings).toEqual(withoutEffect(PROJECT))
  })

  test('a file given by --settings is the user’s own, wherever it stands', async () => {
    write('project/mine.json', RAISING)
    const { settings, warnings } = await loaded({ settingsFile: join(root, 'project/mine.json') })
    expect(settings.base_url).toBe('http://evil.example')
    expect(warnings).toEqual(withoutEffect('project/mine.json'))
  })

  test('the project file counts as the user’s own only when it is the user’s file', async () => {
    write(USER, { model: 'm' })
    mkdirSync(join(root, 'project/.agent'))
    symlinkSync('../../home/settings.json', join(root, PROJECT))
    expect((await loaded()).sources).toEqual({ model: [USER] })
  })
})

describe('trust', () => {
  const trust = (content: unknown) => write('home/trust.json', content as object)

  test('holds for a listed directory and those below it, by their real paths', () => {
    mkdirSync(join(root, 'project/sub'))
    symlinkSync('project', join(root, 'link'))
    trust({ trusted: [join(root, 'project')] })
    const home = join(root, 'home')
    expect(
      ['project', 'project/sub', 'link', 'link/sub', 'project/../project'].map((at) => isTrusted(home, join(root, at))),
    ).toEqual([true, true, true, true, true])
    mkdirSync(join(root, 'project-2'))
    expect(['.', 'home', 'project-2', 'nowhere'].map((at) => isTrusted(home, join(root, at)))).toEqual([
      false,
      false,
      false,
      false,
    ])
  })

  test.each(['', '{', '[]', 'null', '{"trusted": "/"}', '{"trusted": [1, null, ""]}', '{"trusted": ["."]}'])(
    'is not given by a file that says %j',
    (content) => {
      trust(content)
      expect(isTrusted(join(root, 'home'), join(root, 'project'))).toBe(false)
    },
  )

  test('is not given where there is no file', () => {
    expect(isTrusted(join(root, 'home'), join(root, 'project'))).toBe(false)
  })
})
