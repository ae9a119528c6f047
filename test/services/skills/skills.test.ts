/** Where skills are found, which of two wins, and what the model gets of them. */
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CATALOG_LENGTH } from '../../../src/services/skills/catalog.ts'
import { found, makePlace, open } from './support.ts'

describe('the folders', () => {
  test('are those of the project before those of the user, each in its order', async () => {
    const place = makePlace()
    const folders = [
      'project/skills',
      'project/.agents/skills',
      'project/.claude/skills',
      'home/.agent/skills',
      'home/.agents/skills',
      'home/.claude/skills',
    ]
    folders.forEach((folder, i) => {
      place.skill(folder, `own-${i}`, `Only in ${folder}`)
      // Every folder but the first one here has the same skill: the first of those wins.
      if (i > 0) place.skill(folder, 'shared', `From ${folder}`)
    })
    const { skills, warnings } = await found(place)
    expect(skills).toEqual([
      ...folders.map((folder, i) => [`own-${i}`, `Only in ${folder}`]),
      ['shared', 'From project/.agents/skills'],
    ])
    const used = join(place.cwd, '.agents/skills/shared/SKILL.md')
    expect(warnings).toEqual(
      folders
        .slice(2)
        .map(
          (folder) =>
            `There are two skills "shared": ${used} is used, ${join(place.top, folder, 'shared/SKILL.md')} is not. Rename one of them.`,
        ),
    )
  })

  test('of one folder the directory that comes first by name wins', async () => {
    const place = makePlace()
    place.put('project/skills/b/SKILL.md', '---\nname: same\ndescription: From b\n---\n')
    place.put('project/skills/a/SKILL.md', '---\nname: same\ndescription: From a\n---\n')
    expect((await found(place)).skills).toEqual([['same', 'From a']])
  })

  test('above the working directory count up to the root of its repository, the nearest first', async () => {
    const place = makePlace()
    mkdirSync(join(place.cwd, '.git'))
    place.skill('project/.claude/skills', 'root', 'Of the repository')
    place.skill('project/.claude/skills', 'both', 'From the root')
    place.skill('project/packages/a/skills', 'both', 'From the package')
    place.skill('.claude/skills', 'above', 'Not of the repository')
    const { skills } = await found({ ...place, cwd: join(place.cwd, 'packages/a') })
    expect(skills).toEqual([
      ['both', 'From the package'],
      ['root', 'Of the repository'],
    ])
  })

  test('above do not count where the repository is the whole home, nor may links lead into the rest of it', async () => {
    const place = makePlace()
    mkdirSync(join(place.home, '.git'), { recursive: true })
    place.skill('home/skills', 'above', 'Of the home')
    place.skill('home/work/skills', 'here', 'Of the working directory')
    place.put('home/.ssh/id', 'TOPSECRET')
    mkdirSync(join(place.home, 'work/skills/key'))
    symlinkSync('../../../.ssh/id', join(place.home, 'work/skills/key/SKILL.md'))
    const { skills, warnings } = await found({ ...place, cwd: join(place.home, 'work') })
    expect(skills).toEqual([['here', 'Of the working directory']])
    expect(warnings).toEqual([expect.stringContaining('skills/key/SKILL.md was left out: it is a link to')])
  })

  test('outside a repository only the working directory counts', async () => {
    const place = makePlace()
    place.skill('project/skills', 'above', 'Not here')
    place.skill('project/sub/skills', 'here', 'Here')
    expect((await found({ ...place, cwd: join(place.cwd, 'sub') })).skills).toEqual([['here', 'Here']])
  })

  test('one that is a link to another is looked through once, without a warning', async () => {
    const place = makePlace()
    place.skill('project/.agents/skills', 'one', 'Once')
    mkdirSync(join(place.cwd, '.claude'))
    symlinkSync('../.agents/skills', join(place.cwd, '.claude/skills'))
    expect(await found(place)).toEqual({ skills: [['one', 'Once']], warnings: [] })
  })

  test("in the home directory the user's own folders stay the user's, links and all", async () => {
    const place = makePlace()
    place.put('dotfiles/linked/SKILL.md', '---\nname: linked\ndescription: From elsewhere\n---\n')
    mkdirSync(join(place.home, '.claude/skills'), { recursive: true })
    symlinkSync(join(place.top, 'dotfiles/linked'), join(place.home, '.claude/skills/linked'))
    expect(await found({ ...place, cwd: place.home })).toEqual({ skills: [['linked', 'From elsewhere']], warnings: [] })
  })

  test('of a project may lead out of it only where the user trusts it', async () => {
    const place = makePlace()
    place.put('outside/x/SKILL.md', '---\nname: x\ndescription: TOPSECRET\n---\n')
    place.put('outside/whole/y/SKILL.md', '---\nname: y\ndescription: TOPSECRET\n---\n')
    mkdirSync(join(place.cwd, 'skills'))
    mkdirSync(join(place.cwd, '.claude'))
    symlinkSync(join(place.top, 'outside/x'), join(place.cwd, 'skills/x'))
    symlinkSync(join(place.top, 'outside/whole'), join(place.cwd, '.claude/skills'))
    const untrusted = await found(place)
    expect(untrusted.skills).toEqual([])
    expect(untrusted.warnings).toEqual([
      expect.stringContaining(`skills/x/SKILL.md was left out: it is a link to ${join(place.top, 'outside/x')}`),
      expect.stringContaining(`.claude/skills/y/SKILL.md was left out: it is a link to`),
    ])
    expect((await found({ ...place, trusted: true })).skills).toEqual([
      ['x', 'TOPSECRET'],
      ['y', 'TOPSECRET'],
    ])
  })

  test('may be files, links to nothing, or hold other things than skills', async () => {
    const place = makePlace()
    place.put('project/skills', 'a file')
    place.put('project/.claude/skills/README.md', 'not a skill')
    place.put('project/.claude/skills/empty/notes.md', 'no SKILL.md')
    place.put('project/.claude/skills/.hidden/SKILL.md', '---\nname: h\ndescription: hidden\n---\n')
    mkdirSync(join(place.cwd, '.agents'))
    symlinkSync('nowhere', join(place.cwd, '.agents/skills'))
    expect(await found(place)).toEqual({ skills: [], warnings: [] })
  })
})

describe('a file that is nearly a skill', () => {
  test('by its name in another case is told of, since the system does not find it', async () => {
    const place = makePlace()
    place.put('project/skills/lower/skill.md', '---\nname: lower\ndescription: A skill\n---\n')
    place.put('project/skills/other/README.md', 'No skill at all.')
    expect(await found(place)).toEqual({
      skills: [],
      warnings: [
        `The skill ${join(place.cwd, 'skills/lower/skill.md')} was left out: its file must be called SKILL.md.`,
      ],
    })
  })

  test('with no value for its description has its first line instead', async () => {
    const place = makePlace()
    place.put('project/skills/a/SKILL.md', '---\nname: a\ndescription: null\n---\n# Mend a\n')
    place.put('project/skills/b/SKILL.md', '---\nname: b\ndescription: ~\n---\nMend b\n')
    expect((await found(place)).skills).toEqual([
      ['a', 'Mend a'],
      ['b', 'Mend b'],
    ])
  })
})

describe('the catalog', () => {
  test('is the same in whatever order the directories were made', async () => {
    const names = ['b', 'C', 'a', 'ä', 'c', '10', '9']
    const catalogs = await Promise.all(
      [names, names.toReversed()].map(async (order) => {
        const place = makePlace()
        for (const name of order) place.skill('project/skills', name, `About ${name}`)
        return open(place).skills.read()
      }),
    )
    expect(catalogs[0]?.entries.map(({ name }) => name)).toEqual(['10', '9', 'C', 'a', 'b', 'c', 'ä'])
    expect(catalogs[1]).toEqual(catalogs[0])
  })

  test('of a hundred skills with long descriptions names all, fits its bound and says what it cut', async () => {
    const place = makePlace()
    for (let i = 0; i < 100; i++) place.skill('project/skills', `skill-${i}`, `About ${i}. ${'long '.repeat(180)}`)
    const { entries, note } = await open(place).skills.read()
    const lines = entries.map(({ name, description }) => `- ${name}: ${description}\n`)
    expect(entries).toHaveLength(100)
    expect(lines.join('').length).toBeLessThanOrEqual(CATALOG_LENGTH)
    expect(lines.join('').length).toBeGreaterThan(CATALOG_LENGTH * 0.95)
    expect(note).toMatch(/^\(descriptions are cut to \d+ characters, as there are many skills\)$/)
  })

  test('of a thousand says how many it does not list, and loads those too', async () => {
    const place = makePlace()
    for (let i = 1000; i < 2000; i++) place.skill('project/skills', `skill-${i}`, `About ${i}. ${'x'.repeat(200)}`)
    const { skills } = open(place)
    const { entries, note } = await skills.read()
    expect(note).toBe(
      `(descriptions are cut to 60 characters, as there are many skills; ${1000 - entries.length} more skills are not listed; load_skill names all when it does not know one)`,
    )
    expect(await skills.load('skill-1999')).toMatchObject({ kind: 'ok' })
  })

  test('does not cut a character in two', async () => {
    const place = makePlace()
    for (const name of ['n', 'nn']) place.skill('project/skills', name, '😀'.repeat(2000))
    const { entries } = await open(place).skills.read()
    expect(entries.map(({ description }) => /^(😀)+…$/u.test(description))).toEqual([true, true])
  })

  test('follows what is written, changed and removed; each warning is said once', async () => {
    const place = makePlace()
    const { skills, warnings } = open(place)
    expect([(await skills.read()).entries, skills.any()]).toEqual([[], false])
    const file = place.skill('project/skills', 'new', 'First words')
    place.put('project/skills/bad/SKILL.md', '')
    expect([(await skills.read()).entries, skills.any()]).toEqual([[{ name: 'new', description: 'First words' }], true])
    place.skill('project/skills', 'new', 'Other words')
    expect((await skills.read()).entries).toEqual([{ name: 'new', description: 'Other words' }])
    unlinkSync(file)
    expect([(await skills.read()).entries, skills.any()]).toEqual([[], false])
    expect(warnings).toEqual([
      `The skill ${join(place.cwd, 'skills/bad/SKILL.md')} was left out: it has no description and no text.`,
    ])
  })

  test('follows a change of an old file too, whatever its time stamp says', async () => {
    const place = makePlace()
    const file = place.skill('project/skills', 'old', 'First')
    utimesSync(file, 1_000_000, 1_000_000)
    const { skills } = open(place)
    await skills.read()
    place.skill('project/skills', 'old', 'Other')
    utimesSync(file, 1_000_000, 1_000_000)
    expect((await skills.read()).entries).toEqual([{ name: 'old', description: 'Other' }])
  })
})

describe('loading', () => {
  test('gives the raw text of SKILL.md, its directory and its other files', async () => {
    const place = makePlace()
    const text = '---\r\nname: pdf\r\ndescription: >\r\n  Fill\r\n  forms\r\n---\r\n\r\n# PDF\r\n---\r\nend'
    place.put('project/skills/pdf/SKILL.md', `\ufeff${text}`)
    for (const path of ['scripts/fill.py', 'references/deep/er/notes.md', 'LICENSE.txt', '.git/config', '.env'])
      place.put(`project/skills/pdf/${path}`, 'x')
    place.put('project/skills/pdf/node_modules/a/index.js', 'x')
    expect(await open(place).skills.load('pdf')).toEqual({
      kind: 'ok',
      content: `Skill pdf, in the directory ${join(place.cwd, 'skills/pdf')}.
Paths in it are relative to that directory, which also has these files; read or run them as needed:
- LICENSE.txt
- references/deep/er/notes.md
- scripts/fill.py
Its SKILL.md:

${text}`,
    })
  })

  test('lists a hundred files at most and says that there are more', async () => {
    const place = makePlace()
    place.skill('project/skills', 'big', 'Many files')
    for (let i = 0; i < 150; i++) place.put(`project/skills/big/assets/${i}.txt`, 'x')
    const { content } = await open(place).skills.load('big')
    expect(String(content).match(/^- assets\//gm)).toHaveLength(100)
    expect(content).toContain('\n- … and more\nIts SKILL.md:\n')
  })

  test('finds a skill that was written a moment ago, and one that moved', async () => {
    const place = makePlace()
    const { skills } = open(place)
    place.skill('project/skills', 'fresh', 'Just made')
    expect(await skills.load('fresh')).toMatchObject({ kind: 'ok' })
    renameSync(join(place.cwd, 'skills/fresh'), join(place.cwd, 'skills/moved'))
    expect(String((await skills.load('fresh')).content)).toContain(join(place.cwd, 'skills/moved'))
    rmSync(join(place.cwd, 'skills'), { recursive: true })
    expect(await skills.load('fresh')).toEqual({
      kind: 'error',
      content: 'There is no skill "fresh": there are no skills here.',
    })
  })

  test.each([
    '../../outside/secret',
    '../secret',
    '/etc',
    'good/../ln',
    'good/',
    './good',
    'GOOD',
    ' good',
    '',
    '__proto__',
    'constructor',
    'toString',
    'good\0',
  ])('the name %j is no path and no key of an object', async (name) => {
    const place = makePlace()
    place.put('outside/secret/SKILL.md', '---\nname: secret\ndescription: TOPSECRET\n---\nTOPSECRET')
    place.skill('project/skills', 'good', 'The only one')
    place.skill('project/skills', 'other', 'And one more')
    mkdirSync(join(place.cwd, 'skills/ln'))
    symlinkSync(join(place.top, 'outside/secret/SKILL.md'), join(place.cwd, 'skills/ln/SKILL.md'))
    expect(await open(place).skills.load(name)).toEqual({
      kind: 'error',
      content: `There is no skill ${JSON.stringify(name)}. The skills are: good, other. Give one as written.`,
    })
  })

  test('skills called like the parts of an object are skills like others', async () => {
    const place = makePlace()
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty']) place.skill('project/skills', name, `Is ${name}`)
    const { skills } = open(place)
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty']) {
      expect(String((await skills.load(name)).content)).toContain(`description: Is ${name}`)
    }
  })

  test('says so where a huge file is cut', async () => {
    const place = makePlace()
    const file = place.skill('project/skills', 'huge', 'Too long')
    writeFileSync(file, `---\nname: huge\ndescription: d\n---\n${'é'.repeat(3_000_000)}`)
    const { content } = await open(place).skills.load('huge')
    expect(String(content)).toMatch(/é\n\[Cut: only the first 4194304 bytes of .* are shown\.\]$/)
    expect(String(content)).not.toContain('\ufffd')
  })
})
