import { execFileSync } from 'node:child_process'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { wellFormed } from '../../../src/machines/messages.ts'
import { type Workspace, workspace } from './fileSupport.ts'

let w: Workspace
beforeEach(async () => {
  w = await workspace()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await w.remove()
})

const put = (name: string, content: string | Uint8Array) => writeFile(join(w.dir, name), content)
const read = (path: string, more: object = {}) => w.call('read_file', { path, ...more })

/** One pixel, transparent. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('text', () => {
  test('a whole file comes as it is', async () => {
    await put('a.txt', 'one\n\n  three\n')
    expect(await read('a.txt')).toEqual({ kind: 'ok', content: 'one\n\n  three\n' })
  })

  test('a missing final newline stays missing', async () => {
    await put('a.txt', 'one\ntwo')
    expect(await read('a.txt')).toEqual({ kind: 'ok', content: 'one\ntwo' })
  })

  test('of white space alone says that it is', async () => {
    await put('a.txt', '\n \n')
    expect(await read('a.txt')).toEqual({ kind: 'ok', content: '\n \n\n[2 lines of nothing but white space.]' })
    await put('b.txt', '\t')
    expect(await read('b.txt')).toEqual({ kind: 'ok', content: '\t\n\n[1 line of nothing but white space.]' })
    expect(await read('a.txt', { limit: 1 })).toEqual({
      kind: 'ok',
      content: '     1\t\n\n[Lines 1-1 of 2 shown; read on with offset 2.]',
    })
  })

  test('offset and limit give numbered lines and say how to read on', async () => {
    await put('a.txt', 'a\nb\nc\nd\n')
    expect(await read('a.txt', { offset: 2, limit: 2 })).toEqual({
      kind: 'ok',
      content: '     2\tb\n     3\tc\n\n[Lines 2-3 of 4 shown; read on with offset 4.]',
    })
    expect(await read('a.txt', { offset: 3 })).toEqual({ kind: 'ok', content: '     3\tc\n     4\td\n' })
    expect(await read('a.txt', { limit: 9 })).toEqual({
      kind: 'ok',
      content: '     1\ta\n     2\tb\n     3\tc\n     4\td\n',
    })
  })

  test('offset 0 is the first line, since many models count so', async () => {
    await put('a.txt', 'a\nb\n')
    expect(await read('a.txt', { offset: 0, limit: 1 })).toEqual({
      kind: 'ok',
      content: '     1\ta\n\n[Lines 1-1 of 2 shown; read on with offset 2.]',
    })
  })

  test('an offset beyond the end is an error that says how long the file is', async () => {
    await put('a.txt', 'a\nb\n')
    expect(await read('a.txt', { offset: 3 })).toEqual({
      kind: 'error',
      content: 'a.txt has 2 lines; offset 3 is beyond its end.',
    })
  })

  test('an empty file says so', async () => {
    await put('a.txt', '')
    expect(await read('a.txt')).toEqual({ kind: 'ok', content: 'a.txt is empty.' })
    await put('mark.txt', '\uFEFF')
    expect(await read('mark.txt')).toEqual({ kind: 'ok', content: 'mark.txt is empty.' })
  })

  test('neither byte-order mark nor CR is shown', async () => {
    await put('a.cs', '\uFEFFusing A;\r\nX\r\n')
    expect(await read('a.cs')).toEqual({ kind: 'ok', content: 'using A;\nX\n' })
  })

  test('a file whose lines end with CR alone has lines', async () => {
    await put('mac.txt', 'a\rb\rc')
    expect(await read('mac.txt', { offset: 2, limit: 1 })).toEqual({
      kind: 'ok',
      content: '     2\tb\n\n[Lines 2-2 of 3 shown; read on with offset 3.]',
    })
  })

  test('a CR that ends a piece of the stream is still the line ending it is', async () => {
    const line = 'x'.repeat(1022)
    await put('a.txt', `${'y'.repeat(256 * 1024 - 1)}\r\n${line}\r\n`)
    expect(await read('a.txt', { offset: 2 })).toEqual({ kind: 'ok', content: `     2\t${line}\n` })
  })

  test('a character that lies across two pieces of the stream stays whole', async () => {
    await put('a.txt', `${'y'.repeat(256 * 1024 - 4)}\n€€€€\n`)
    expect(await read('a.txt', { offset: 2 })).toEqual({ kind: 'ok', content: '     2\t€€€€\n' })
  })
})

describe('bounds', () => {
  test('2,000 lines are shown by default', async () => {
    await put('a.txt', Array.from({ length: 2500 }, (_, n) => `${n + 1}\n`).join(''))
    const { content } = await read('a.txt')
    expect(content).toMatch(/^1\n2\n[\d\n]*\n1999\n2000\n\n\[Lines 1-2000 of 2500 shown; read on with offset 2001\.\]$/)
  })

  test('a result stays under the 30,000 characters beyond which the model gets a preview, and reading on misses no line', async () => {
    const lines = Array.from({ length: 700 }, (_, n) => `${n} ${'é'.repeat(95)}`)
    await put('a.txt', lines.join('\n'))
    const shown: string[] = []
    for (let offset = 1; offset <= 700; ) {
      const { content } = await read('a.txt', { offset, limit: 100_000 })
      const text = String(content)
      expect(text.length).toBeLessThan(30_000)
      const part = text.split('\n').flatMap((line) => /^ *\d+\t(.*)$/.exec(line)?.[1] ?? [])
      shown.push(...part)
      offset = Number(/offset (\d+)/.exec(text)?.[1] ?? 701)
    }
    expect(shown).toEqual(lines)
  })

  test.each([0, 1])('a long line of emoji is cut between characters (shift %i)', async (shift) => {
    await put('a.txt', `${'x'.repeat(shift)}${'😀'.repeat(5000)}\nnext\n`)
    const { content } = await read('a.txt')
    const [line, next, , note] = String(content).split('\n')
    expect(line).toBe('x'.repeat(shift) + '😀'.repeat(1000 - shift))
    expect(next).toBe('next')
    expect(note).toBe('[Line 1 is cut after 2000 characters; see the rest with bash: sed -n 1p <file> | cut -c 2001-.]')
    expect(wellFormed(content)).toBe(content)
  })

  test('a line of exactly 2,000 characters is whole, also with CRLF', async () => {
    await put('a.txt', `${'€'.repeat(2000)}\r\n`)
    expect(await read('a.txt')).toEqual({ kind: 'ok', content: `${'€'.repeat(2000)}\n` })
  })

  test('a file of 3 GB is judged by its beginning', async () => {
    await put('big.log', 'first\nsecond\n')
    await truncate(join(w.dir, 'big.log'), 3 * 1024 ** 3)
    const before = process.memoryUsage().rss
    expect(await read('big.log', { limit: 1 })).toEqual({
      kind: 'error',
      content: 'big.log cannot be shown as text because it is binary; look into it with bash (file, xxd, strings).',
    })
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 ** 2)
  })

  test('a large file is read as far as is shown', async () => {
    await put('big.log', 'line\n'.repeat(5_000_000))
    expect(await read('big.log', { limit: 2 })).toEqual({
      kind: 'ok',
      content: '     1\tline\n     2\tline\n\n[Lines 1-2 shown; read on with offset 3.]',
    })
    expect(await read('big.log', { offset: 5_000_000 })).toEqual({ kind: 'ok', content: '5000000\tline\n' })
    expect([...w.env.seen.values()].map(({ kind }) => kind)).toEqual(['version'])
  })
})

describe('what is no text', () => {
  test('binary and UTF-16 are refused with what to do instead', async () => {
    await put('a.bin', Uint8Array.from([1, 0, 2]))
    await put('w.txt', Buffer.from('\uFEFFhello', 'utf16le'))
    expect(await read('a.bin')).toEqual({
      kind: 'error',
      content: 'a.bin cannot be shown as text because it is binary; look into it with bash (file, xxd, strings).',
    })
    expect(await read('w.txt')).toEqual({
      kind: 'error',
      content: 'w.txt cannot be shown as text because it is UTF-16; convert it with bash: iconv -f UTF-16 -t UTF-8.',
    })
  })

  test('a NUL far into a text is shown as a sign for it', async () => {
    await put('a.txt', `${'line\n'.repeat(100_000)}a\0b\n`)
    expect(await read('a.txt', { offset: 100_001 })).toEqual({ kind: 'ok', content: '100001\ta\u2400b\n' })
  })

  test('text in another encoding is shown with a note', async () => {
    await put('l.txt', Buffer.from('caf\xe9\n', 'latin1'))
    expect(await read('l.txt')).toEqual({
      kind: 'ok',
      content:
        'caf\uFFFD\n\n[Not valid UTF-8: bytes that do not decode are shown as \uFFFD, and edit_file refuses the file.]',
    })
  })

  test('a named pipe, a device, a socket and a directory are refused at once', async () => {
    execFileSync('mkfifo', [join(w.dir, 'p')])
    await symlink('p', join(w.dir, 'to-p'))
    await mkdir(join(w.dir, 'd'))
    const server = createServer().listen(join(w.dir, 's'))
    await new Promise((resolve) => server.once('listening', resolve))
    expect(await read('p')).toEqual({ kind: 'error', content: 'p cannot be read because it is a named pipe.' })
    expect(await read('to-p')).toEqual({ kind: 'error', content: 'to-p cannot be read because it is a named pipe.' })
    expect(await read('/dev/zero')).toEqual({
      kind: 'error',
      content: '/dev/zero cannot be read because it is a device.',
    })
    expect(await read('s')).toEqual({ kind: 'error', content: 's cannot be read because it is a socket.' })
    expect(await read('d')).toEqual({
      kind: 'error',
      content: 'd cannot be read because it is a directory. List it with glob or bash (ls).',
    })
    await new Promise((resolve) => server.close(resolve))
  })

  test.runIf(process.platform === 'linux')(
    'kernel files of no size have content, and none of them holds the call',
    async () => {
      const { content } = await read('/proc/self/status')
      expect(content).toMatch(/^Name:\t/)
      const kmsg = await read('/proc/kmsg')
      expect(['ok', 'error']).toContain(kmsg.kind)
      const stdin = await read('/dev/stdin')
      expect(['ok', 'error']).toContain(stdin.kind)
    },
  )

  test('PNG, JPEG, GIF and WebP are known by their first bytes, not their name', async () => {
    const images = {
      'image/png': PNG,
      'image/jpeg': Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'),
      'image/gif': Buffer.from('47494638396101000100800000000000ffffff2c00000000010001000002024401003b', 'hex'),
      'image/webp': Buffer.from('524946461a000000574542505650384c0d0000002f00000010071011118888fe0700', 'hex'),
    }
    for (const [media_type, bytes] of Object.entries(images)) {
      await put('picture.txt', bytes)
      expect(await read('picture.txt')).toEqual({
        kind: 'ok',
        content: [{ type: 'image', source: { type: 'base64', media_type, data: bytes.toString('base64') } }],
      })
    }
  })

  test('an image the API would refuse for ever after is not sent', async () => {
    await put('large.png', Buffer.concat([PNG, Buffer.alloc(4_000_000)]))
    expect(await read('large.png')).toEqual({
      kind: 'error',
      content:
        'large.png is too large an image (4,000,070 bytes, at most 3,932,160). Scale a copy down with bash and read that.',
    })
    const wide = Buffer.from(PNG)
    wide.writeUInt32BE(8001, 16)
    await put('wide.png', wide)
    expect(await read('wide.png')).toEqual({
      kind: 'error',
      content:
        'wide.png is too large an image (8001×1 pixels, at most 8000 a side). Scale a copy down with bash and read that.',
    })
  })
})

describe('reading that is interrupted', () => {
  test('ends', async () => {
    await put('a.txt', 'x')
    w.env.signal = AbortSignal.abort()
    expect(await read('a.txt')).toEqual({ kind: 'error', content: 'read_file was interrupted before it ended.' })
  })
})

describe('paths', () => {
  test('~ is the home directory', async () => {
    vi.stubEnv('HOME', w.dir)
    await put('x.txt', 'home\n')
    expect(await read('~/x.txt')).toEqual({ kind: 'ok', content: 'home\n' })
  })

  test('a missing file names those it may have been', async () => {
    await mkdir(join(w.dir, 'src'))
    await put('src/readFile.ts', '')
    await put('src/other.ts', '')
    expect(await read('src/readfile.ts')).toEqual({
      kind: 'error',
      content: `src/readfile.ts does not exist. Did you mean ${join(w.dir, 'src/readFile.ts')}?`,
    })
    expect(await read('src/readFile.js')).toEqual({
      kind: 'error',
      content: `src/readFile.js does not exist. Did you mean ${join(w.dir, 'src/readFile.ts')}?`,
    })
    expect(await read('src/zzz.md')).toEqual({
      kind: 'error',
      content: 'src/zzz.md does not exist. Find it with glob.',
    })
    expect(await read('lib/deep/a.ts')).toEqual({
      kind: 'error',
      content: `lib/deep/a.ts does not exist. The directory ${join(w.dir, 'lib')} does not exist.`,
    })
  })

  test('a link to what is not there says so', async () => {
    await symlink('elsewhere.txt', join(w.dir, 'link'))
    expect(await read('link')).toEqual({
      kind: 'error',
      content: 'link does not exist. It is a symbolic link to elsewhere.txt, which is not there.',
    })
  })

  test('a blank before a name is part of it, also in what is said', async () => {
    await put('a.txt', 'x')
    expect(await read(' a.txt')).toEqual({
      kind: 'error',
      content: ` a.txt does not exist. Did you mean ${join(w.dir, 'a.txt')}?`,
    })
  })

  test('a path through a file, a name that is too long and links in a circle are errors with the reason', async () => {
    await put('f', 'x')
    await symlink('b', join(w.dir, 'a'))
    await symlink('a', join(w.dir, 'b'))
    expect(await read('f/x')).toEqual({
      kind: 'error',
      content: 'f/x cannot be read because a part of its path is a file, not a directory.',
    })
    expect(await read('n'.repeat(300))).toEqual({
      kind: 'error',
      content: `${'n'.repeat(300)} cannot be read because the name is too long (255 bytes a part on most file systems).`,
    })
    expect(await read('a')).toEqual({
      kind: 'error',
      content: 'a cannot be read because its symbolic links go round in circles.',
    })
  })
})
