import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ToolEnv, ToolResult } from '../../../src/services/ports.ts'
import { globTool } from '../../../src/services/tools/glob.ts'

let root: string
let env: ToolEnv
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'glob-test-')))
  mkdirSync(join(root, 'proj'))
  env = { cwd: join(root, 'proj'), signal: new AbortController().signal, childEnv: process.env, seen: new Map() }
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true, force: true })
})

/** Writes files below the project; the content does not matter. */
function files(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(env.cwd, path)), { recursive: true })
    writeFileSync(join(env.cwd, path), 'x')
  }
}

const glob = (pattern: string, path?: string): Promise<ToolResult> =>
  globTool.run(path === undefined ? { pattern } : { pattern, path }, env)
const found = async (pattern: string, path?: string) => {
  const { kind, content } = await glob(pattern, path)
  return [kind, ...String(content).split('\n')]
}
const error = (content: string) => ({ kind: 'error', content })

describe('patterns', () => {
  beforeEach(() => files('a.ts', 'b.tsx', 'src/c.ts', 'src/deep/er/d.ts', 'foo..bar/e.txt', '.hidden/f.ts', '.env'))

  test.each([
    ['*.ts', ['a.ts']],
    ['**/*.ts', ['.hidden/f.ts', 'a.ts', 'src/c.ts', 'src/deep/er/d.ts']],
    ['**/*.{ts,tsx}', ['.hidden/f.ts', 'a.ts', 'b.tsx', 'src/c.ts', 'src/deep/er/d.ts']],
    ['src/**', ['src/c.ts', 'src/deep/er/d.ts']],
    ['src/', ['src/c.ts', 'src/deep/er/d.ts']],
    ['./src/*.ts', ['src/c.ts']],
    ['src/**/d.ts', ['src/deep/er/d.ts']],
    ['**/er/**/*.ts', ['src/deep/er/d.ts']],
    ['foo..bar/*.txt', ['foo..bar/e.txt']],
    ['foo.?bar/*', ['foo..bar/e.txt']],
    ['{a,zz,b}.t*', ['a.ts', 'b.tsx']],
    ['{src,.}/{c,a}.ts', ['a.ts', 'src/c.ts']],
    ['[ab].ts*', ['a.ts', 'b.tsx']],
    ['[!a].ts*', ['b.tsx']],
    ['src/../a.ts', ['a.ts']],
    ['.*', ['.env']],
    ['.env', ['.env']],
    ['{a,a}.ts', ['a.ts']],
    ['{**,src}/c.ts', ['src/c.ts']],
  ])('%s', async (pattern, expected) => {
    expect(await found(pattern)).toEqual(['ok', ...expected])
  })

  test('path is where the pattern begins, results can be given to the other tools', async () => {
    expect(await found('**/*.ts', 'src')).toEqual(['ok', 'src/c.ts', 'src/deep/er/d.ts'])
    expect(await found('*.ts', join(env.cwd, 'src'))).toEqual(['ok', 'src/c.ts'])
  })

  test.each([
    ['-n*', '-name.txt'],
    ['--files', '--files'],
    ['app/[id]/*', 'app/[id]/page.tsx'],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx'],
    ['(group)/*', '(group)/x.ts'],
    ['\\*/*', '*/star.txt'],
    ['a{b/*', 'a{b/x'],
    ['sp ace/é*', 'sp ace/é日.txt'],
    ['?', '😀'],
  ])('%s finds %s', async (pattern, file) => {
    files(file)
    expect(await found(pattern)).toEqual(['ok', file])
  })

  test.each([
    ['[', 'The pattern has a [ without its ] in "[". Close it, or write \\[ for the character itself.'],
    ['a/*/../b', 'A pattern can have .. only before its first wildcard. Begin the pattern with it, or set path.'],
    [
      '{a,b}'.repeat(20),
      'The braces of the pattern stand for more than 1000 patterns. Use fewer of them, or * instead.',
    ],
    ['a\0b', 'The pattern contains a NUL character. Leave it out.'],
  ])('%j is refused', async (pattern, message) => {
    expect(await glob(pattern)).toEqual(error(message))
  })

  test('one that could be matched in very many ways ends', async () => {
    files(`${'a'.repeat(200)}.txt`)
    expect(await found(`${'*a'.repeat(60)}*b`)).toEqual(['ok', expect.stringContaining('No file matches')])
    expect(await found(`${'**/*/'.repeat(30)}b`)).toEqual(['ok', expect.stringContaining('No file matches')])
  })
})

describe('what is left out', () => {
  test('ignored files, .git and node_modules, in a directory that is no repository too', async () => {
    files(
      'a.js',
      'dist/b.js',
      'sub/c.js',
      'sub/gen/d.js',
      'sub/keep.log',
      'e.log',
      'node_modules/p/f.js',
      'sub/node_modules/g.js',
    )
    files('.git/config', '.github/ci.yml')
    writeFileSync(join(env.cwd, '.gitignore'), 'dist/\n*.log\n')
    writeFileSync(join(env.cwd, 'sub/.gitignore'), 'gen\n!keep.log\n')
    const expected = ['.github/ci.yml', '.gitignore', 'a.js', 'sub/.gitignore', 'sub/c.js', 'sub/keep.log']
    expect(await found('**/*')).toEqual(['ok', ...expected])
    expect(await found('**/*.log')).toEqual(['ok', 'sub/keep.log'])
  })

  test('unless the pattern or path leads into it', async () => {
    files('dist/b.js', 'node_modules/p/f.js', '.git/hooks/h')
    writeFileSync(join(env.cwd, '.gitignore'), 'dist/\n')
    expect(await found('dist/*')).toEqual(['ok', 'dist/b.js'])
    expect(await found('node_modules/**/*.js')).toEqual(['ok', 'node_modules/p/f.js'])
    expect(await found('**', '.git')).toEqual(['ok', '.git/hooks/h'])
  })

  test('not by a .gitignore above the repository, nor above a directory that is none', async () => {
    writeFileSync(join(root, '.gitignore'), '*\n')
    files('a.js', 'sub/b.js')
    expect(await found('**/*')).toEqual(['ok', 'a.js', 'sub/b.js'])
    mkdirSync(join(env.cwd, '.git'))
    expect(await found('**/*')).toEqual(['ok', 'a.js', 'sub/b.js'])
  })

  test('what is only there ignored is not said to be nowhere', async () => {
    files('dist/deep/b.js', 'a.ts')
    writeFileSync(join(env.cwd, '.gitignore'), 'dist/\n')
    expect(await found('**/*.js')).toEqual([
      'ok',
      'No file matches "**/*.js" in the working directory. What .gitignore names is left out, such as dist/deep/b.js: name a file in full, or begin the pattern with the directory.',
    ])
    expect(await found('dist/**/*.js')).toEqual(['ok', 'dist/deep/b.js'])
  })

  test('the user’s own configuration of ripgrep changes nothing', async () => {
    files('a.js')
    writeFileSync(join(root, 'rc'), '--glob=!*.js\n')
    env.childEnv = { ...process.env, RIPGREP_CONFIG_PATH: join(root, 'rc') }
    expect(await found('*.js')).toEqual(['ok', 'a.js'])
  })
})

describe('strange trees', () => {
  test('symlink loops end, and each file comes once', async () => {
    files('a/x.ts')
    symlinkSync('..', join(env.cwd, 'a/loop'))
    symlinkSync('a', join(env.cwd, 'b'))
    expect(await found('**/*')).toEqual(['ok', 'a/x.ts'])
  })

  test('a name with a line end stays one line', async () => {
    files('new\nline.txt', 'esc\x1b[31m.txt')
    expect(await found('*')).toEqual(['ok', '"esc\\u001b[31m.txt"', '"new\\nline.txt"'])
  })

  test('a FIFO is no file and holds nothing up', async () => {
    files('a')
    execFileSync('mkfifo', [join(env.cwd, 'pipe')])
    expect(await found('**')).toEqual(['ok', 'a'])
  })

  test('the order is that of code points', async () => {
    files('B', 'a', 'Z/1', 'é', '\uff5e', '😀', 'a.b', 'a-b')
    expect(await found('**')).toEqual(['ok', 'B', 'Z/1', 'a', 'a-b', 'a.b', 'é', '\uff5e', '😀'])
  })

  test('of very many files the first are shown, and how many there are', async () => {
    mkdirSync(join(env.cwd, 'many'))
    for (let n = 0; n < 9000; n++) writeFileSync(join(env.cwd, 'many', String(n).padStart(5, '0')), '')
    const lines = await found('**')
    expect([lines.length, lines[1], lines[1000], lines[1001]]).toEqual([
      1002,
      'many/00000',
      'many/00999',
      '[the first 1000 files; 8000 more match. Narrow the pattern to see them]',
    ])
  })

  test('paths that are long are fewer', async () => {
    const long = 'x'.repeat(200)
    for (let n = 0; n < 300; n++) files(`${long}/${n}`)
    const lines = await found('**')
    expect(lines.at(-1)).toBe(
      `[the first ${lines.length - 2} files; ${302 - lines.length} more match. Narrow the pattern to see them]`,
    )
    expect(lines.join('\n').length).toBeLessThan(26_000)
  })

  test('in the root of the file system the system’s own trees are left out', async () => {
    const { content } = await glob('*/*', '/')
    expect(
      String(content)
        .split('\n')
        .filter((line) => /^\/(proc|sys|dev)\//.test(line)),
    ).toEqual([])
  })
})

describe('where nothing is found', () => {
  test.each([
    ['*.zz', 'No file matches "*.zz" in the working directory. "**/" before a name looks into all directories.'],
    ['**/*.zz', 'No file matches "**/*.zz" in the working directory.'],
    ['*.zz,*.yy', 'No file matches "*.zz,*.yy" in the working directory. Write {*.a,*.b} for one or the other.'],
    [
      '**/node_modules/**',
      'No file matches "**/node_modules/**" in the working directory. node_modules and .git are left out unless the pattern begins with their directory, or path leads into it.',
    ],
    ['src', 'No file matches "src" in the working directory. src is a directory: "**" after it finds the files in it.'],
    ['nope/**', 'No file matches "nope/**" in the working directory. There is no directory nope.'],
  ])('%s says what to do', async (pattern, content) => {
    files('src/a.ts')
    expect(await glob(pattern)).toEqual({ kind: 'ok', content })
  })

  test('a path that is missing or no directory is an error', async () => {
    files('a.ts')
    expect(await glob('*', 'nope')).toEqual(
      error('There is no directory nope. Give path as a directory that exists, or leave it out.'),
    )
    expect(await glob('*', 'a.ts')).toEqual(
      error('a.ts is not a directory. Give the directory as path, or use read_file for one file.'),
    )
  })

  test('an interrupted search says so', async () => {
    env.signal = AbortSignal.abort()
    expect(await glob('**')).toEqual(error('The search was interrupted.'))
  })
})

describe('what permissions are asked for: every directory that is looked into', () => {
  test.each([
    ['**/*', ['/w']],
    ['src/**/*.ts', ['/w/src']],
    ['../secret/*', ['/secret']],
    ['{..,..}/secret/*', ['/secret']],
    ['{.,..}/*', ['/w', '/']],
    ['{a,{b,../c}}/*', ['/w/a', '/w/b', '/c']],
    ['{src,/etc}/*', ['/w/src', '/etc']],
    ['/etc/*', ['/etc']],
    ['/etc/passwd', ['/etc']],
    ['..', ['/']],
    ['../*', ['/']],
    ['\\../x/*', ['/x']],
    ['\\.\\./x/*', ['/x']],
    ['.{.,}/x/*', ['/x', '/w/x']],
    ['[.][.]/secret/*', ['/w']],
    ['foo..bar/*.txt', ['/w/foo..bar']],
    ['~/notes/*', [join(homedir(), 'notes')]],
    ['.//a/./b/*', ['/w/a/b']],
    ['*', ['/w']],
    ['[', ['/w']],
  ])('%s', (pattern, paths) => {
    expect(globTool.effect({ pattern }, '/w')).toEqual({ kind: 'read', paths })
  })

  test('path moves the pattern', () => {
    expect(globTool.effect({ pattern: '*', path: '../x' }, '/w')).toEqual({ kind: 'read', paths: ['/x'] })
    expect(globTool.effect({ pattern: '../*', path: 'a/b' }, '/w')).toEqual({ kind: 'read', paths: ['/w/a'] })
    expect(globTool.effect({ pattern: '*', path: '~/x' }, '/w')).toEqual({
      kind: 'read',
      paths: [join(homedir(), 'x')],
    })
  })

  test('a pattern in brackets never climbs out of it', async () => {
    mkdirSync(join(root, 'secret'))
    writeFileSync(join(root, 'secret/leak.txt'), 'KEY1')
    expect(await found('[.][.]/secret/*')).toEqual(['ok', expect.stringContaining('No file matches')])
    expect(await found('*/*/leak.txt')).toEqual(['ok', expect.stringContaining('No file matches')])
  })
})
