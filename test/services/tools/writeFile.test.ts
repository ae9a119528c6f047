import { chmod, link, lstat, mkdir, readFile, readlink, realpath, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { currentVersion } from '../../../src/services/tools/files/opened.ts'
import { replaceFile } from '../../../src/services/tools/files/replaceFile.ts'
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
const text = (name: string) => readFile(at(name), 'utf8')
const write = (path: string, content: string) => w.call('write_file', { path, content })

describe('what is written', () => {
  test('a new file holds the content byte for byte', async () => {
    expect(await write('a.txt', 'x\r\n$& é 😀')).toEqual({ kind: 'ok', content: 'Created a.txt (13 bytes).' })
    expect(await readFile(at('a.txt'))).toEqual(Buffer.from('x\r\n$& é 😀'))
    expect(await w.names()).toEqual(['a.txt'])
  })

  test('parents are made', async () => {
    expect(await write('new/deep/x.txt', 'x')).toEqual({ kind: 'ok', content: 'Created new/deep/x.txt (1 byte).' })
    expect(await text('new/deep/x.txt')).toBe('x')
  })

  test('a file that exists is replaced whole, also one that was never read, and a byte-order mark is not carried over', async () => {
    await writeFile(at('a.cs'), '\uFEFFlong old text\r\n')
    expect(await write('a.cs', 'new\n')).toEqual({ kind: 'ok', content: 'Replaced a.cs (4 bytes).' })
    expect(await readFile(at('a.cs'))).toEqual(Buffer.from('new\n'))
  })

  test('mode and owner are kept', async () => {
    await writeFile(at('run.sh'), 'old')
    await chmod(at('run.sh'), 0o751)
    const before = await stat(at('run.sh'))
    await write('run.sh', 'new')
    const { mode, uid, gid } = await stat(at('run.sh'))
    expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid })
  })

  test('a new file gets the mode the umask leaves', async () => {
    const umask = process.umask()
    await write('a.txt', 'x')
    expect((await stat(at('a.txt'))).mode & 0o777).toBe(0o666 & ~umask)
  })

  test('20 MB and nothing at all can be written', async () => {
    await write('big', 'x'.repeat(20_000_000))
    expect((await stat(at('big'))).size).toBe(20_000_000)
    await write('empty', '')
    expect((await stat(at('empty'))).size).toBe(0)
    expect(await write('big', 'small again')).toEqual({ kind: 'ok', content: 'Replaced big (11 bytes).' })
  })

  test('~ is the home directory, and no directory of that name is made', async () => {
    await mkdir(at('home'))
    vi.stubEnv('HOME', at('home'))
    await write('~/x.txt', 'home')
    expect([await text('home/x.txt'), await w.names()]).toEqual(['home', ['home']])
  })

  test('of several hard links only the named one gets the new content', async () => {
    await writeFile(at('store'), 'old')
    await link(at('store'), at('used'))
    await write('used', 'new')
    expect([await text('store'), await text('used')]).toEqual(['old', 'new'])
  })
})

describe('symlinks', () => {
  test('a link stays, its target gets the content', async () => {
    await mkdir(at('real'))
    await writeFile(at('real/conf'), 'old')
    await symlink('real/conf', at('conf'))
    await symlink('conf', at('again'))
    await write('again', 'new')
    expect([await readlink(at('conf')), await readlink(at('again')), await text('real/conf')]).toEqual([
      'real/conf',
      'conf',
      'new',
    ])
    expect(await w.names('real')).toEqual(['conf'])
  })

  test('a link that leads nowhere gets its target made, through directories that are not there either', async () => {
    await symlink('not/yet', at('conf'))
    await symlink('nodir', at('dir'))
    await write('conf', 'x')
    await write('dir/y', 'y')
    expect([await text('not/yet'), await text('nodir/y')]).toEqual(['x', 'y'])
    expect((await lstat(at('conf'))).isSymbolicLink() && (await lstat(at('dir'))).isSymbolicLink()).toBe(true)
  })

  test('links in a circle are an error', async () => {
    await symlink('b', at('a'))
    await symlink('a', at('b'))
    expect(await write('a', 'x')).toEqual({
      kind: 'error',
      content: 'a cannot be written because its symbolic links go round in circles.',
    })
    expect(await write('a/x', 'x')).toEqual({
      kind: 'error',
      content: 'a/x cannot be written because its symbolic links go round in circles.',
    })
    expect(await w.names()).toEqual(['a', 'b'])
  })
})

describe('what cannot be written', () => {
  test('gives the reason and leaves nothing behind', async () => {
    await mkdir(at('dir'))
    await writeFile(at('file.txt'), 'x')
    const long = 'n'.repeat(300)
    const said = async (path: string) => {
      const { kind, content } = await write(path, 'x')
      return `${kind}: ${content}`
    }
    expect(await said('dir')).toBe('error: dir cannot be written because it is a directory.')
    expect(await said('.')).toBe('error: . cannot be written because it is a directory.')
    expect(await said('new/')).toBe(
      'error: new/ names a directory; give the path of a file, without a slash at its end.',
    )
    expect(await said('file.txt/x')).toBe(
      'error: file.txt/x cannot be written because a part of its path is a file, not a directory.',
    )
    expect(await said(`sub/${long}`)).toMatch(/^error: sub\/n+ cannot be written because the name is too long/)
    expect(await said('')).toMatch(/^error: .*\n- path must not be empty\./)
    expect(await said('x\0y')).toMatch(/^error: .*\n- path is not right: must not contain a NUL character\./)
    expect(await said('/dev/null')).toBe('error: /dev/null cannot be written because it is a device.')
    expect(await w.names()).toEqual(['dir', 'file.txt'])
  })

  test.runIf(process.platform === 'linux')('a place where the system permits nothing', async () => {
    expect(await write('/proc/no-such/x', 'x')).toEqual({
      kind: 'error',
      content: '/proc/no-such/x cannot be written because its directory cannot be made. Nothing was written.',
    })
  })

  test.skipIf(process.getuid?.() === 0)('a read-only file or directory keeps what it has', async () => {
    await mkdir(at('locked'))
    await writeFile(at('locked/f'), 'old')
    await writeFile(at('read-only'), 'old')
    await chmod(at('read-only'), 0o444)
    await chmod(at('locked'), 0o555)
    expect((await write('locked/f', 'new')).kind).toBe('error')
    expect((await write('locked/g', 'new')).kind).toBe('error')
    expect((await write('read-only', 'new')).kind).toBe('error')
    expect([await text('locked/f'), await text('read-only'), await w.names('locked')]).toEqual(['old', 'old', ['f']])
    await chmod(at('locked'), 0o755)
  })

  test('half a character is refused instead of being replaced in silence', async () => {
    expect(await write('a.txt', 'x\uD83D')).toEqual({
      kind: 'error',
      content:
        'content holds half a character (a lone UTF-16 surrogate), which no file can hold; nothing was written. Send the whole character, or its escape as text.',
    })
    expect(await w.names()).toEqual([])
  })

  test('a rename that fails leaves no file behind', async () => {
    await mkdir(at('target'))
    const version = await currentVersion(at('target'))
    expect(await replaceFile(at('target'), Buffer.from('x'), version)).toEqual({
      kind: 'failed',
      reason: 'it is a directory',
    })
    expect(await w.names()).toEqual(['target'])
  })
})

describe('side by side', () => {
  test('many files in directories that none of them has made yet', async () => {
    const paths = Array.from({ length: 40 }, (_, n) => `a/b/c${n % 3}/d/${n}.txt`)
    const results = await Promise.all(paths.map((path) => write(path, path)))
    expect(results.map(({ kind }) => kind)).toEqual(paths.map(() => 'ok'))
    expect(await Promise.all(paths.map(text))).toEqual(paths)
  })

  test('writes to one file share a key whatever they call it, others do not', async () => {
    await mkdir(at('real'))
    await symlink('real', at('alias'))
    await symlink('real/f', at('f'))
    const keys = await Promise.all([
      w.key('write_file', { path: 'real/f', content: '' }),
      w.key('edit_file', { path: 'alias/../alias/f', old_text: 'a', new_text: 'b' }),
      w.key('read_file', { path: at('f') }),
      w.key('write_file', { path: 'real/g', content: '' }),
    ])
    const real = await realpath(at('real'))
    expect(keys).toEqual([join(real, 'f'), join(real, 'f'), join(real, 'f'), join(real, 'g')])
  })
})

describe('whole or not at all', () => {
  test('someone who reads while it is written sees the old content or the new one', async () => {
    const [old, next] = ['a'.repeat(3_000_000), 'b'.repeat(3_000_000)]
    await writeFile(at('f'), old)
    const done = write('f', next)
    const seen = new Set<string>()
    for (let running = true; running; ) {
      running = await Promise.race([done.then(() => false), text('f').then((now) => Boolean(seen.add(now)))])
    }
    seen.add(await text('f'))
    expect([...seen].every((content) => content === old || content === next)).toBe(true)
    expect(await text('f')).toBe(next)
  })

  test('a change that comes between look and write is not overwritten', async () => {
    await writeFile(at('f'), 'theirs')
    expect(await replaceFile(at('f'), Buffer.from('ours'), 'another version')).toEqual({ kind: 'changedMeanwhile' })
    expect([await text('f'), await w.names()]).toEqual(['theirs', ['f']])
  })
})
