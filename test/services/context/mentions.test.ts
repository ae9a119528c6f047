import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MENTION_LIMITS } from '../../../src/services/context/mentions.ts'
import { findTokens } from '../../../src/services/context/mentionTokens.ts'
import { makePlace, type Place, times } from './support.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

function expand(prompt: string, extra: string | null = null) {
  return place.context().expandPrompt(prompt, extra)
}

/** The text of the block behind the prompt, '' where nothing was attached. */
async function attachedTo(prompt: string): Promise<string> {
  const [first, second, ...rest] = await expand(prompt)
  expect(first).toEqual({ type: 'text', text: prompt })
  expect(rest).toEqual([])
  return second?.type === 'text' ? second.text : ''
}

/** A PNG's head with the given sides; enough for who looks at headers. */
function png(width: number, height: number, bytes = 64): Buffer {
  const image = Buffer.alloc(bytes)
  image.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
  image.writeUInt32BE(width, 16)
  image.writeUInt32BE(height, 20)
  return image
}

describe('a mention', () => {
  test('attaches the file in a second block, named with its path; the prompt stays as typed', async () => {
    place.write({ 'src/a.ts': 'const a = 1\n' })
    const prompt = '  Explain\n\t@src/a.ts  please\r\n'
    expect(await expand(prompt)).toEqual([
      { type: 'text', text: prompt },
      { type: 'text', text: '<file path="src/a.ts">\nconst a = 1\n</file>' },
    ])
  })

  test('several attach in order, in one block; each file once whatever its spelling', async () => {
    place.write({ 'a.txt': 'AAA', 'b.txt': 'BBB' })
    symlinkSync('a.txt', join(place.dir, 'link.txt'))
    expect(await attachedTo(`@b.txt @a.txt @./a.txt @b.txt @link.txt @${place.dir}/a.txt @x/../a.txt`)).toBe(
      '<file path="b.txt">\nBBB\n</file>\n\n<file path="a.txt">\nAAA\n</file>',
    )
  })

  test('stands before what was piped in', async () => {
    place.write({ 'a.txt': 'AAA' })
    expect(await expand('sum up @a.txt', 'PIPED\n')).toEqual([
      { type: 'text', text: 'sum up @a.txt' },
      { type: 'text', text: '<file path="a.txt">\nAAA\n</file>' },
      { type: 'text', text: 'PIPED\n' },
    ])
  })

  test('what was piped in is a block of its own, unless it is blank', async () => {
    expect(await expand('hi', 'PIPED @a.txt')).toEqual([
      { type: 'text', text: 'hi' },
      { type: 'text', text: 'PIPED @a.txt' },
    ])
    expect(await expand('hi', ' \n')).toEqual([{ type: 'text', text: 'hi' }])
  })

  test('`$` patterns and tags of the file stay as they are', async () => {
    place.write({ 'a.txt': "$& $' $1 ${HOME}\n</file>\n</file2>\n" })
    expect(await attachedTo('@a.txt')).toBe('<file3 path="a.txt">\n$& $\' $1 ${HOME}\n</file>\n</file2>\n</file3>')
  })

  test('is not looked for in what is attached or piped in', async () => {
    place.write({ 'a.txt': 'see @b.txt', 'b.txt': 'BBB' })
    expect(await attachedTo('@a.txt')).not.toContain('BBB')
  })
})

describe('what is a mention', () => {
  test.each([
    'me@a.txt',
    'x@a.txt',
    '(@a.txt)',
    '@@a.txt',
    '@',
    '@ a.txt',
    '@missing.txt',
    '@types/node',
    '@"a.txt',
    '@""',
    'a\u200b@a.txt',
  ])('%j is none', async (prompt) => {
    place.write({ 'a.txt': 'AAA' })
    expect(await expand(prompt)).toEqual([{ type: 'text', text: prompt }])
    expect(place.warnings).toEqual([])
  })

  test.each(['@a.txt', 'x\n@a.txt', 'x\t@a.txt\ty', '\u3000@a.txt', '@"a.txt"', '@./a.txt'])(
    '%j is one',
    async (prompt) => {
      place.write({ 'a.txt': 'AAA' })
      expect(await attachedTo(prompt)).toContain('AAA')
    },
  )

  test.each(['.', ',', ';', ':', '!', '?', '...', '?!', ')', '),', '".', '’', '。', '，'])(
    'punctuation behind it (%s) is no part of it',
    async (end) => {
      place.write({ 'a.txt': 'AAA' })
      expect(await attachedTo(`see @a.txt${end} next`)).toBe('<file path="a.txt">\nAAA\n</file>')
    },
  )

  test('the longest path that exists wins', async () => {
    place.write({
      'x,y.txt': 'XY',
      'foo?bar.txt': 'FOOBAR',
      'end.': 'END',
      end: 'NOT',
      'a.txt:3-5': 'COLON',
      'a.txt': 'NOT',
    })
    const text = await attachedTo('@x,y.txt, @foo?bar.txt? @end. @a.txt:3-5')
    expect(text.match(/[A-Z]{2,}/g)).toEqual(['XY', 'FOOBAR', 'END', 'COLON'])
  })

  test('names with blanks go between quotes or behind backslashes', async () => {
    place.write({ 'a b.txt': 'AB', 'c d e.txt': 'CDE', a: 'NOT' })
    expect((await attachedTo('@"a b.txt". @c\\ d\\ e.txt!')).match(/[A-Z]{2,}/g)).toEqual(['AB', 'CDE'])
  })

  test.each([
    ['NFC', 'NFD'],
    ['NFD', 'NFC'],
  ])('a name typed as %s finds the file stored as %s', async (typed, stored) => {
    place.write({ ['é.txt'.normalize(stored)]: 'ACCENT' })
    expect(await attachedTo(`@${'é.txt'.normalize(typed)}`)).toContain('ACCENT')
  })

  test('dots at the end of a sentence are not the parent directory', async () => {
    expect(await expand('wait @... and @.., then')).toHaveLength(1)
  })

  test('paths outside the project and hidden files are attached, since the user typed them', async () => {
    writeFileSync(join(place.home, 'x.md'), 'HOME-X')
    place.write({ 'project/.env': 'DOT-ENV', 'out.txt': 'OUT' })
    const blocks = await place.context('project').expandPrompt(`@~/x.md @.env @../out.txt @${place.dir}/out.txt`, null)
    expect(JSON.stringify(blocks[1])).toMatch(/HOME-X.*DOT-ENV.*OUT/)
    expect(times(JSON.stringify(blocks), '"OUT')).toBe(0)
  })

  test('whatever the prompt is, it is the first block, and no token is found twice', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom(' @a.txt', '@"b c"', ' @x:3 ', '\\ ', '"', '\n'))
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const prompt = parts.join('')
        const tokens = findTokens(prompt)
        expect(tokens.length).toBeLessThanOrEqual(times(prompt, '@'))
        for (const { readings } of tokens) expect(readings.every(({ path }) => path !== '')).toBe(true)
      }),
    )
  })

  test('a long prompt without blanks is searched in linear time', () => {
    expect(findTokens(`@${'a\\ '.repeat(1_000_000)}`)).toEqual([])
    expect(findTokens('@'.repeat(1_000_000))).toEqual([])
    expect(findTokens(`${' @"a'.repeat(200_000)}`).length).toBeGreaterThan(0)
  })
})

describe('lines of a file', () => {
  const lines = Array.from({ length: 12 }, (_, n) => `line ${n + 1}`)

  test.each([
    ['#L3-5', '3-5'],
    ['#L3-L5', '3-5'],
    ['#L5-3', '3-5'],
    [':3-5', '3-5'],
    ['#L4', '4-4'],
    [':4', '4-4'],
    [':4:17', '4-4'],
    ['#L0-2', '1-2'],
    ['#L11-99', '11-12'],
    ['#L3-5,', '3-5'],
  ])('%s gives lines %s', async (suffix, expected) => {
    place.write({ 'a.ts': `${lines.join('\n')}\n` })
    const [from = 0, to = 0] = expected.split('-').map(Number)
    expect(await attachedTo(`@a.ts${suffix}`)).toBe(
      `<file path="a.ts" lines="${expected}">\n${lines.slice(from - 1, to).join('\n')}\n</file>`,
    )
  })

  test('behind a quoted name too', async () => {
    place.write({ 'a b.ts': lines.join('\r\n') })
    expect(await attachedTo('@"a b.ts"#L2-3.')).toBe('<file path="a b.ts" lines="2-3">\nline 2\r\nline 3\r\n</file>')
  })

  test('several ranges of one file are joined; the whole file makes them needless', async () => {
    place.write({ 'a.ts': lines.join('\n') })
    expect(await attachedTo('@a.ts:7 @a.ts:2-3 @a.ts:4-5 @a.ts:12')).toBe(
      [
        '<file path="a.ts" lines="2-5">\nline 2\nline 3\nline 4\nline 5\n</file>',
        '<file path="a.ts" lines="7-7">\nline 7\n</file>',
        '<file path="a.ts" lines="12-12">\nline 12\n</file>',
      ].join('\n'),
    )
    for (const prompt of ['@a.ts:7 @a.ts', '@a.ts @a.ts:7'])
      expect(await attachedTo(prompt)).toBe(`<file path="a.ts">\n${lines.join('\n')}\n</file>`)
  })

  test('a directory has none', async () => {
    place.write({ 'src/a.ts': '' })
    expect(await expand('@src:3 @src#L1-2')).toHaveLength(1)
  })

  test('behind the end say so', async () => {
    place.write({ 'a.ts': 'one\ntwo\n' })
    expect(await attachedTo('@a.ts#L7-9')).toBe(
      '<file path="a.ts" lines="7-9">\n(there is nothing: the file ends with line 2)\n</file>',
    )
  })

  test('far down in a large file are found', async () => {
    place.write({ 'big.log': Array.from({ length: 300_000 }, (_, n) => `entry ${n + 1}\n`).join('') })
    expect(await attachedTo('@big.log:299998-299999')).toBe(
      '<file path="big.log" lines="299998-299999">\nentry 299998\nentry 299999\n</file>',
    )
  })

  test('too many of them are cut', async () => {
    place.write({ 'big.log': 'x'.repeat(99).concat('\n').repeat(10_000) })
    const text = await attachedTo('@big.log:1-9000')
    expect(text.length).toBeLessThan(263_000)
    expect(text).toContain('lines="1-2622"')
    expect(place.warnings).toEqual(['@big.log: lines 1-9000 are cut at 256 KiB.'])
  })
})

describe('what is attached', () => {
  test('an empty file says so', async () => {
    place.write({ 'a.txt': '' })
    expect(await attachedTo('@a.txt')).toBe('<file path="a.txt">\n(empty file)\n</file>')
  })

  test('a directory gives its sorted listing', async () => {
    place.write({ 'src/b.ts': '', 'src/a.ts': '', 'src/.env': '', 'src/sub/x': '' })
    for (const mention of ['@src', '@src/', '@"src"'])
      expect(await attachedTo(mention)).toBe(
        `<directory path="${mention.replaceAll(/[@"]/g, '')}">\n.env\na.ts\nb.ts\nsub/\n</directory>`,
      )
    mkdirSync(join(place.dir, 'empty'))
    expect(await attachedTo('@empty')).toContain('(empty directory)')
    expect(await attachedTo('@.')).toBe('<directory path=".">\nempty/\nsrc/\n</directory>')
  })

  test('a large directory is cut, and said so', async () => {
    place.write(Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`d/${String(n).padStart(3, '0')}`, ''])))
    const text = await attachedTo('@d')
    expect(text).toContain('shown="the first 500 of 700 names"')
    expect(text).toContain('\n499\n</directory>')
    expect(place.warnings).toEqual(['@d: only the first 500 of 700 names are attached.'])
  })

  test('a name with a line end in it stays one line of the listing', async () => {
    place.write({ 'd/a\nb': '' })
    expect(await attachedTo('@d')).toBe('<directory path="d">\na\\nb\n</directory>')
  })

  test('a file over 256 KiB is cut at a character’s end, and said so', async () => {
    place.write({ 'big.txt': `x${'ü'.repeat(200_000)}` })
    const text = await attachedTo('@big.txt')
    expect(text).toMatch(/^<file path="big.txt" shown="the first 256 KiB of 390.6 KiB">\nxü+\n<\/file>$/)
    expect(place.warnings).toEqual(['@big.txt: only the first 256 KiB of 390.6 KiB are attached.'])
  })

  test('a huge sparse file is not read whole', async () => {
    const path = place.write({ 'huge.txt': 'text' })
    truncateSync(path, 50 * 1024 ** 3)
    expect(await attachedTo('@huge.txt')).toContain('(binary file, 51200 MiB: not shown)')
  })

  test.each([
    ['x.bin', randomBytes(5000)],
    ['p.pdf', Buffer.from('%PDF-1.7\ntext text text')],
    ['z.zip', Buffer.from('PK\x03\x04text', 'latin1')],
    ['l.txt', Buffer.from(Array.from({ length: 300 }, () => 0xff))],
  ])('of %s only name and size', async (name, bytes) => {
    place.write({ [name]: bytes })
    expect(await attachedTo(`@${name}`)).toMatch(
      new RegExp(`^<file path="${name}">\n\\(binary file, [\\d.]+ (bytes|KiB): not shown\\)\n</file>$`),
    )
  })

  test('UTF-16 with its mark is text, and so is Latin-1', async () => {
    place.write({
      'a.txt': Buffer.from('\ufeffgrün', 'utf16le'),
      'b.txt': Buffer.from('viel Gr\xfcn hier drau\xdfen', 'latin1'),
    })
    expect(await attachedTo('@a.txt @b.txt')).toBe(
      '<file path="a.txt">\ngrün\n</file>\n\n<file path="b.txt">\nviel Gr\ufffdn hier drau\ufffden\n</file>',
    )
  })

  test.each([
    ['image/png', png(10, 20)],
    ['image/jpeg', Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF', 'latin1')],
    ['image/gif', Buffer.from('GIF89a\x01\0\x01\0', 'latin1')],
    ['image/webp', Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1')],
  ])('%s becomes an image block, by its bytes and not its name', async (media_type, bytes) => {
    place.write({ 'picture.txt': bytes })
    expect(await expand('see @picture.txt', 'PIPED')).toEqual([
      { type: 'text', text: 'see @picture.txt' },
      {
        type: 'text',
        text: `<file path="picture.txt">\n(${media_type}, ${bytes.length} bytes: in an image block of this message)\n</file>`,
      },
      { type: 'text', text: 'PIPED' },
      { type: 'image', source: { type: 'base64', media_type, data: bytes.toString('base64') } },
    ])
  })

  test('an image that the API would refuse is only named', async () => {
    place.write({ 'large.png': png(10, 10, 4_000_000), 'wide.png': png(9000, 10) })
    const text = await attachedTo('@large.png @wide.png')
    expect(text).toContain('(image/png, 3.8 MiB: too large to be shown)')
    expect(text).toContain('(image/png, 64 bytes: 9000 × 10 pixels, too many to be shown)')
    expect(place.warnings).toEqual([
      '@large.png: an image may have 3.8 MiB, so it is only named.',
      '@wide.png: an image may have 8000 pixels a side, so it is only named.',
    ])
  })

  test('a FIFO, a device and a dangling link stay as typed, with a warning and without waiting', async () => {
    execFileSync('mkfifo', [join(place.dir, 'fifo')])
    symlinkSync('nowhere', join(place.dir, 'dangling'))
    expect(await attachedTo('@fifo @/dev/zero @dangling')).toBe('')
    expect(place.warnings).toEqual([
      '@fifo was not attached: it is not a regular file.',
      '@/dev/zero was not attached: it is not a regular file.',
      '@dangling was not attached: it is a link to nothing.',
    ])
  })

  test('what may not be read stays as typed, with a warning', async () => {
    const { geteuid, seteuid } = process
    place.write({ 'secret.txt': 'SECRET', 'locked/x': '', 'a.txt': 'AAA' })
    execFileSync('chmod', ['-R', 'go+rX', join(place.dir, '..')])
    chmodSync(join(place.dir, 'secret.txt'), 0)
    chmodSync(join(place.dir, 'locked'), 0)
    // Root may read everything.
    const asRoot = geteuid?.() === 0
    if (asRoot) seteuid?.(65534)
    try {
      expect(await attachedTo('@secret.txt @locked @locked/x @a.txt')).toBe('<file path="a.txt">\nAAA\n</file>')
    } finally {
      if (asRoot) seteuid?.(0)
    }
    expect(place.warnings).toEqual([
      '@secret.txt was not attached: permission denied.',
      '@locked was not attached: permission denied.',
    ])
  })
})

describe('many mentions', () => {
  test('two thousand: the first hundred are attached, the rest is counted on stderr', async () => {
    const names = Array.from({ length: 2000 }, (_, n) => `f${n}.txt`)
    place.write(Object.fromEntries(names.map((name) => [name, `<${name}>`])))
    const prompt = names.map((name) => `@${name}`).join(' ')
    const text = await attachedTo(prompt)
    expect(text.match(/<f\d+\.txt>/g)).toEqual(names.slice(0, MENTION_LIMITS.files).map((name) => `<${name}>`))
    expect(place.warnings).toEqual([
      'Not attached, since one prompt takes 100 files and 512 KiB of text: @f100.txt, @f101.txt, @f102.txt and 1897 more. They stay as typed.',
    ])
  })

  test('two thousand of one file are one', async () => {
    place.write({ 'a.txt': 'AAA' })
    expect(times(await attachedTo('@a.txt '.repeat(2000)), 'AAA')).toBe(1)
    expect(place.warnings).toEqual([])
  })

  test('together they have a limit; what does not fit is named', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `f${n}.txt`)
    place.write(Object.fromEntries(names.map((name) => [name, 'x'.repeat(100 * 1024)])))
    const text = await attachedTo(names.map((name) => `@${name}`).join(' '))
    expect(Buffer.byteLength(text)).toBeLessThan(MENTION_LIMITS.textBytes + 1000)
    expect(text.match(/path="f\d+/g)).toHaveLength(5)
    expect(place.warnings).toEqual([
      'Not attached, since one prompt takes 100 files and 512 KiB of text: @f5.txt, @f6.txt, @f7.txt and 32 more. They stay as typed.',
    ])
  })

  test('images have a limit of their own', async () => {
    place.write(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}.png`, png(1, 1)])))
    const blocks = await expand(Array.from({ length: 30 }, (_, n) => `@${n}.png`).join(' '))
    expect(blocks.filter(({ type }) => type === 'image')).toHaveLength(MENTION_LIMITS.images)
    expect(place.warnings[0]).toMatch(/^Not attached, .*@20\.png, @21\.png, @22\.png and 7 more/)
  })
})
