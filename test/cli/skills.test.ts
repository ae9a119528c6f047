/** Skills through the command line: the catalog in the prompt, `load_skill`, and `agent skills`. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf } from '../support/agent.ts'
import { call, expectPrefixStable, reply } from '../support/fakeModel.ts'
import { type SetUp, setUp } from './setUp.ts'

function put(directory: string, path: string, content: string): string {
  const file = join(directory, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}

const skill = (name: string, description: string, body = `# ${name}\n`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}`

const system = ({ model }: SetUp, n: number) => model.requests[n]?.body.system ?? expect.fail('no such request')
const toolNames = ({ model }: SetUp, n: number) => model.requests[n]?.body.tools?.map(({ name }) => name) ?? []
const results = ({ model }: SetUp, n: number) => model.requests[n]?.body.messages.at(-1)?.content ?? []

describe('the catalog', () => {
  test('is in the system prompt, a line a skill; the full text only comes with load_skill', async () => {
    const place = await setUp([reply([call('load_skill', { name: 'code-review' }, 's1')]), 'reviewed'])
    put(place.dir, 'skills/pdf/SKILL.md', skill('pdf', 'Process PDF files.', 'PDF-BODY'))
    const text = skill('code-review', 'Review code thoroughly.', 'REVIEW-BODY')
    put(place.dir, 'skills/code-review/SKILL.md', text)
    put(place.dir, 'skills/code-review/references/list.md', 'x')
    const end = await place.run(['-p', 'review this'])
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
    expect(system(place, 0)).toContain('\n- code-review: Review code thoroughly.\n- pdf: Process PDF files.')
    expect(place.model.requests.map(({ raw }) => raw.includes('PDF-BODY'))).toEqual([false, false])
    expect(place.model.requests.map(({ raw }) => raw.includes('REVIEW-BODY'))).toEqual([false, true])
    expect(results(place, 1)).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 's1',
        content: expect.stringContaining(`${join(place.dir, 'skills/code-review')}.\n`),
        cache_control: { type: 'ephemeral' },
      },
    ])
    expect(String(results(place, 1)[0]?.content)).toMatch(/\n- references\/list\.md\nIts SKILL\.md:\n\n/)
    expect(String(results(place, 1)[0]?.content).endsWith(`\n\n${text}`)).toBe(true)
    expectPrefixStable(place.model.requests)
  })

  test('and the tool are not there where there are no skills', async () => {
    const place = await setUp(['ok'])
    await place.run(['-p', 'x'])
    expect(toolNames(place, 0)).not.toContain('load_skill')
    expect(system(place, 0)).not.toMatch(/skill/i)
  })

  test('a skill that a tool writes is there in the next call, tool and all; one that is removed is gone', async () => {
    const place = await setUp([
      reply([call('load_skill', { name: 'made' }, 'early')]),
      reply([call('write_file', { path: 'skills/made/SKILL.md', content: skill('made', 'Made just now.') })]),
      reply([call('load_skill', { name: 'made' }, 'now')]),
      reply([call('bash', { command: 'rm -r skills' })]),
      'ok',
    ])
    await place.run(['--yes', '-p', 'make a skill'])
    expect(results(place, 1)[0]).toMatchObject({
      is_error: true,
      content: 'There is no skill "made": there are no skills here.',
    })
    expect([0, 1, 2, 3, 4].map((n) => toolNames(place, n).includes('load_skill'))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ])
    expect([0, 1, 2, 3, 4].map((n) => system(place, n).includes('- made: Made just now.'))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ])
    expect(results(place, 3)[0]?.is_error).toBeUndefined()
    expect(place.model.problems).toEqual([])
  })

  test('a hundred skills: the prompt is stable over a turn and a resume, capped, and says so', async () => {
    const rounds = [0, 1, 2].map((n) => reply([call('bash', { command: `echo ${n}` })]))
    const place = await setUp([...rounds, 'one', 'two'])
    for (let i = 0; i < 100; i++) {
      put(place.dir, `skills/skill-${i}/SKILL.md`, skill(`skill-${i}`, `Number ${i}. ${'word '.repeat(190)}`))
    }
    await place.run(['--yes', '-p', 'go'])
    await place.run(['--yes', '-c', '-p', 'on'])
    expectPrefixStable(place.model.requests)
    expect(place.model.requests).toHaveLength(5)
    expect(system(place, 0).match(/^- skill-\d+: Number/gm)).toHaveLength(100)
    expect(system(place, 0)).toMatch(/\(descriptions are cut to \d+ characters, as there are many skills\)/)
    expect(system(place, 0).length).toBeLessThan(26_000)
  })

  test('is not what a subagent gets', async () => {
    const place = await setUp((request) =>
      String(request.body.messages[0]?.content[0]?.text) === 'side'
        ? 'summary'
        : request.body.messages.length > 1
          ? 'ok'
          : reply([call('task', { description: 'side' })]),
    )
    put(place.dir, 'skills/pdf/SKILL.md', skill('pdf', 'Process PDF files.'))
    await place.run(['-p', 'main'])
    expect(
      place.model.requests.map((_, n) => [
        toolNames(place, n).includes('load_skill'),
        system(place, n).includes('- pdf:'),
      ]),
    ).toEqual([
      [true, true],
      [false, false],
      [true, true],
    ])
  })
})

describe('load_skill', () => {
  test('is no way to read files: paths, other cases and keys of objects are unknown names', async () => {
    const names = [
      '../../outside/secret',
      'good/../ln',
      'good/',
      'GOOD',
      '',
      '__proto__',
      'constructor',
      'ln',
      'secret',
    ]
    const place = await setUp([reply(names.map((name, i) => call('load_skill', { name }, `c${i}`))), 'ok'])
    put(place.dir, 'skills/good/SKILL.md', skill('good', 'The only one.'))
    const secret = put(place.home, 'outside/secret/SKILL.md', skill('secret', 'TOPSECRET', 'TOPSECRET'))
    mkdirSync(join(place.dir, 'skills/ln'))
    symlinkSync(secret, join(place.dir, 'skills/ln/SKILL.md'))
    const end = await place.run(['-p', 'x'])
    expect(results(place, 1).map(({ is_error, content }) => [is_error, content])).toEqual(
      names.map((name) => [
        true,
        `There is no skill ${JSON.stringify(name)}. The skills are: good. Give one as written.`,
      ]),
    )
    expect(place.model.requests.some(({ raw }) => raw.includes('TOPSECRET'))).toBe(false)
    expect(end.stderr).toMatch(/skills\/ln\/SKILL\.md was left out: it is a link to .*out of the project/)
  })

  test("needs no permission for the user's own skills, nor does reading the files beside them", async () => {
    const place: SetUp = await setUp((_, n) => {
      const beside = join(place.home, '.claude/skills/mine/references/a.md')
      return (
        [
          reply([call('load_skill', { name: 'mine' }, 'c1')]),
          reply([
            call('read_file', { path: beside }, 'c2'),
            call('read_file', { path: join(place.home, 'private.txt') }, 'c3'),
            call('read_file', { path: join(dirname(beside), 'link') }, 'c4'),
            call('write_file', { path: beside, content: 'x' }, 'c5'),
          ]),
        ][n] ?? 'ok'
      )
    })
    put(place.home, '.claude/skills/mine/SKILL.md', skill('mine', 'Of the user.'))
    put(place.home, '.claude/skills/mine/references/a.md', 'BESIDE')
    symlinkSync(put(place.home, 'private.txt', 'PRIVATE'), join(place.home, '.claude/skills/mine/references/link'))
    const { permission_denials } = resultOf(await place.run(['-p', 'x']))
    expect(results(place, 1)[0]?.is_error).toBeUndefined()
    expect(String(results(place, 2)[0]?.content)).toContain('BESIDE')
    expect(permission_denials.map(({ tool_use_id }) => tool_use_id)).toEqual(['c3', 'c4', 'c5'])
    expect(place.model.requests.some(({ raw }) => raw.includes('PRIVATE'))).toBe(false)
  })

  test('a long skill is put on disk like any long result, its beginning with the directory is shown', async () => {
    const place = await setUp([reply([call('load_skill', { name: 'long' }, 'c1')]), 'ok'])
    put(place.dir, 'skills/long/SKILL.md', skill('long', 'A long one.', 'line\n'.repeat(20_000)))
    await place.run(['-p', 'x'])
    const content = String(results(place, 1)[0]?.content)
    expect(content.length).toBeLessThan(4_000)
    expect(content).toContain(`Skill long, in the directory ${join(place.dir, 'skills/long')}`)
    expect(readFileSync(join(place.dir, '.task_outputs/tool-results/c1.txt'), 'utf8')).toMatch(/(line\n){20000}$/)
  })

  test('a loaded skill survives a compaction', async () => {
    const place = await setUp([
      reply([call('load_skill', { name: 'style' }, 'c1')]),
      reply([call('compact', {})]),
      'SUMMARY of what was done',
      'done',
    ])
    put(place.dir, 'skills/style/SKILL.md', skill('style', 'House style.', 'STYLE-BODY: two spaces.'))
    await place.run(['--yes', '-p', 'x'])
    const last = place.model.requests.at(-1)?.body ?? expect.fail('no request')
    expect(JSON.stringify(last.messages)).toContain('SUMMARY of what was done')
    expect(JSON.stringify(last.messages)).toContain('STYLE-BODY: two spaces.')
    expect(JSON.stringify(last.messages)).not.toContain('tool_use')
  })
})

describe('agent skills', () => {
  test('lists name, description, source, file and warnings as JSON, without a key', async () => {
    const { bare, dir, home } = await setUp([])
    const own = put(dir, 'skills/own/SKILL.md', skill('own', 'Of the project.'))
    const mine = put(home, '.agent/skills/mine/SKILL.md', '# Mine\n')
    put(home, '.claude/skills/own/SKILL.md', skill('own', 'Of the user.'))
    put(dir, '.claude/skills/empty/SKILL.md', '')
    const end = await bare(['skills', '-C', dir, '--json'], { env: { ANTHROPIC_API_KEY: '' } })
    expect({ code: end.code, list: JSON.parse(end.stdout) }).toEqual({
      code: 0,
      list: [
        {
          name: 'mine',
          description: 'Mine',
          source: 'user',
          file: mine,
          warnings: [
            'It has no front matter: begin it with ---, name, description, ---.',
            'It has no description: its first line stands in.',
            "It has no name: its directory's name stands in.",
          ],
        },
        { name: 'own', description: 'Of the project.', source: 'project', file: own, warnings: [] },
      ],
    })
    expect(end.stderr.trim().split('\n')).toEqual([
      `warning: The skill ${join(dir, '.claude/skills/empty/SKILL.md')} was left out: it has no description and no text.`,
      `warning: There are two skills "own": ${own} is used, ${join(home, '.claude/skills/own/SKILL.md')} is not. Rename one of them.`,
    ])
  })

  test('lists them for people', async () => {
    const { bare, dir, home } = await setUp([])
    put(dir, 'skills/own/SKILL.md', skill('own', 'Of the project.'))
    const mine = put(home, '.agents/skills/their-own/SKILL.md', skill('mine', 'Of the user.'))
    const end = await bare(['-C', dir, 'skills'])
    expect({ code: end.code, stdout: end.stdout }).toEqual({
      code: 0,
      stdout: `mine  user     Of the user.
  ${mine}
  ! Its directory is called their-own; call it as the skill.
own   project  Of the project.
  skills/own/SKILL.md
`,
    })
    rmSync(join(dir, 'skills'), { recursive: true })
    rmSync(join(home, '.agents'), { recursive: true })
    expect((await bare(['-C', dir, 'skills'])).stdout).toMatch(
      /^No skills here\. A skill is a directory with a SKILL\.md/,
    )
    expect((await bare(['-C', dir, 'skills', '--json'])).stdout).toBe('[]\n')
    expect(await bare(['-C', dir, 'skills', 'x'])).toMatchObject({ code: 2, stderr: expect.stringContaining('"x"') })
  })

  test('a clash is said once in a run', async () => {
    const place = await setUp([reply([call('bash', { command: 'true' })]), 'ok'])
    put(place.dir, 'skills/a/SKILL.md', skill('same', 'One.'))
    put(place.dir, 'skills/b/SKILL.md', skill('same', 'Two.'))
    const end = await place.run(['--yes', '-p', 'x'])
    expect(end.stderr.match(/There are two skills "same"/g)).toHaveLength(1)
    expect(system(place, 1)).toContain('- same: One.')
  })
})
