import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { importPieces } from '../../../src/services/context/importLines.ts'
import { makePlace, orderOf, type Place, times } from './support.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

/** What the system prompt says of AGENTS.md in the place's directory. */
async function agentsText(options = {}): Promise<string> {
  const system = await place.system('', options)
  return system.split(`Instructions from ${place.dir}/AGENTS.md:\n`)[1] ?? ''
}

describe('a line that is exactly @<path>', () => {
  test('is replaced by that file, in its place', async () => {
    place.write({ 'AGENTS.md': 'before\n@docs/a.md\nafter\n', 'docs/a.md': 'one\ntwo\n' })
    expect(await agentsText()).toBe('before\none\ntwo\nafter\n')
  })

  test('is relative to the importing file, at each depth', async () => {
    place.write({
      'AGENTS.md': '@docs/a.md\n',
      'docs/a.md': 'A\n@deep/b.md\n@../top.md\n',
      'docs/deep/b.md': 'B\n@./c.md\n',
      'docs/deep/c.md': 'C\n',
      'top.md': 'TOP\n',
    })
    expect(await agentsText()).toBe('A\nB\nC\nTOP\n')
  })

  test('may have spaces, tabs and a CR at its end, and blanks inside', async () => {
    place.write({
      'AGENTS.md': '@a.md  \n@b.md\r\n@my docs/c d.md\t\nend',
      'a.md': 'A',
      'b.md': 'B',
      'my docs/c d.md': 'C',
    })
    expect(await agentsText()).toBe('A\nB\r\nC\nend')
    expect(place.warnings).toEqual([])
  })

  test('does not glue the imported file to what follows', async () => {
    place.write({ 'AGENTS.md': '@a.md\n@b.md', 'a.md': 'no line end', 'b.md': 'last' })
    expect(await agentsText()).toBe('no line end\nlast')
  })

  test('anything else on the line makes it text', async () => {
    const lines = [
      ' @a.md',
      'see @a.md',
      '- @a.md',
      '> @a.md',
      '`@a.md`',
      '@ a.md',
      '@',
      'me@a.md',
      '\t@a.md',
      '    @a.md',
    ]
    place.write({ 'AGENTS.md': lines.join('\n'), 'a.md': 'IMPORTED' })
    expect(await agentsText()).toBe(lines.join('\n'))
    expect(place.warnings).toEqual([])
  })

  test.each(['@missing.md', '@"a.md"', '@a.md#sec', '@a.md:', '@a.md.', '@types/node', '@deprecated', '@a\0b'])(
    '%j names no file: the line stays and a warning says so',
    async (line) => {
      place.write({ 'AGENTS.md': `before\n${line}\nafter`, 'a.md': 'IMPORTED' })
      expect(await agentsText({})).toBe(line.includes('\0') ? '' : `before\n${line}\nafter`)
      expect(place.warnings).toEqual(
        line.includes('\0')
          ? ['AGENTS.md was left out: it is not a text file.']
          : [`AGENTS.md, line 2: ${line} was not imported: there is no such file. The line stays as it is.`],
      )
    },
  )

  test('a directory, a dangling link and a binary file stay as lines too', async () => {
    place.write({ 'AGENTS.md': '@dir\n@dangling\n@x.bin\n@.', 'dir/x': '', 'x.bin': Buffer.from([0, 1, 2]) })
    symlinkSync('nowhere', join(place.dir, 'dangling'))
    expect(await agentsText()).toBe('@dir\n@dangling\n@x.bin\n@.')
    expect(place.warnings).toEqual([
      'AGENTS.md, line 1: @dir was not imported: it is a directory. The line stays as it is.',
      'AGENTS.md, line 2: @dangling was not imported: it is a link to nothing. The line stays as it is.',
      'x.bin was left out: it is not a text file.',
      'AGENTS.md, line 4: @. was not imported: it is a directory. The line stays as it is.',
    ])
  })
})

describe('code fences', () => {
  test.each([
    ['```', '```'],
    ['~~~', '~~~'],
    ['````md', '`````'],
    ['   ``` js title="x"', '   ```  '],
    ['~~~ `x`', '~~~~'],
  ])('between %j and %j a line is text', async (open, close) => {
    place.write({ 'AGENTS.md': `${open}\n@a.md\n${close}\n@a.md\n`, 'a.md': 'A' })
    expect(await agentsText()).toBe(`${open}\n@a.md\n${close}\nA\n`)
  })

  test.each([
    ['``` inline ```', 'code within a line'],
    ['    ```', 'indented code'],
    ['``', 'two marks'],
    ['text ```', 'a fence that does not begin the line'],
  ])('%j opens none (%s)', async (line) => {
    place.write({ 'AGENTS.md': `${line}\n@a.md\n`, 'a.md': 'A' })
    expect(await agentsText()).toBe(`${line}\nA\n`)
  })

  test.each(['~~~', '``', '``` x', '    ```'])('%j does not close one of ```', async (line) => {
    place.write({ 'AGENTS.md': `\`\`\`\n${line}\n@a.md\n`, 'a.md': 'A' })
    expect(await agentsText()).toBe(`\`\`\`\n${line}\n@a.md\n`)
  })

  test('a shorter fence does not close a longer one', async () => {
    place.write({ 'AGENTS.md': '````\n```\n@a.md\n````\n@a.md\n', 'a.md': 'A' })
    expect(await agentsText()).toBe('````\n```\n@a.md\n````\nA\n')
  })

  test('a fence that an imported file leaves open ends with that file', async () => {
    place.write({ 'AGENTS.md': '@a.md\n@b.md\n', 'a.md': '```\n@b.md\n', 'b.md': 'B' })
    expect(await agentsText()).toBe('```\n@b.md\nB\n')
  })

  test('whatever a text is, its pieces are the text', () => {
    const line = fc.oneof(fc.constantFrom('```', '~~~', '@a.md', '@b c.md ', '', '    ```', '````x'), fc.string())
    const text = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')))
      .map((lines) => lines.map(([content, end]) => content + end).join(''))
    fc.assert(
      fc.property(
        text,
        (given) =>
          importPieces(given)
            .map((piece) => piece.text)
            .join('') === given,
      ),
    )
  })
})

describe('each file once', () => {
  test('in a diamond the shared file stands at its first place', async () => {
    place.write({ 'AGENTS.md': '@b.md\n@c.md\n', 'b.md': 'B\n@d.md\n', 'c.md': 'C\n@./x/../d.md\nC2\n', 'd.md': 'D\n' })
    expect(await agentsText()).toBe('B\nD\nC\nC2\n')
    expect(place.warnings).toEqual([])
  })

  test('a circle and a self import end', async () => {
    place.write({
      'AGENTS.md': 'TOP\n@a.md\n@AGENTS.md\n',
      'a.md': 'A\n@b.md\n',
      'b.md': 'B\n@a.md\n@AGENTS.md\n@b.md\n',
    })
    expect(await agentsText()).toBe('TOP\nA\nB\n')
    expect(place.warnings).toEqual([])
  })

  test('a link is the file it leads to', async () => {
    place.write({ 'AGENTS.md': '@a.md\n@link.md\nend', 'a.md': 'A' })
    symlinkSync('a.md', join(place.dir, 'link.md'))
    expect(await agentsText()).toBe('A\nend')
  })

  test('a file that two directories import stands in the outer one', async () => {
    place.write({ 'AGENTS.md': '@shared.md\n', 'shared.md': 'SHARED', 'a/AGENTS.md': 'INNER\n@../shared.md\n' })
    const system = await place.system('a')
    expect(times(system, 'SHARED')).toBe(1)
    expect(orderOf(system, 'SHARED', 'INNER')).toEqual(['SHARED', 'INNER'])
  })

  test('an import of instructions that have their own place does not move them', async () => {
    place.write({ 'AGENTS.md': 'OUTER\n@a/AGENTS.md\n', 'a/AGENTS.md': 'INNER\n@../AGENTS.md\n' })
    const system = await place.system('a')
    expect([times(system, 'OUTER'), times(system, 'INNER')]).toEqual([1, 1])
    expect(orderOf(system, 'OUTER', 'INNER')).toEqual(['OUTER', 'INNER'])
  })
})

describe('depth and size', () => {
  test('five levels are followed, the sixth stays as a line', async () => {
    const chain = Object.fromEntries(
      Array.from({ length: 50 }, (_, n) => [`${n + 1}.md`, `LEVEL-${n + 1}.\n@${n + 2}.md\n`]),
    )
    place.write({ ...chain, 'AGENTS.md': '@1.md\n' })
    expect(await agentsText()).toBe('LEVEL-1.\nLEVEL-2.\nLEVEL-3.\nLEVEL-4.\nLEVEL-5.\n@6.md\n')
    expect(place.warnings).toEqual([
      '5.md, line 2: @6.md was not imported: imports may be nested 5 deep. The line stays as it is.',
    ])
  })

  test('an import of 5 MB is cut, what follows it stays', async () => {
    place.write({ 'AGENTS.md': '@big.md\nLAST\n', 'big.md': 'x'.repeat(5_000_000) })
    const text = await agentsText()
    expect(text).toMatch(/x\n\[… cut: only the first 256 KiB of this file are shown\]\nLAST\n$/)
    expect(text.length).toBeLessThan(263_000)
    expect(place.warnings).toEqual([
      'big.md is too long: only its first 256 KiB of 4.8 MiB are part of the instructions. Shorten it.',
    ])
  })

  test('a thousand large imports are bounded', async () => {
    const names = Array.from({ length: 1000 }, (_, n) => `${n}.md`)
    place.write(Object.fromEntries(names.map((name) => [name, 'x'.repeat(100_000)])))
    place.write({ 'AGENTS.md': names.map((name) => `@${name}\n`).join('') })
    expect(Buffer.byteLength(await agentsText())).toBeLessThan(520 * 1024)
    expect(place.warnings.some((warning) => warning.includes('import too much'))).toBe(true)
  })
})

describe('what an untrusted project may import', () => {
  const refused = (line: number, target: string) =>
    `project/AGENTS.md, line ${line}: @${target} was not imported: it is outside the project, which needs a trusted directory (agent trust). The line stays as it is.`

  const projectText = async (trusted = false): Promise<string> => {
    const system = await place.system('project', { trusted })
    return system.split('project/AGENTS.md:\n')[1] ?? ''
  }

  test('in a repository: all of it, hidden files too, by any spelling', async () => {
    place.write({
      'project/AGENTS.md': `@.github/a.md\n@${place.dir}/project/b.md\n@sub/../c.md`,
      'project/.github/a.md': 'A',
      'project/b.md': 'B',
      'project/c.md': 'C',
    })
    place.git('project', 'init', '-q')
    expect(await projectText()).toBe('A\nB\nC')
    expect(place.warnings).toEqual([])
  })

  test('in a repository: nothing outside of it, by path or by link, until the directory is trusted', async () => {
    place.write({
      'project/AGENTS.md': '@../out.md\n@link.md\n@dir/out2.md',
      'out.md': 'OUT-1',
      'out2.md': 'OUT-2',
      'o/out2.md': 'OUT-3',
    })
    place.git('project', 'init', '-q')
    symlinkSync('../out2.md', join(place.dir, 'project/link.md'))
    symlinkSync('../o', join(place.dir, 'project/dir'))
    expect(await projectText()).toBe('@../out.md\n@link.md\n@dir/out2.md')
    expect(place.warnings).toEqual([refused(1, '../out.md'), refused(2, 'link.md'), refused(3, 'dir/out2.md')])
    expect(await projectText(true)).toBe('OUT-1\nOUT-2\nOUT-3')
  })

  test('outside a repository: relative paths, also upwards, but not up and through what is hidden', async () => {
    place.write({
      'project/AGENTS.md': '@../out.md\n@.own/a.md\n@../.ssh/id\n@../.env\n@../x/.y/z\n@link.md\n@../.hid/back.md',
      'out.md': 'OUT',
      'project/.own/a.md': 'OWN',
      '.ssh/id': 'KEY-1',
      '.env': 'KEY-2',
      'x/.y/z': 'KEY-3',
      'project/plain.md': 'PLAIN',
    })
    mkdirSync(join(place.dir, '.hid'))
    symlinkSync('../.ssh/id', join(place.dir, 'project/link.md'))
    symlinkSync('../project/plain.md', join(place.dir, '.hid/back.md'))
    expect(await projectText()).toBe('OUT\nOWN\n@../.ssh/id\n@../.env\n@../x/.y/z\n@link.md\n@../.hid/back.md')
    expect(place.warnings).toEqual([
      refused(3, '../.ssh/id'),
      refused(4, '../.env'),
      refused(5, '../x/.y/z'),
      refused(6, 'link.md'),
      refused(7, '../.hid/back.md'),
    ])
    expect(await projectText(true)).toBe('OUT\nOWN\nKEY-1\nKEY-2\nKEY-3\n\nPLAIN'.replace('\n\n', '\n'))
  })

  test('outside a repository: nothing by an absolute path or from the home directory', async () => {
    writeFileSync(join(place.home, 'x.md'), 'HOME-X')
    place.write({ 'project/AGENTS.md': `@~/x.md\n@${place.dir}/out.md\n@~`, 'out.md': 'OUT' })
    expect(await projectText()).toBe(`@~/x.md\n@${place.dir}/out.md\n@~`)
    expect(place.warnings).toHaveLength(3)
    expect(await projectText(true)).toBe('HOME-X\nOUT\n@~')
  })

  test('a nested import counts from the file it stands in', async () => {
    place.write({
      'project/AGENTS.md': '@../lib/a.md\n',
      'lib/a.md': 'A\n@.b.md\n@../.c.md\n',
      'lib/.b.md': 'B',
      '.c.md': 'C',
    })
    expect(await projectText()).toBe('A\nB\n@../.c.md\n')
  })

  test('instructions that are a link out of the repository need trust like an import', async () => {
    place.write({ 'project/x': '', 'private.md': 'PRIVATE' })
    place.git('project', 'init', '-q')
    symlinkSync('../private.md', join(place.dir, 'project/AGENTS.md'))
    expect(await place.system('project')).not.toContain('PRIVATE')
    expect(place.warnings).toEqual([
      'project/AGENTS.md was left out: it is a link to private.md, which needs a trusted directory (agent trust).',
    ])
    expect(await place.system('project', { trusted: true })).toContain('PRIVATE')
  })
})
