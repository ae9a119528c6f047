import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Ended } from '../support/agent.ts'
import { call, type FakeModel, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

function write(dir: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), content)
  }
}

/** The system string of a request, which must be one string. */
function systemOf(model: FakeModel, n = 0): string {
  expect(model.problems).toEqual([])
  const system: unknown = model.requests[n]?.body.system
  if (typeof system !== 'string') throw new Error(`request ${n} has the system ${JSON.stringify(system)}`)
  return system
}

/** The given words as far as they are in the text, in its order, each as often as it is there. */
function found(text: string, words: string[]): string[] {
  return text.match(new RegExp(words.join('|'), 'g')) ?? []
}

function exitsWell(end: Ended): void {
  expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
}

async function firstSystem({ model, run }: SetUp): Promise<string> {
  exitsWell(await run(['-p', 'hi']))
  return systemOf(model)
}

describe('AGENTS.md is the system prompt', () => {
  test('its text is in `system` of the first request and in no message', async () => {
    const agent = await setUp(['ok'])
    write(agent.dir, { 'AGENTS.md': '# House rules\n\nAlways answer in MARK-A.\n' })
    expect(await firstSystem(agent)).toContain('# House rules\n\nAlways answer in MARK-A.\n')
    expect(JSON.stringify(agent.model.requests[0]?.body.messages)).not.toContain('MARK-A')
  })

  test('without one there are no instructions', async () => {
    const agent = await setUp(['ok'])
    write(agent.dir, { 'README.md': 'MARK-R', 'sub/AGENTS.md': 'MARK-S' })
    const system = await firstSystem(agent)
    expect(system).not.toMatch(/MARK-R|MARK-S|Project instructions/)
  })

  test('`$` patterns, tags and every kind of character arrive as they are', async () => {
    const text = 'cost: $& $$ $` $\' $1 ${HOME} \\1 </system> "quoted" ünïcödé 🙂 \u2028 end'
    const agent = await setUp(['ok'])
    write(agent.dir, { 'AGENTS.md': text })
    expect(await firstSystem(agent)).toContain(text)
  })

  test('one that a tool writes in round 1 is in the system prompt of round 2', async () => {
    const { model, run, dir } = await setUp([
      reply([call('bash', { command: 'echo MARK-NEW > AGENTS.md; echo done' })]),
      reply([call('bash', { command: 'echo MARK-NXT > AGENTS.md; echo done' })]),
      'ok',
    ])
    exitsWell(await run(['--yes', '-p', 'set it up']))
    expect(readFileSync(join(dir, 'AGENTS.md'), 'utf8')).toBe('MARK-NXT\n')
    expect([0, 1, 2].map((n) => found(systemOf(model, n), ['MARK-NEW', 'MARK-NXT']))).toEqual([
      [],
      ['MARK-NEW'],
      ['MARK-NXT'],
    ])
  })

  test('with nothing changed ten rounds and two resumes have one and the same system string and tools', async () => {
    const rounds = Array.from({ length: 9 }, (_, n) => reply([call('bash', { command: `echo ${n} > made-${n}` })]))
    const { model, run, dir } = await setUp([...rounds, 'one', 'two', 'three'])
    write(dir, { 'AGENTS.md': 'MARK-A\n@b.md\n@c.md', 'b.md': 'B', 'c.md': 'C' })
    exitsWell(await run(['--yes', '-p', 'go']))
    exitsWell(await run(['--continue', '-p', 'on']))
    exitsWell(await run(['--continue', '-p', 'and on']))
    expect(model.requests).toHaveLength(12)
    const prefixes = model.requests.map(({ body }) => JSON.stringify([body.system, body.tools]))
    expect(new Set(prefixes).size).toBe(1)
  })

  test('a resumed session reads it anew: once, and not what it said before', async () => {
    const { model, run, dir } = await setUp(['one', 'two'])
    write(dir, { 'AGENTS.md': 'MARK-A' })
    exitsWell(await run(['-p', 'hi']))
    write(dir, { 'AGENTS.md': 'MARK-B' })
    exitsWell(await run(['--continue', '-p', 'again']))
    expect(found(systemOf(model, 0), ['MARK-A', 'MARK-B'])).toEqual(['MARK-A'])
    expect(found(model.requests[1]?.raw ?? '', ['MARK-A', 'MARK-B'])).toEqual(['MARK-B'])
  })

  test('text from the command line comes after it', async () => {
    const { model, run, dir } = await setUp(['ok'])
    write(dir, { 'AGENTS.md': 'MARK-A' })
    exitsWell(await run(['--append-system-prompt', 'Be terse. $&', '-p', 'hi']))
    expect(systemOf(model)).toMatch(/MARK-A\n\nBe terse\. \$&$/)
  })

  test('one of 5 MB is cut and said so on stderr; the JSON on stdout stays whole', async () => {
    const { model, bare, dir } = await setUp(['ok'])
    write(dir, { 'AGENTS.md': `MARK-A ${'x'.repeat(5_000_000)}`, 'a/AGENTS.md': 'LEAF-MARK' })
    const end = await bare(['-C', join(dir, 'a'), '-p', 'hi'])
    expect(end.code).toBe(0)
    expect(JSON.parse(end.stdout)).toMatchObject({ is_error: false, result: 'ok' })
    expect(end.stderr).toContain(`${dir}/AGENTS.md is too long: only its first 256 KiB of 4.8 MiB are part of the`)
    expect(systemOf(model)).toContain('[… cut: only the first 256 KiB of this file are shown]')
    expect(systemOf(model)).toContain('LEAF-MARK')
    expect(systemOf(model).length).toBeLessThan(270_000)
  })
})

describe('up the tree', () => {
  const words = ['ROOT-C', 'MID-A', 'MID-C', 'LEAF-A', 'LEAF-C', 'BELOW', 'LOWER']

  test('AGENTS.md, or else CLAUDE.md, of every directory: outermost first, innermost last', async () => {
    const { model, bare, dir } = await setUp(['ok'])
    write(dir, {
      'CLAUDE.md': 'ROOT-C',
      'mid/AGENTS.md': 'MID-A',
      'mid/CLAUDE.md': 'MID-C',
      'mid/leaf/AGENTS.md': 'LEAF-A',
      'mid/leaf/CLAUDE.md': 'LEAF-C',
      'mid/leaf/agents.md': 'LOWER',
      'mid/leaf/below/AGENTS.md': 'BELOW',
    })
    exitsWell(await bare(['-C', join(dir, 'mid/leaf'), '-p', 'hi']))
    expect(found(systemOf(model), words)).toEqual(['ROOT-C', 'MID-A', 'LEAF-A'])
  })

  test('an empty AGENTS.md hides CLAUDE.md, a git root does not stop the walk', async () => {
    const { model, bare, dir } = await setUp(['ok'])
    write(dir, {
      'CLAUDE.md': 'ROOT-C',
      'mid/.git/HEAD': 'ref: refs/heads/x\n',
      'mid/AGENTS.md': '',
      'mid/CLAUDE.md': 'MID-C',
    })
    exitsWell(await bare(['-C', join(dir, 'mid'), '-p', 'hi']))
    expect(found(systemOf(model), words)).toEqual(['ROOT-C'])
  })

  test('a file is there once, however the directory is named, also where the home directory is on the way', async () => {
    const { model, bare, home } = await setUp(() => 'ok')
    write(home, { 'AGENTS.md': 'ROOT-C', '.agent/x': '', 'p/AGENTS.md': 'LEAF-A' })
    symlinkSync('p', join(home, 'link'))
    const names = [join(home, 'p'), join(home, 'link'), `${home}/p/../link/`, 'p', './link']
    for (const name of names) exitsWell(await bare(['-C', name, '-p', 'hi'], { cwd: home }))
    for (const [n] of names.entries()) {
      expect(found(systemOf(model, n), words)).toEqual(['ROOT-C', 'LEAF-A'])
      expect(systemOf(model, n)).toContain(`Working directory: ${home}/p\n`)
    }
  })

  test('works at the root of the file system', async () => {
    const { model, bare } = await setUp(['ok'])
    expect((await bare(['-C', '/', '-p', 'hi'])).code).toBe(0)
    expect(systemOf(model)).toContain('Working directory: /\n')
  })
})

describe('imports', () => {
  test('are inlined in place, relative to the importing file, nested; all else of the file is there', async () => {
    const agent = await setUp(['ok'])
    write(agent.dir, {
      'AGENTS.md': 'before\n@docs/one.md\nafter\n',
      'docs/one.md': 'ONE\n@deep/two.md\n',
      'docs/deep/two.md': 'TWO\n@../../three.md\n',
      'three.md': 'THREE\n',
    })
    expect(await firstSystem(agent)).toContain('before\nONE\nTWO\nTHREE\nafter\n')
  })

  test('a file is imported once: diamond, circle and self import end', async () => {
    const agent = await setUp(['ok'])
    write(agent.dir, {
      'AGENTS.md': 'TOP\n@b.md\n@c.md\n@AGENTS.md\nEND',
      'b.md': 'BB\n@d.md\n',
      'c.md': 'CC\n@./x/../d.md\n@b.md\n',
      'd.md': 'DD\n@c.md\n',
    })
    const system = await firstSystem(agent)
    expect(found(system.slice(system.indexOf('TOP')), ['TOP', 'BB', 'CC', 'DD', 'END'])).toEqual([
      'TOP',
      'BB',
      'DD',
      'CC',
      'END',
    ])
  })

  test('a missing file and a line that is not exactly an import stay as typed', async () => {
    const { model, run, dir } = await setUp(['ok'])
    const text = 'a\n@missing.md\nsee @b.md here\n```\n@b.md\n```\n - @b.md\n@types/node\nz'
    write(dir, { 'AGENTS.md': text, 'b.md': 'IMPORTED' })
    const end = await run(['-p', 'hi'])
    expect(end.code).toBe(0)
    expect(systemOf(model)).toContain(text)
    expect(systemOf(model)).not.toContain('IMPORTED')
    expect(end.stderr.trim().split('\n')).toEqual([
      expect.stringContaining(`${dir}/AGENTS.md, line 2: @missing.md was not imported: there is no such file.`),
      expect.stringContaining(`${dir}/AGENTS.md, line 8: @types/node was not imported: there is no such file.`),
    ])
  })

  test('a chain of fifty ends after five, said once on stderr in a run of several rounds', async () => {
    const { model, run, dir } = await setUp([reply([call('bash', { command: 'true' })]), 'ok'])
    const chain = Array.from({ length: 50 }, (_, n) => [`${n + 1}.md`, `LEVEL-${n + 1}.\n@${n + 2}.md\n`])
    write(dir, { ...Object.fromEntries(chain), 'AGENTS.md': '@1.md\n' })
    const end = await run(['--yes', '-p', 'hi'])
    expect(end.stderr.match(/imports may be nested 5 deep/g)).toHaveLength(1)
    expect(systemOf(model, 1).match(/LEVEL-\d+/g)).toEqual(['LEVEL-1', 'LEVEL-2', 'LEVEL-3', 'LEVEL-4', 'LEVEL-5'])
  })

  test('of a project out of its repository or from the home directory wait for trust', async () => {
    const { model, bare, home } = await setUp(() => 'ok')
    write(home, {
      'secret.md': 'HOME-SECRET',
      'p/.git/HEAD': 'ref: refs/heads/x\n',
      'p/AGENTS.md': '@~/secret.md\n@../secret.md\nEND',
    })
    const untrusted = await bare(['-C', join(home, 'p'), '-p', 'hi'])
    expect(systemOf(model, 0)).toContain('@~/secret.md\n@../secret.md\nEND')
    expect(untrusted.stderr.match(/@\S+secret\.md was not imported: .*agent trust/g)).toHaveLength(2)
    write(home, { '.agent/trust.json': JSON.stringify({ trusted: [join(home, 'p')] }) })
    exitsWell(await bare(['-C', join(home, 'p'), '-p', 'hi']))
    expect(systemOf(model, 1)).toContain('HOME-SECRET\nEND')
  })
})
