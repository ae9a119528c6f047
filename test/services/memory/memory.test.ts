import { mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createMemory } from '../../../src/services/memory/index.ts'
import { compiled, ended, granted, note, open, start, temporary } from './support.ts'

describe('whether memory is on', () => {
  test.each([
    ['no folder, nothing set', null, 'none', false],
    ['no folder, enabled', true, 'none', true],
    ['a folder', null, 'folder', true],
    ['a file in its place', true, 'file', false],
    ['a link out of the project', true, 'link out', false],
    ['a link inside the project', null, 'link in', true],
    ['a link to nothing', true, 'dangling', false],
  ])('%s', (_, enabled, what, isOn) => {
    const dir = temporary()
    const at = join(dir, '.memory')
    if (what === 'folder') mkdirSync(at)
    if (what === 'file') writeFileSync(at, '')
    if (what === 'link out') symlinkSync(temporary(), at)
    if (what === 'dangling') symlinkSync(join(dir, 'nothing'), at)
    if (what === 'link in') {
      mkdirSync(join(dir, 'notes'))
      symlinkSync(join(dir, 'notes'), at)
    }
    const warnings: string[] = []
    const notes = createMemory({ cwd: dir, enabled, warn: (message) => warnings.push(message) })
    expect(notes.isOn()).toBe(isOn)
    expect(warnings).toHaveLength(['file', 'link out', 'dangling'].includes(what) ? 1 : 0)
  })

  test('nothing is written through a link out of the project', async () => {
    const [dir, outside] = [temporary(), temporary()]
    symlinkSync(outside, join(dir, '.memory'))
    const notes = createMemory({ cwd: dir, enabled: true, warn: () => {} })
    expect(await notes.add([note('a')])).toEqual({
      ok: false,
      message: `${join(dir, '.memory')} is a link out of the project, so memory is off. Remove the link.`,
    })
    expect(await notes.list()).toEqual([])
    expect(await notes.index()).toBe('')
  })
})

describe('files as people and other systems write them', () => {
  const whole = { type: 'user', description: 'Likes: tea', body: 'Tea.\n\n---\nNo milk.', consolidated: false }
  test.each([
    [
      'ours',
      '---\nname: x\ndescription: "Likes: tea"\ntype: user\n---\n\nTea.\n\n---\nNo milk.\n',
      { ...whole, name: 'x' },
    ],
    [
      'CRLF and a byte-order mark',
      '\ufeff---\r\nname: x\r\ndescription: "Likes: tea"\r\ntype: user\r\n--- \r\n\r\nTea.\r\n\r\n---\r\nNo milk.\r\n',
      { ...whole, name: 'x' },
    ],
    [
      'an unquoted colon',
      '---\nname: x\ndescription: Likes: tea\ntype: user\n---\nTea.\n\n---\nNo milk.',
      { ...whole, name: 'x' },
    ],
    [
      'folded text',
      '---\nname: x\ndescription: >\n  Likes:\n  tea\ntype: USER\n---\nTea.\n\n---\nNo milk.',
      { ...whole, name: 'x' },
    ],
    [
      'words that are numbers elsewhere',
      '---\nname: 007\ndescription: yes\n---\nB',
      { type: 'project', name: '007', description: 'yes', body: 'B', consolidated: false },
    ],
    [
      'no front matter',
      '# Tea\n\nLikes tea.\n',
      { type: 'project', name: 'm', description: 'Tea', body: '# Tea\n\nLikes tea.', consolidated: false },
    ],
    [
      'a block that nobody closed',
      '---\nname: x\ntype: user\n\nLikes tea.',
      { type: 'user', name: 'x', description: 'Likes tea.', body: 'Likes tea.', consolidated: false },
    ],
    [
      'no text',
      '---\nname: x\ndescription: D\n---\n',
      { type: 'project', name: 'x', description: 'D', body: 'D', consolidated: false },
    ],
    [
      'a list where a text should be',
      '---\nname: [a, b]\ndescription: D\n---\nB',
      { type: 'project', name: 'a, b', description: 'D', body: 'B', consolidated: false },
    ],
    [
      'broken YAML',
      '---\nname: "x\ndescription: {D\n---\nB',
      { type: 'project', name: '"x', description: '{D', body: 'B', consolidated: false },
    ],
    [
      '`constructor` and `__proto__`',
      '---\nconstructor: a\n__proto__: {name: evil}\nname: x\ndescription: D\n---\nB',
      { type: 'project', name: 'x', description: 'D', body: 'B', consolidated: false },
    ],
  ])('%s', async (_, text, expected) => {
    const memory = open()
    memory.write('m.md', text)
    expect(await memory.notes.list()).toEqual([{ file: 'm.md', ...expected }])
    expect(memory.warnings).toEqual([])
  })

  test('what is no memory is left out, with a warning where someone may have meant it', async () => {
    const memory = open()
    const outside = temporary()
    writeFileSync(join(outside, 'secret.md'), 'secret')
    memory.write('MEMORY.md', '- [x](x.md) — y')
    memory.write('empty.md', ' \n')
    memory.write('binary.md', Buffer.from([0, 1, 2]))
    memory.write('.hidden.md', 'x')
    memory.write('text.txt', 'x')
    memory.write('latin.md', Buffer.from('Caf\xe9', 'latin1'))
    mkdirSync(join(memory.folder, 'folder.md'))
    symlinkSync(join(outside, 'secret.md'), join(memory.folder, 'link.md'))
    expect((await memory.notes.list()).map(({ file, body }) => [file, body])).toEqual([['latin.md', 'Caf\ufffd']])
    expect(memory.warnings.map((warning) => warning.replace(`${memory.folder}/`, ''))).toEqual([
      'The memory binary.md is left out: it is not text.',
      'The memory folder.md is left out: it is not a regular file.',
      'The memory link.md is left out: it is a link.',
    ])
  })

  test('a huge file is read only at its beginning', async () => {
    const memory = open()
    memory.write('huge.md', `---\nname: huge\ndescription: D\n---\n${'x'.repeat(5_000_000)}`)
    const [only] = await memory.notes.list()
    expect(only?.body).toHaveLength(8_000)
  })
})

describe('adding', () => {
  test('what is written reads back as it was, whatever is in it', async () => {
    const items = [
      note('colon: and "quotes" \\', {
        description: "it's: {a} [b] # c & *d %",
        body: '---\nname: fake\n---\n$& $1 `x`',
      }),
      note('true', { description: 'null', body: '  indented\n\ttab' }),
      note('- dash', { description: '> fold | @ `', body: 'ä 用户 🎉' }),
      note('two\nlines', { description: 'a\r\nb\u2028c', body: 'one\r\ntwo\rthree' }),
    ]
    const memory = open()
    const { added, skipped } = granted(await memory.notes.add(items))
    expect(skipped).toEqual([])
    const read = await memory.notes.list()
    expect(read).toEqual(added.toSorted((a, b) => (a.file < b.file ? -1 : 1)))
    expect(read.map(({ name, description, body }) => [name, description, body]).sort()).toEqual(
      [
        ['colon: and "quotes" \\', "it's: {a} [b] # c & *d %", '---\nname: fake\n---\n$& $1 `x`'],
        ['true', 'null', 'indented\n\ttab'],
        ['- dash', '> fold | @ `', 'ä 用户 🎉'],
        ['two lines', 'a b c', 'one\ntwo\nthree'],
      ].sort(),
    )
    for (const { file } of added) expect(statSync(join(memory.folder, file)).mode & 0o777).toBe(0o600)
  })

  test('the same name, description or text is skipped, in any case and spacing', async () => {
    const memory = open()
    granted(await memory.notes.add([note('Tea Time')]))
    const before = memory.read('tea-time.md')
    const { added, skipped } = granted(
      await memory.notes.add([
        note('tea/time', { description: 'x', body: 'y' }),
        note('b', { description: 'about  TEA time', body: 'z' }),
        note('c', { description: 'w', body: ' text of Tea  Time. ' }),
        note('d'),
        note('D', { description: 'v', body: 'u' }),
      ]),
    )
    expect(skipped).toEqual([
      { name: 'tea/time', same: 'name', file: 'tea-time.md' },
      { name: 'b', same: 'description', file: 'tea-time.md' },
      { name: 'c', same: 'body', file: 'tea-time.md' },
      { name: 'D', same: 'name', file: 'd.md' },
    ])
    expect(added.map(({ file }) => file)).toEqual(['d.md'])
    expect(memory.read('tea-time.md')).toBe(before)
  })

  test('a file that is no memory is not overwritten either', async () => {
    const memory = open()
    memory.write('Notes.md', Buffer.from([0, 1]))
    expect(granted(await memory.notes.add([note('notes')])).skipped).toEqual([
      { name: 'notes', same: 'name', file: 'notes.md' },
    ])
  })

  test('many processes at once lose no memory and no line', async () => {
    const memory = open()
    const program = await compiled(`
      import { createMemory } from '../../../src/services/memory/index.ts'
      const [dir, who] = process.argv.slice(2)
      const notes = createMemory({ cwd: dir, enabled: true, warn: () => {} })
      const items = Array.from({ length: 10 }, (_, i) => 'p' + who + 'n' + i)
      const run = async () => {
        for (const name of items) {
          const result = await notes.add([{ name, type: 'user', description: 'D ' + name, body: 'B ' + name }])
          if (!result.ok) throw new Error(result.message)
        }
      }
      run()`)
    const children = Array.from({ length: 6 }, (_, i) => start(program, memory.dir, String(i)))
    expect((await Promise.all(children.map(ended))).map(({ by }) => by)).toEqual([0, 0, 0, 0, 0, 0])
    expect(await memory.notes.list()).toHaveLength(60)
    expect(memory.read('MEMORY.md').trimEnd().split('\n')).toHaveLength(60)
    expect(memory.names().filter((name) => name.startsWith('.'))).toEqual([])
  })
})

describe('the index', () => {
  test('keeps what people wrote in it, and their line ends', async () => {
    const memory = open()
    memory.write('mine.md', 'My own note.')
    memory.write(
      'MEMORY.md',
      '# Notes\r\n\r\n- [gone](gone.md) — Gone\r\n- [mine](mine.md) — As I put it\r\nSee [x](../x.md).\r\n',
    )
    granted(await memory.notes.add([note('a')]))
    expect(memory.read('MEMORY.md')).toBe(
      '# Notes\r\n\r\n- [mine](mine.md) — As I put it\r\nSee [x](../x.md).\r\n- [a](a.md) — About a\r\n',
    )
    expect(await memory.notes.index()).toBe(
      '# Notes\n\n- [mine](mine.md) — As I put it\nSee [x](../x.md).\n- [a](a.md) — About a',
    )
  })

  test('removing a memory takes its line away, and nothing else', async () => {
    const memory = open()
    granted(await memory.notes.add([note('a'), note('b')]))
    granted(await memory.notes.remove('a.md'))
    expect(memory.names()).toEqual(['MEMORY.md', 'b.md'])
    expect(memory.read('MEMORY.md')).toBe('- [b](b.md) — About b\n')
    expect(await memory.notes.remove('../x.md')).toEqual({ ok: false, message: '../x.md is no memory' })
  })

  test('is cut at 25 KB, at whole lines, and says how many are missing', async () => {
    const memory = open()
    const long = Array.from({ length: 150 }, (_, i) => note(`n${i}`, { description: `${i} ${'ä'.repeat(250)}` }))
    granted(await memory.notes.add(long))
    const shown = await memory.notes.index()
    expect(Buffer.byteLength(shown)).toBeLessThan(25 * 1024 + 100)
    const lines = shown.split('\n')
    expect(lines.slice(0, -1).every((line) => /^- \[n\d+\]\(n\d+\.md\) — \d+ ä{250}$/.test(line))).toBe(true)
    expect(lines.at(-1)).toBe(
      `(${150 - (lines.length - 1)} more lines are left out here; .memory/MEMORY.md has them all.)`,
    )
  })

  test('shows no control characters and no empty index', async () => {
    const memory = open()
    expect(await memory.notes.index()).toBe('')
    memory.write('MEMORY.md', '- [gone](gone.md) — x\n\n')
    expect(await memory.notes.index()).toBe('')
    memory.write('MEMORY.md', 'a\u001b[2Jb\n')
    expect(await memory.notes.index()).toBe('a␛[2Jb')
    rmSync(join(memory.folder, 'MEMORY.md'))
    symlinkSync('/etc/hostname', join(memory.folder, 'MEMORY.md'))
    expect(await memory.notes.index()).toBe('')
  })
})
