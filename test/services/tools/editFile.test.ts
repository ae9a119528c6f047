import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, readFile, readlink, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Workspace, workspace } from './fileSupport.ts'

let w: Workspace
beforeEach(async () => {
  w = await workspace()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await w.remove()
})

const at = (name: string) => join(w.dir, name)
const put = (name: string, content: string | Uint8Array) => writeFile(at(name), content)
const text = (name: string) => readFile(at(name), 'utf8')

function edit(path: string, old_text: string, new_text: string, more: object = {}) {
  return w.call('edit_file', { path, old_text, new_text, ...more })
}

/** Edits a file of that content and gives what it then holds. */
async function edited(content: string, old_text: string, new_text: string, more: object = {}): Promise<string> {
  w.env.seen.clear()
  await put('f', content)
  const result = await edit('f', old_text, new_text, more)
  if (result.kind === 'error') throw new Error(result.content)
  return text('f')
}

/** Tries to edit a file of that content, which must stay as it is, and gives the error. */
async function refused(content: string | Uint8Array, old_text: string, new_text: string): Promise<string> {
  await put('f', content)
  const result = await edit('f', old_text, new_text)
  expect(await readFile(at('f'))).toEqual(Buffer.from(content))
  expect(await w.names()).toEqual(['f'])
  expect(result.kind).toBe('error')
  return String(result.content)
}

describe('an edit', () => {
  test('replaces the one place and says where', async () => {
    await put('a.ts', 'one\ntwo\nthree\n')
    expect(await edit('a.ts', 'two', '2')).toEqual({ kind: 'ok', content: 'Replaced 1 place in a.ts (line 2).' })
    expect(await text('a.ts')).toBe('one\n2\nthree\n')
  })

  test('takes $ patterns as text', async () => {
    const tricky = "$& $$ $` $' $1 ${HOME} \\1 $<n>"
    expect(await edited('x=OLD\ntail', 'OLD', tricky)).toBe(`x=${tricky}\ntail`)
    expect(await edited('OLD OLD', 'OLD', tricky, { replace_all: true })).toBe(`${tricky} ${tricky}`)
  })

  test('takes regular expressions as text', async () => {
    expect(await edited('a.c abc', 'a.c', '[x]')).toBe('[x] abc')
  })

  test('replaces every place with replace_all, from the start and without overlaps', async () => {
    await put('f', 'x=1\nx=1\n')
    expect(await edit('f', 'x=1', 'x=2', { replace_all: true })).toEqual({
      kind: 'ok',
      content: 'Replaced 2 places in f (lines 1, 2).',
    })
    expect(await text('f')).toBe('x=2\nx=2\n')
    expect(await edited('aaaaa', 'aa', 'b', { replace_all: true })).toBe('bba')
    expect(await edited('abc\n d e\n', ' ', '', { replace_all: true })).toBe('abc\nde\n')
  })

  test('can delete', async () => {
    expect(await edited('a\nb\nc\n', 'b\n', '')).toBe('a\nc\n')
  })

  test('leaves a missing final newline missing', async () => {
    expect(await edited('a\nb', 'b', 'B')).toBe('a\nB')
    expect(await edited('a\r\nb', 'b', 'B\nC')).toBe('a\r\nB\r\nC')
  })

  test('keeps mode and symlink and leaves no other file', async () => {
    await mkdir(at('real'))
    await put('real/conf', 'old')
    await chmod(at('real/conf'), 0o750)
    await symlink('real/conf', at('conf'))
    await edit('conf', 'old', 'new')
    expect(await readlink(at('conf'))).toBe('real/conf')
    expect((await lstat(at('conf'))).isSymbolicLink()).toBe(true)
    expect((await stat(at('real/conf'))).mode & 0o777).toBe(0o750)
    expect([await text('real/conf'), await w.names('real'), await w.names()]).toEqual([
      'new',
      ['conf'],
      ['conf', 'real'],
    ])
  })

  test('finds a file under ~', async () => {
    vi.stubEnv('HOME', w.dir)
    await put('f', 'a')
    expect((await edit('~/f', 'a', 'b')).kind).toBe('ok')
    expect(await text('f')).toBe('b')
  })
})

describe('line endings and marks', () => {
  test('text with LF matches CRLF, and new lines get CRLF', async () => {
    expect(await edited('a\r\nb\r\nc\r\n', 'a\nb\n', 'a\nx\ny\nb\n')).toBe('a\r\nx\r\ny\r\nb\r\nc\r\n')
    expect(await edited('a\r\nb\r\n', 'b', 'b1\nb2')).toBe('a\r\nb1\r\nb2\r\n')
  })

  test('text with LF matches lone CR, and new lines get CR', async () => {
    expect(await edited('a\rb\rc', 'a\nb', 'a\nx\nb')).toBe('a\rx\rb\rc')
  })

  test("in a mixed file each line keeps its ending, and a new one takes its neighbour's", async () => {
    expect(await edited('a\r\nb\nc\r\nd\n', 'a\nb\nc\nd\n', 'A\nB\nC\nD\n')).toBe('A\r\nB\nC\r\nD\n')
    expect(await edited('a\r\nb\nc\r\nd\n', 'a\nb\nc\nd', 'a\nb\nx\nc\nd')).toBe('a\r\nb\nx\nc\r\nd\n')
    expect(await edited('p\nq\r\nr\n', 'q\nr', '1\n2\n3')).toBe('p\n1\r\n2\r\n3\n')
    expect(await edited('a\r\nb\nc\r\nd\n', 'd', 'd\ne')).toBe('a\r\nb\nc\r\nd\r\ne\n')
  })

  test('a match never begins or ends inside a CRLF', async () => {
    expect(await edited('a\r\nb\r\nc\r\n', '\nb\n', '\n')).toBe('a\r\nc\r\n')
    expect(await edited('a\r\nb', '\n', ' ', {})).toBe('a b')
  })

  test('text with CR is taken byte for byte, so that endings can be changed', async () => {
    expect(await edited('a\r\nb\r\n', 'a\r\n', 'a\n')).toBe('a\nb\r\n')
    expect(await edited('a\nb\n', 'a\n', 'a\r\n')).toBe('a\r\nb\n')
    expect(await edited('a\r\nb\n', '\r', '')).toBe('a\nb\n')
  })

  test('a last line without an end stays without one, whatever the others have', async () => {
    for (const end of ['\n', '\r\n', '\r'])
      expect(await edited(`a${end}b${end}c`, 'b\nc', 'B\nx\nC')).toBe(`a${end}B${end}x${end}C`)
  })

  test('a byte-order mark neither hinders the first line nor is lost', async () => {
    expect(await edited('\uFEFFusing A;\r\nX\r\n', 'using A;\nX', 'using B;\nX')).toBe('\uFEFFusing B;\r\nX\r\n')
    expect(await edited('\uFEFFusing A;\r\nX\r\n', 'X', 'Y')).toBe('\uFEFFusing A;\r\nY\r\n')
  })
})

describe('an edit that is refused leaves the file as it is', () => {
  test('several places, overlapping ones too', async () => {
    expect(await refused('x=1\nx=1\n', 'x=1', 'x=2')).toBe(
      'old_text is in f 2 times (lines 1, 2); nothing was changed. Add lines around it to make it unique, or set replace_all.',
    )
    expect(await refused('aaaa', 'aa', 'b')).toMatch(/^old_text is in f 3 times \(line 1\);/)
    expect(await refused('a'.repeat(5000), 'a', 'b')).toMatch(/^old_text is in f at least 1000 times/)
    expect(await refused('a\n'.repeat(15), 'a', 'b')).toMatch(/15 times \(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …\)/)
  })

  test('empty, equal or half characters', async () => {
    expect(await refused('abc\n', '', 'X')).toMatch(/\n- old_text must not be empty\.\n/)
    expect(await refused('abc\n', 'abc', 'abc')).toBe('old_text and new_text are the same; nothing was changed.')
    expect(await refused('a\uFFFDb', 'a\uD800b', 'x')).toMatch(/^old_text holds half a character/)
    expect(await refused('abc', 'abc', '\uDC00')).toMatch(/^new_text holds half a character/)
  })

  test('white space is text like any other', async () => {
    expect(await refused('abc\n', ' ', '')).toMatch(/^old_text is not in f; nothing was changed\./)
    expect(await edited('a b c\n', ' ', '', { replace_all: true })).toBe('abc\n')
  })

  test.skipIf(process.getuid?.() === 0)('a file behind a link in a read-only directory', async () => {
    await mkdir(at('real'))
    await put('real/conf', 'old')
    await symlink('real/conf', at('conf'))
    await chmod(at('real'), 0o555)
    expect((await edit('conf', 'old', 'new')).kind).toBe('error')
    expect([await text('real/conf'), await readlink(at('conf')), await w.names('real')]).toEqual([
      'old',
      'real/conf',
      ['conf'],
    ])
    await chmod(at('real'), 0o755)
  })

  test('another encoding and binary', async () => {
    expect(await refused(Buffer.from('caf\xe9 x', 'latin1'), 'x', 'y')).toBe(
      'f is not UTF-8 text, so it is not edited. Change it with bash (sed, perl, iconv).',
    )
    expect(await refused(Buffer.from('\uFEFFx', 'utf16le'), 'x', 'y')).toMatch(/^f is not UTF-8 text/)
    expect(await refused('a\0x', 'x', 'y')).toBe('f is binary, so it is not edited. Change it with bash.')
  })

  test('a file too large to edit', async () => {
    await put('big', 'x\n')
    await truncate(at('big'), 65 * 1024 * 1024)
    expect(await edit('big', 'x', 'y')).toEqual({
      kind: 'error',
      content: 'big is too large to edit (over 64 MB); change it with bash (sed, perl).',
    })
  })

  test('a file that is not there is not made, and what is no file is not touched', async () => {
    expect(await edit('new.txt', 'a', 'b')).toEqual({
      kind: 'error',
      content: `new.txt does not exist, so there is nothing to edit. The directory ${w.dir} is empty. To create a file use write_file.`,
    })
    expect((await edit('new.txt', '', 'b')).kind).toBe('error')
    expect(await w.names()).toEqual([])
    execFileSync('mkfifo', [at('p')])
    expect(await edit('p', 'a', 'b')).toEqual({
      kind: 'error',
      content: 'p cannot be written because it is a named pipe.',
    })
    expect(await edit('.', 'a', 'b')).toEqual({
      kind: 'error',
      content: '. cannot be written because it is a directory.',
    })
  })
})

describe('no match says what is there instead', () => {
  const hint = async (content: string, old: string) =>
    (await refused(content, old, 'new')).replace('old_text is not in f; nothing was changed. ', '')

  test('other white space, quotes or dashes', async () => {
    expect(await hint('if (a) {\n\tb()\n}\n', 'if (a) {\n  b()\n}')).toBe(
      'Line 1 differs from it only in white space or look-alike characters: "if (a) {".',
    )
    expect(await hint('x\nsay “hi” – now\n', 'say "hi" - now')).toBe(
      'Line 2 differs from it only in white space or look-alike characters: "say “hi” – now".',
    )
  })

  test('other white space where the text is a part of its lines', async () => {
    expect(await hint('x\nif (a)  {\n\tb( )\n}\n', 'f (a) {\nb(')).toBe(
      'Line 2 differs from it only in white space or look-alike characters: "if (a)  {".',
    )
    expect(await hint('x\n\tlet a  = 1 // one\n', 'let a = 1')).toBe(
      'Line 2 differs from it only in white space or look-alike characters: "\\tlet a  = 1 // one".',
    )
  })

  test('line numbers of read_file', async () => {
    for (const old of [
      '     1\ta\n     2\tb',
      '1→a\n2→b',
      ' 1| a\n 2| b',
      '1:a\n2:b',
      'src/f.ts:1:a\nsrc/f.ts:2:b',
      'f-1-a\nf:2:b',
    ])
      expect([old, await hint('a\nb\nc\n', old)]).toEqual([
        old,
        'Leave out the line numbers that read_file and grep put before the lines.',
      ])
  })

  test('escapes once too often, or not often enough', async () => {
    expect(await hint('say("a")\n\tb\n', 'say(\\"a\\")\\n\\tb')).toBe(
      'It is there without the backslashes: send line breaks, tabs and quotes as they are, not as \\n, \\t or \\".',
    )
    expect(await hint('print("a\\n")\n', 'print("a\n")')).toBe(
      'It is there with a backslash and a letter (\\n, \\t) where it has a line break or a tab.',
    )
    expect(await hint('if (a < b && c)\n', 'if (a &lt; b &amp;&amp; c)')).toBe(
      'It is there with plain characters where it has HTML entities (&lt; and the like).',
    )
  })

  test('CRLF sent for a file with LF', async () => {
    expect(await hint('a\nb\n', 'a\r\nb')).toBe(
      'It differs only in its line endings: send it with \\n alone, which matches any line ending.',
    )
  })

  test('the line from which it goes on differently', async () => {
    expect(await hint('a\nb\nc\n', 'a\nx\nc')).toBe('Line 1 begins like it, but line 2 is "b", where it has "x".')
    expect(await hint('a\nb', 'b\nc')).toBe('Line 2 begins like it, but the file ends before it, where it has "c".')
  })

  test('nothing of the kind', async () => {
    expect(await hint('a\nb\n', 'zzz')).toBe('Read the file again and copy the text as it stands there.')
    expect(await hint('', 'zzz')).toBe('Read the file again and copy the text as it stands there.')
  })
})
