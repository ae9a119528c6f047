import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ToolEnv, ToolResult } from '../../../src/services/ports.ts'
import { grepTool } from '../../../src/services/tools/grep.ts'

let root: string
let env: ToolEnv
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'grep-test-')))
  mkdirSync(join(root, 'proj'))
  env = { cwd: join(root, 'proj'), signal: new AbortController().signal, childEnv: process.env, seen: new Map() }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(env.cwd, path)), { recursive: true })
  writeFileSync(join(env.cwd, path), content)
}

const grep = (pattern: string, more: { path?: string; glob?: string } = {}): Promise<ToolResult> =>
  grepTool.run({ pattern, ...more }, env)
const ok = (...lines: string[]) => ({ kind: 'ok', content: lines.join('\n') })
const error = (content: string) => ({ kind: 'error', content })
const none = (pattern: string, where = 'the working directory') =>
  ok(`No line matches ${JSON.stringify(pattern)} in ${where}.`)
const noFile = (glob: string) =>
  ok(
    `No file in the working directory matches the glob ${JSON.stringify(glob)}, so nothing was searched. Ignored files, .git and node_modules are left out unless path leads into them.`,
  )

describe('matching lines', () => {
  test('come as path:line:text, sorted by path', async () => {
    put('b.txt', 'one\ntwo\n')
    put('a/c.txt', 'zero\none more\n')
    put('B.txt', 'one')
    expect(await grep('^one')).toEqual(ok('B.txt:1:one', 'a/c.txt:2:one more', 'b.txt:1:one'))
  })

  test('of one file are found by its path, relative or absolute', async () => {
    put('a/c.txt', 'one\n')
    put('b.txt', 'one\n')
    expect(await grep('one', { path: 'a/c.txt' })).toEqual(ok('a/c.txt:1:one'))
    expect(await grep('one', { path: join(env.cwd, 'a') })).toEqual(ok('a/c.txt:1:one'))
  })

  test('outside the working directory come with their absolute path', async () => {
    mkdirSync(join(root, 'other'))
    writeFileSync(join(root, 'other/x.txt'), 'one\n')
    expect(await grep('one', { path: '..' })).toEqual(ok(`${root}/other/x.txt:1:one`))
  })

  test('of files with CR LF, UTF-16, other encodings and no end of line are whole', async () => {
    put('crlf', 'one\r\n')
    put('latin', Buffer.from('one \xe9\n', 'latin1'))
    put('short', 'one')
    put('utf16', Buffer.from('\ufeffone 日\n', 'utf16le'))
    expect(await grep('one')).toEqual(ok('crlf:1:one', 'latin:1:one �', 'short:1:one', 'utf16:1:one 日'))
  })

  test('carry no control sequence', async () => {
    put('a', 'one\x1b[31mred\x00\n'.replace('\x00', '\x07'))
    expect(await grep('one')).toEqual(ok('a:1:one\\x1b[31mred\\x07'))
  })

  test('that are long are cut around the match, at whole characters', async () => {
    put('min.js', `${'😀'.repeat(1000)}needle${'😀'.repeat(1000)}\n`)
    const { content } = await grep('needle')
    const text = String(content)
    expect(text.startsWith(`min.js:1:[… 1900 characters] ${'😀'.repeat(50)}needle😀`)).toBe(true)
    expect(text.endsWith('😀 [… 1606 characters]')).toBe(true)
    expect(Buffer.from(text).toString('utf8')).toBe(text)
  })

  test('that are longer than memory should hold are named by their file', async () => {
    put('huge', `needle${'x'.repeat(5_000_000)}\nneedle too\n`)
    expect(await grep('needle')).toEqual(ok('huge: a line that is too long to be shown matches', 'huge:2:needle too'))
  })

  test('end before CR LF as they do before LF', async () => {
    put('crlf', 'one\r\none more\r\n')
    put('lf', 'one\none more\n')
    expect(await grep('one$')).toEqual(ok('crlf:1:one', 'lf:1:one'))
    expect(await grep('\\r$')).toEqual(ok('crlf:1:one', 'crlf:2:one more'))
  })

  test('of a match over several lines all come', async () => {
    put('a', 'zero\none\ntwo\nthree\n')
    expect(await grep('one\\ntwo')).toEqual(ok('a:2:one', 'a:3:two'))
    expect(await grep('one\ntwo')).toEqual(ok('a:2:one', 'a:3:two'))
  })

  test('can be found by look-around', async () => {
    put('a', 'foobar\nfoobaz\n')
    expect(await grep('foo(?!bar)')).toEqual(ok('a:2:foobaz'))
  })

  test('are capped, and that is said', async () => {
    for (let n = 0; n < 40; n++) put(`f${String(n).padStart(2, '0')}`, 'match\n'.repeat(10))
    const lines = String((await grep('match')).content).split('\n')
    expect([lines.length, lines[0], lines[249], lines[250]]).toEqual([
      251,
      'f00:1:match',
      'f24:10:match',
      '[the first 250 matching lines; there are more. Narrow the pattern, path or glob to see them]',
    ])
  })

  test('are capped by their length too', async () => {
    put('a', `${'x'.repeat(400)}\n`.repeat(1000))
    const { content } = await grep('x')
    const lines = String(content).split('\n')
    expect(lines.at(-1)).toBe(
      `[the first ${lines.length - 1} matching lines; there are more. Narrow the pattern, path or glob to see them]`,
    )
    expect(String(content).length).toBeLessThan(26_000)
  })
})

describe('a pattern or path that looks like an option', () => {
  test('is searched for, and never runs a program', async () => {
    put('a.txt', '--pre=./evil.sh\n-n\n-e\n--\n')
    put('evil.sh', '#!/bin/sh\ntouch pwned\n')
    chmodSync(join(env.cwd, 'evil.sh'), 0o755)
    expect(await grep('--pre=./evil.sh')).toEqual(ok('a.txt:1:--pre=./evil.sh'))
    expect(await grep('-n')).toEqual(ok('a.txt:2:-n'))
    expect(await grep('^-e$')).toEqual(ok('a.txt:3:-e'))
    expect(await grep('--', { glob: '--pre=./evil.sh' })).toEqual(noFile('--pre=./evil.sh'))
    expect(await grep('x', { path: '--files' })).toEqual(
      error('There is no file or directory --files. Give a path that exists.'),
    )
    expect(existsSync(join(env.cwd, 'pwned'))).toBe(false)
  })

  test('is found where it is the name of a file', async () => {
    put('--files', 'x\n')
    put('-dir/-file', 'x\n')
    expect(await grep('x', { path: '--files' })).toEqual(ok('--files:1:x'))
    expect(await grep('x', { path: '-dir' })).toEqual(ok('-dir/-file:1:x'))
    expect(await grep('x', { path: '-' })).toEqual(error('There is no file or directory -. Give a path that exists.'))
  })

  test('in the user’s configuration of ripgrep changes nothing', async () => {
    put('a', 'x\n')
    writeFileSync(join(root, 'rc'), '--invert-match\n--pre=/nowhere\n')
    env.childEnv = { ...process.env, RIPGREP_CONFIG_PATH: join(root, 'rc') }
    expect(await grep('x')).toEqual(ok('a:1:x'))
  })
})

describe('what is left out', () => {
  test('ignored and binary files, .git and node_modules; hidden files are searched', async () => {
    put('.gitignore', 'dist/\n*.log\n')
    for (const path of ['dist/a', 'b.log', 'node_modules/c', 'sub/node_modules/d', '.git/e', 'sub/gen/f'])
      put(path, 'word\n')
    put('sub/.gitignore', 'gen\n')
    put('.env', 'word\n')
    put('sub/g', 'word\n')
    put('bin', Buffer.concat([Buffer.from('word\n'.repeat(200)), Buffer.alloc(10)]))
    expect(await grep('word')).toEqual(ok('.env:1:word', 'sub/g:1:word'))
    expect(await grep('word', { glob: '*.log' })).toEqual(noFile('*.log'))
    expect(await grep('word', { path: 'node_modules' })).toEqual(ok('node_modules/c:1:word'))
    expect(await grep('word', { path: 'dist/a' })).toEqual(ok('dist/a:1:word'))
  })

  test('not by a .gitignore above the repository, nor above a directory that is none', async () => {
    writeFileSync(join(root, '.gitignore'), '*\n')
    put('a', 'word\n')
    put('sub/b', 'word\n')
    put('.gitignore', 'out\n')
    put('sub/out', 'word\n')
    expect(await grep('word')).toEqual(ok('a:1:word', 'sub/b:1:word'))
    expect(await grep('word', { path: 'sub' })).toEqual(ok('sub/b:1:word', 'sub/out:1:word'))
    mkdirSync(join(env.cwd, '.git'))
    expect(await grep('word')).toEqual(ok('a:1:word', 'sub/b:1:word'))
    expect(await grep('word', { path: 'sub' })).toEqual(ok('sub/b:1:word'))
  })

  test('in a directory below the working directory its .gitignore counts, in a repository or not', async () => {
    put('.gitignore', '/sub/out\n')
    put('sub/a', 'word\n')
    put('sub/out', 'word\n')
    expect(await grep('word', { path: 'sub' })).toEqual(ok('sub/a:1:word'))
    mkdirSync(join(env.cwd, '.git'))
    expect(await grep('word', { path: 'sub' })).toEqual(ok('sub/a:1:word'))
  })

  test('where all of it is ignored, that is said', async () => {
    put('.gitignore', '*\n')
    put('a', 'word\n')
    const nothing = ok(
      'There is nothing to search in the working directory: it holds no files, or .gitignore names all of them. Those are searched with bash (grep -r), or with their path.',
    )
    expect(await grep('word')).toEqual(nothing)
    expect(await grep('word', { path: 'a' })).toEqual(ok('a:1:word'))
  })

  test('a binary file that is named is told of, not printed', async () => {
    put('bin', 'word\0\n')
    expect(await grep('word', { path: 'bin' })).toEqual(ok('bin is a binary file, and it matches.'))
    expect(await grep('nothing', { path: 'bin' })).toEqual(none('nothing', 'bin'))
  })

  test('a FIFO in the tree holds nothing up, and one that is named is refused', async () => {
    put('a', 'x\n')
    execFileSync('mkfifo', [join(env.cwd, 'pipe')])
    expect(await grep('x')).toEqual(ok('a:1:x'))
    expect(await grep('x', { path: 'pipe' })).toEqual(
      error('pipe is neither a file nor a directory. Give a path that is one.'),
    )
    expect((await grep('x', { path: '/dev/zero' })).kind).toBe('error')
  })

  test('symlinked directories: loops end and each line comes once', async () => {
    put('a/f', 'x\n')
    symlinkSync('..', join(env.cwd, 'a/loop'))
    symlinkSync('a', join(env.cwd, 'b'))
    expect(await grep('x')).toEqual(ok('a/f:1:x'))
  })
})

describe('glob', () => {
  beforeEach(() => {
    for (const path of ['a.ts', 'a.js', 'src/b.ts', 'src/c.tsx', 'src/deep/d.ts', 'app/[id]/e.ts', 'new\nline.md'])
      put(path, 'x\n')
  })

  test.each([
    ['*.ts', ['a.ts', 'app/[id]/e.ts', 'src/b.ts', 'src/deep/d.ts']],
    ['*.{js,tsx}', ['a.js', 'src/c.tsx']],
    ['src/*.ts', ['src/b.ts']],
    ['/src/*.ts', ['src/b.ts']],
    ['src/**', ['src/b.ts', 'src/c.tsx', 'src/deep/d.ts']],
    ['**/deep/*.ts', ['src/deep/d.ts']],
    ['src/', ['src/b.ts', 'src/c.tsx', 'src/deep/d.ts']],
    ['app/[id]/*.ts', ['app/[id]/e.ts']],
    ['[ab].js', ['a.js']],
    ['!*.ts', ['a.js', '"new\\nline.md"', 'src/c.tsx']],
    ['!src/**', ['a.js', 'a.ts', 'app/[id]/e.ts', '"new\\nline.md"']],
    ['{src/*,a}.ts', ['a.ts', 'src/b.ts']],
    ['?.ts', ['a.ts', 'app/[id]/e.ts', 'src/b.ts', 'src/deep/d.ts']],
    ['include:x', []],
    ['*.ts,*.js', ['a.js', 'a.ts', 'app/[id]/e.ts', 'src/b.ts', 'src/deep/d.ts']],
    ['*.js, src/*.tsx', ['a.js', 'src/c.tsx']],
    ['*.js *.tsx', ['a.js', 'src/c.tsx']],
    ['a b*.ts', []],
  ])('%s chooses files', async (glob, paths) => {
    expect(await grep('x', { glob })).toEqual(
      paths.length > 0 ? ok(...paths.map((path) => `${path}:1:x`)) : noFile(glob),
    )
  })

  test('is about paths below path, or below the working directory', async () => {
    expect(await grep('x', { path: 'src', glob: 'deep/*.ts' })).toEqual(ok('src/deep/d.ts:1:x'))
    expect(await grep('x', { path: 'src', glob: 'src/deep/*.ts' })).toEqual(ok('src/deep/d.ts:1:x'))
  })

  test('that cannot be is refused', async () => {
    expect(await grep('x', { glob: '../*' })).toEqual(
      error('glob only chooses files below path, so it cannot have .. in it. Set path instead.'),
    )
    expect(await grep('x', { glob: '*.[' })).toEqual(
      error('The pattern has a [ without its ] in "*.[". Close it, or write \\[ for the character itself.'),
    )
  })
})

describe('what cannot be searched for', () => {
  test.each([
    ['(', 'unclosed group'],
    ['[', 'unclosed character class'],
    ['*', 'repetition operator missing expression'],
    ['(?<=o+)x', 'error compiling pattern at offset 3: length of lookbehind assertion is not limited'],
  ])('%s is an error with ripgrep’s reason', async (pattern, reason) => {
    expect(await grep(pattern)).toEqual(
      error(
        `The pattern is not a valid regular expression: ${reason}. Put a backslash before ( ) [ ] { } * + ? . that mean themselves.`,
      ),
    )
  })

  test('what is not found is said in words', async () => {
    put('a', 'x\n')
    expect(await grep('y')).toEqual(none('y'))
    expect(await grep('y', { path: 'a' })).toEqual(none('y', 'a'))
    expect(await grep('y', { glob: 'a*' })).toEqual(
      ok('No line matches "y" in files that match "a*" in the working directory.'),
    )
  })

  test('what is there as plain text is not said to be nowhere', async () => {
    put('a.c', 'int main() {\n')
    put('b.log', 'x[0] = y\n')
    const hint = 'As plain text it is there: put a backslash before ( ) [ ] { } . * + ? | ^ $ that mean themselves.'
    expect(await grep('main() {')).toEqual(ok(`No line matches "main() {" in the working directory. ${hint}`))
    expect(await grep('x[0]', { path: 'b.log' })).toEqual(ok(`No line matches "x[0]" in b.log. ${hint}`))
    expect(await grep('x[0]', { glob: '*.c' })).toEqual(
      ok('No line matches "x[0]" in files that match "*.c" in the working directory.'),
    )
    expect(await grep('main() {}')).toEqual(none('main() {}'))
  })

  test('nor is it told of a file that a rule hides', async () => {
    put('a.c', 'int main() {\n')
    put('b.h', 'x\n')
    env.hides = (path) => path.endsWith('a.c')
    expect(await grep('main() {')).toEqual(none('main() {'))
    expect(await grep('main', { glob: '*.c' })).toEqual(noFile('*.c'))
  })

  test('an interrupted search says so', async () => {
    env.signal = AbortSignal.abort()
    expect(await grep('x')).toEqual(error('The search was interrupted.'))
  })

  test('a search that is interrupted ends at once', async () => {
    const stop = new AbortController()
    env.signal = stop.signal
    const searching = grep('no such text is anywhere: 8f1c', { path: '/' })
    setTimeout(() => stop.abort(), 100)
    expect(await searching).toEqual(error('The search was interrupted.'))
  })

  test.each(['', 'a\0b', 'x'.repeat(20_001)])('the schema refuses bad patterns', (pattern) => {
    expect(grepTool.input.safeParse({ pattern }).success).toBe(false)
  })
})

test('permissions are asked for the path that is searched', () => {
  const pathsOf = (path?: string) =>
    grepTool.effect(path === undefined ? { pattern: 'x' } : { pattern: 'x', path }, '/w')
  expect([undefined, 'src', '..', '/etc', '~'].map(pathsOf)).toEqual(
    ['/w', '/w/src', '/', '/etc', homedir()].map((path) => ({ kind: 'read', paths: [path] })),
  )
})

describe('ripgrep', () => {
  /** The tool as it is bundled, in a place where no ripgrep is installed beside it. */
  async function apart(PATH: string): Promise<ToolResult> {
    put('a', 'x\n')
    const outfile = join(root, 'apart.cjs')
    const contents = `import { grepTool } from ${JSON.stringify(join(import.meta.dirname, '../../../src/services/tools/grep.ts'))}
      grepTool.run({ pattern: 'x' }, { cwd: process.argv[2], signal: new AbortController().signal, childEnv: process.env, seen: new Map() })
        .then((result) => console.log(JSON.stringify(result)))`
    await build({
      stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'cjs',
      outfile,
      define: { 'import.meta': '__importMeta' },
      banner: { js: 'var __importMeta={url:require("node:url").pathToFileURL(__filename).href};' },
    })
    return JSON.parse(execFileSync(process.execPath, [outfile, env.cwd], { encoding: 'utf8', env: { PATH } }))
  }

  test('on the PATH is used where none is installed with the agent', async () => {
    const program = createRequire(import.meta.url).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)
    expect(await apart(dirname(program))).toEqual(ok('a:1:x'))
  })

  test('that is nowhere is said in words', async () => {
    expect(await apart('')).toEqual(
      error(
        'The search needs ripgrep, which is neither installed with this agent nor on the PATH. Tell the user to install it, or search with bash.',
      ),
    )
  })
})
