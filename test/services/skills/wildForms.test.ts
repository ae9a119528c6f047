/** SKILL.md as people really write it: what the agent makes of each. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSkills, findSkills } from '../../../src/services/skills/index.ts'
import { makePlace, type Place } from './support.ts'

const UTF8_BOM = '\ufeff'
const bytes = (...parts: Array<string | number[]>): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))
const utf16 = (text: string): Uint8Array => bytes([0xff, 0xfe], [...Buffer.from(text, 'utf16le')])
const utf16be = (text: string): Uint8Array => bytes([0xfe, 0xff], [...Buffer.from(text, 'utf16le').swap16()])
const front = (block: string, body = '# Title\n\nBody.\n') => `---\n${block}\n---\n${body}`

const NO_FRONT = 'It has no front matter: begin it with ---, name, description, ---.'
const OPEN = 'Its front matter is not closed: end it with a line ---.'
const BAD_YAML = 'Its front matter is not valid YAML: put values that hold a colon in quotes.'
const NO_NAME = "It has no name: its directory's name stands in."
const NO_DESCRIPTION = 'It has no description: its first line stands in.'
const NOT_UTF8 = 'It is not valid UTF-8; save it as UTF-8.'
const BAD_NAME = 'Its name is not of 64 lower-case letters, digits and single hyphens at most.'
const called = (directory: string) => `Its directory is called ${directory}; call it as the skill.`
const leftOut = (reason: string) => ({ leftOut: reason })

/** Content of `<case>/SKILL.md`, or what makes it; then the name, the description and the remarks, or why it is left out. */
type Case = [
  directory: string,
  content: string | Uint8Array | ((file: string, place: Place) => void),
  expected: [name: string, description: string, remarks?: string[]] | { leftOut: string },
]

const CASES: Case[] = [
  ['plain', front('name: plain\ndescription: Says what it is for.'), ['plain', 'Says what it is for.']],
  ['bom', UTF8_BOM + front('name: bom\ndescription: From Windows'), ['bom', 'From Windows']],
  ['crlf', front('name: crlf\ndescription: From Windows').replaceAll('\n', '\r\n'), ['crlf', 'From Windows']],
  ['bom-crlf', UTF8_BOM + front('name: bom-crlf\ndescription: Both').replaceAll('\n', '\r\n'), ['bom-crlf', 'Both']],
  ['cr', front('name: cr\ndescription: Old Mac').replaceAll('\n', '\r'), ['cr', 'Old Mac']],
  ['utf16', utf16(front('name: utf16\ndescription: Ünïcode')), ['utf16', 'Ünïcode']],
  ['utf16be', utf16be(front('name: utf16be\ndescription: Ünïcode')), ['utf16be', 'Ünïcode']],
  [
    'fence-blanks',
    '--- \nname: fence-blanks\ndescription: Blanks after the fence\n---\t\nBody\n',
    ['fence-blanks', 'Blanks after the fence'],
  ],
  [
    'blank-first',
    '\n\n---\nname: blank-first\ndescription: Lines before it\n---\n',
    ['blank-first', 'Lines before it'],
  ],
  ['dots', '---\nname: dots\ndescription: Closed by dots\n...\nBody\n', ['dots', 'Closed by dots']],
  [
    'no-end-line',
    '---\nname: no-end-line\ndescription: Ends with the fence\n---',
    ['no-end-line', 'Ends with the fence'],
  ],
  [
    'folded',
    front('name: folded\ndescription: >\n  One line\n  and another\n  and the third'),
    ['folded', 'One line and another and the third'],
  ],
  ['folded-strip', front('name: folded-strip\ndescription: >-\n  One\n\n  Two'), ['folded-strip', 'One Two']],
  ['literal', front('name: literal\ndescription: |\n  One\n  Two'), ['literal', 'One Two']],
  ['literal-keep', front('name: literal-keep\ndescription: |+\n  One\n  Two\n'), ['literal-keep', 'One Two']],
  ['multi-line', front('name: multi-line\ndescription: One\n  two\n  three'), ['multi-line', 'One two three']],
  ['escaped', front('name: escaped\ndescription: "One\\ntwo\\tthree"'), ['escaped', 'One two three']],
  ['single-quoted', front("name: 'single-quoted'\ndescription: 'It''s here'"), ['single-quoted', "It's here"]],
  [
    'colon',
    front('name: colon\ndescription: Use when: the user asks for: a thing'),
    ['colon', 'Use when: the user asks for: a thing', [BAD_YAML]],
  ],
  [
    'colon-lines',
    front('name: colon-lines\ndescription: Use when: it rains\n  and when: it snows'),
    ['colon-lines', 'Use when: it rains and when: it snows', [BAD_YAML]],
  ],
  [
    'colon-below',
    front('name: colon-below\ndescription:\n  Use this: when it rains'),
    ['colon-below', 'Use this: when it rains', [BAD_YAML]],
  ],
  [
    'colon-elsewhere',
    front('name: colon-elsewhere\nlicense: MIT: see: LICENSE\ndescription: "Quoted: right"'),
    ['colon-elsewhere', 'Quoted: right', [BAD_YAML]],
  ],
  ['apostrophe', front("name: apostrophe\ndescription: It's for: you"), ['apostrophe', "It's for: you", [BAD_YAML]]],
  ['bracket', front('name: bracket\ndescription: [WIP] Does things'), ['bracket', '[WIP] Does things', [BAD_YAML]]],
  ['at-sign', front('name: at-sign\ndescription: @types and such'), ['at-sign', '@types and such', [BAD_YAML]]],
  ['backtick', front('name: backtick\ndescription: `npm` helper'), ['backtick', '`npm` helper', [BAD_YAML]]],
  ['percent', front('name: percent\ndescription: 100% sure: yes'), ['percent', '100% sure: yes', [BAD_YAML]]],
  ['braces', front('name: braces\ndescription: {{ placeholder }}'), ['braces', '{{ placeholder }}', [BAD_YAML]]],
  [
    'half-quoted',
    front('name: half-quoted\ndescription: "PDF" files and more'),
    ['half-quoted', '"PDF" files and more', [BAD_YAML]],
  ],
  [
    'tab-indent',
    front('name: tab-indent\nmetadata:\n\tkey: value\ndescription: After a tab'),
    ['tab-indent', 'After a tab', [BAD_YAML]],
  ],
  ['list', front('name: list\ndescription:\n  - One\n  - Two'), ['list', 'One, Two']],
  ['flow-list', front('name: flow-list\ndescription: [One, Two]'), ['flow-list', 'One, Two']],
  ['twice', front('name: twice\ndescription: First\ndescription: Second'), ['twice', 'Second']],
  [
    'nested',
    front('name: nested\ndescription: With more\nmetadata:\n  version: "1.0"\nallowed-tools: Read, Bash(git:*)'),
    ['nested', 'With more'],
  ],
  ['upper-keys', front('Name: upper-keys\nDescription: Keys in capitals'), ['upper-keys', 'Keys in capitals']],
  ['comment', front('# about\nname: comment\ndescription: Has a comment'), ['comment', 'Has a comment']],
  ['number', front('name: 007\ndescription: 1.0'), ['007', '1.0', [called('number')]]],
  ['boolean', front('name: true\ndescription: yes'), ['true', 'yes', [called('boolean')]]],
  ['constructor', front('name: constructor\ndescription: A word with a past'), ['constructor', 'A word with a past']],
  ['proto', front('name: __proto__\ndescription: Another'), ['__proto__', 'Another', [BAD_NAME, called('proto')]]],
  [
    'alias-bomb',
    front(
      `name: alias-bomb\na: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefg'].map((c, i) => `${c}: &${c} [${`*${'abcdef'[i]},`.repeat(9)}x]`).join('\n')}\ndescription: *g`,
    ),
    ['alias-bomb', '*g', [BAD_YAML]],
  ],
  ['no-front', '# How to deploy\n\nRun it.\n', ['no-front', 'How to deploy', [NO_FRONT, NO_DESCRIPTION, NO_NAME]]],
  ['front-empty', front(''), ['front-empty', 'Title', [NO_DESCRIPTION, NO_NAME]]],
  ['no-name', front('description: Only this'), ['no-name', 'Only this', [NO_NAME]]],
  ['no-description', front('name: no-description'), ['no-description', 'Title', [NO_DESCRIPTION]]],
  ['blank-fields', front('name:\ndescription: ""'), ['blank-fields', 'Title', [NO_DESCRIPTION, NO_NAME]]],
  [
    'rule-first',
    '---\nJust words between rules\n---\n',
    ['rule-first', 'Just words between rules', [BAD_YAML, NO_DESCRIPTION, NO_NAME]],
  ],
  [
    'unclosed',
    '---\nname: unclosed\ndescription: Nobody closed it\n\n# Title\n\nBody with --- inside\n',
    ['unclosed', 'Nobody closed it', [OPEN]],
  ],
  [
    'unclosed-prose',
    '---\n# A title\n\nWords: and more.\n',
    ['unclosed-prose', 'A title', [OPEN, NO_DESCRIPTION, NO_NAME]],
  ],
  [
    'rule-inside',
    front('name: rule-inside\ndescription: Rules below', 'One\n\n---\n\nname: other\n'),
    ['rule-inside', 'Rules below'],
  ],
  [
    'bad-utf8',
    bytes('---\nname: bad-utf8\ndescription: caf', [0xe9], ' au lait\n---\n'),
    ['bad-utf8', 'caf\ufffd au lait', [NOT_UTF8]],
  ],
  ['control', front('name: control\ndescription: "Red \\e[31m\\u202e end"'), ['control', 'Red ␛[31m<U+202E> end']],
  ['emoji', front('name: emoji\ndescription: 👩‍💻 日本語のスキル'), ['emoji', '👩‍💻 日本語のスキル']],
  ['Big Name!', front('description: Odd directory'), ['Big Name!', 'Odd directory', [NO_NAME, BAD_NAME]]],
  [
    'long-name',
    front(`name: ${'n'.repeat(300)}\ndescription: Too long a name`),
    ['long-name', 'Too long a name', ["Its name has 300 characters: its directory's name stands in."]],
  ],
  [
    'long-description',
    front(`name: long-description\ndescription: ${'d'.repeat(5000)}`),
    ['long-description', 'd'.repeat(5000), ['Its description has 5000 characters and is cut: 1024 are the most.']],
  ],
  [
    'megabyte',
    front('name: megabyte\ndescription: A long read', `${'x'.repeat(99)}\n`.repeat(10_486)),
    ['megabyte', 'A long read'],
  ],
  [
    'link-inside',
    (file, place) => {
      const real = place.put('project/docs/shared.md', front('name: link-inside\ndescription: Shared in the project'))
      symlinkSync(real, file)
    },
    ['link-inside', 'Shared in the project'],
  ],
  ['empty', '', leftOut('it has no description and no text')],
  ['blank', ' \n\t\n', leftOut('it has no description and no text')],
  ['only-name', '---\nname: only-name\n---\n', leftOut('it has no description and no text')],
  ['binary', bytes('---\nname: binary\n', [0, 1, 2, 0]), leftOut('it is not a text file')],
  ['directory', (file) => mkdirSync(file), leftOut('it is a directory')],
  ['fifo', (file) => execFileSync('mkfifo', [file]), leftOut('it is not a regular file')],
  ['dangling', (file) => symlinkSync('nowhere', file), leftOut('it is a link to nothing')],
  ['link-loop', (file) => symlinkSync('SKILL.md', file), leftOut('it is a link to itself')],
  [
    'link-outside',
    (file, place) => symlinkSync(place.put('outside/secret.md', front('name: s\ndescription: TOPSECRET')), file),
    leftOut('it is a link to <top>/outside/secret.md, out of the project; agent trust lets it be followed'),
  ],
]

const whole = (expected: Case[2]) =>
  Array.isArray(expected) ? [expected[0], expected[1], expected[2] ?? []] : expected

function lay(place: Place): void {
  for (const [directory, content] of CASES) {
    const path = `project/skills/${directory}/SKILL.md`
    if (typeof content !== 'function') place.put(path, content)
    else {
      const file = join(place.top, path)
      mkdirSync(dirname(file), { recursive: true })
      content(file, place)
    }
  }
}

describe('a tree of skill files in the wild forms', () => {
  test('has at least 40 of them', () => {
    expect(CASES.length).toBeGreaterThanOrEqual(40)
    expect(new Set(CASES.map(([directory]) => directory)).size).toBe(CASES.length)
  })

  test('gives name, description and remarks of each, or says why it is left out', async () => {
    const place = makePlace()
    lay(place)
    const { skills, warnings } = await findSkills(place)
    const got = CASES.map(([directory]) => {
      const file = join(place.cwd, 'skills', directory, 'SKILL.md')
      const skill = [...skills.values()].find((one) => one.file === file)
      if (skill !== undefined) {
        const { name, description, remarks } = skill
        return [directory, [name, description, remarks]]
      }
      const warning = warnings.find((one) => one.startsWith(`The skill ${file} was left out: `)) ?? 'nothing was said'
      const reason = warning
        .replaceAll(place.top, '<top>')
        .replace(/^The skill \S+ was left out: /, '')
        .replace(/\.$/, '')
      return [directory, { leftOut: reason }]
    })
    expect(got).toEqual(CASES.map(([directory, , expected]) => [directory, whole(expected)]))
    expect(warnings).toHaveLength(CASES.filter(([, , expected]) => !Array.isArray(expected)).length)
  })

  test('lists one line of at most 1,024 characters a skill, sorted, in bounds and says what it cut', async () => {
    const place = makePlace()
    lay(place)
    const skills = createSkills({ ...place, warn: () => {} })
    const { entries } = await skills.read()
    const lines = entries.map(({ name, description }) => `- ${name}: ${description}`)
    expect(lines.filter((line) => line.length > 1024 || /[\r\n\u2028\x1b]/.test(line))).toEqual([])
    expect(entries.map(({ name }) => name)).toEqual(entries.map(({ name }) => name).sort())
  })

  test('loads each of them whole', async () => {
    const place = makePlace()
    lay(place)
    const skills = createSkills({ ...place, warn: () => {} })
    for (const [directory, content, expected] of CASES) {
      if (!Array.isArray(expected) || typeof content !== 'string') continue
      const { kind, content: text } = await skills.load(expected[0])
      expect([directory, kind, String(text).endsWith(`\n\n${content.replace(UTF8_BOM, '')}`)]).toEqual([
        directory,
        'ok',
        true,
      ])
    }
  })
})
