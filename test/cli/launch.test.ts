/** The launcher of dist/ with a small bundle of the test's own beside it. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const DIST = join(import.meta.dirname, '../../dist')
let directory: string
let cache: string

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-launch-')))
  cache = join(directory, 'cache', 'stepwright')
  mkdirSync(join(directory, 'dist'))
  mkdirSync(join(directory, 'cache'))
  for (const name of ['cli.js', 'package.json']) copyFileSync(join(DIST, name), join(directory, 'dist', name))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Puts a bundle beside the launcher, as the build makes it; always with one time, so that only text and size tell. */
function bundle(code: string): void {
  const file = join(directory, 'dist/main.cjs')
  writeFileSync(file, `(function(exports,require,module,__filename,__dirname){\n${code}\n})`)
  utimesSync(file, 1_700_000_000, 1_700_000_000)
}

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

function launch(
  args: string[] = [],
  env: Record<string, string> = {},
  program = join(directory, 'dist/cli.js'),
): Ended {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, XDG_CACHE_HOME: join(directory, 'cache'), ...env },
    encoding: 'utf8',
  })
  return { code: status, stdout, stderr }
}

const said = (stdout: string): Ended => ({ code: 0, stdout, stderr: '' })

/** The two have one length, so V8 cannot tell them apart: which one speaks shows whose code ran. */
const FIRST = 'function speak(){return "first"} process.stdout.write(speak())'
const OTHER = 'function speak(){return "other"} process.stdout.write(speak())'

test('the bundle gets what Node gives a CommonJS module, also through a link', () => {
  bundle(`process.stdout.write(JSON.stringify({
    file: __filename, dir: __dirname, module: module.filename, exported: module.exports === exports,
    this: this === exports, sibling: require('./sibling.cjs'), own: require(__filename) === exports, args: process.argv.slice(2),
  }))`)
  writeFileSync(join(directory, 'dist/sibling.cjs'), 'module.exports = "beside"')
  const link = join(directory, 'agent')
  symlinkSync(join(directory, 'dist/cli.js'), link)
  const file = join(directory, 'dist/main.cjs')
  const expected = said(
    JSON.stringify({
      file,
      dir: join(directory, 'dist'),
      module: file,
      exported: true,
      this: true,
      sibling: 'beside',
      own: true,
      args: ['-p', '--help me'],
    }),
  )
  const args = ['-p', '--help me']
  expect(launch(args, {}, link)).toEqual(expected)
  expect(launch(args, {}, link)).toEqual(expected)
  expect(launch(args, { NODE_DISABLE_COMPILE_CACHE: '1' }, link)).toEqual(expected)
})

test('the first run leaves the compiled code for this user only, and the second takes it', () => {
  bundle(FIRST)
  expect(launch()).toEqual(said('first'))
  const files = readdirSync(cache)
  expect(files).toHaveLength(1)
  const modes = [cache, join(cache, String(files[0]))].map((path) => statSync(path).mode & 0o777)
  expect(modes).toEqual([0o700, 0o600])
  bundle(OTHER)
  expect(launch()).toEqual(said('first'))
})

test('another bundle, another kind of run and other flags of Node do not take it', () => {
  bundle(FIRST)
  launch()
  bundle(OTHER)
  expect(launch(['-p', 'hello'])).toEqual(said('other'))
  expect(launch(['config'])).toEqual(said('other'))
  expect(launch([], { NODE_OPTIONS: '--max-old-space-size=900' })).toEqual(said('other'))
  bundle(`${OTHER} `)
  expect(launch()).toEqual(said('other'))
  expect(readdirSync(cache)).toHaveLength(5)
})

test.each([
  ['cut', (good: Buffer) => good.subarray(0, good.length >> 1)],
  ['empty', () => Buffer.alloc(0)],
  ['other bytes', () => Buffer.from('no code at all')],
  ['one bit wrong', (good: Buffer) => Buffer.from(good.map((byte, at) => (at === good.length >> 1 ? byte ^ 1 : byte)))],
])('a damaged cache file (%s) is replaced', (_, damage) => {
  bundle(FIRST)
  launch()
  const file = join(cache, String(readdirSync(cache)[0]))
  const good = readFileSync(file)
  writeFileSync(file, damage(good))
  bundle(OTHER)
  expect(launch()).toEqual(said('other'))
  bundle(FIRST)
  expect(launch()).toEqual(said('other'))
})

test.each([
  ['the directory', () => cache],
  ['the file', () => join(cache, String(readdirSync(cache)[0]))],
])('a cache is not read where others may write %s', (_, path) => {
  bundle(FIRST)
  launch()
  chmodSync(path(), 0o777)
  bundle(OTHER)
  expect(launch()).toEqual(said('other'))
})

test('a link in the place of the cache file is not followed', () => {
  bundle(FIRST)
  launch()
  const file = join(cache, String(readdirSync(cache)[0]))
  const elsewhere = join(directory, 'elsewhere')
  copyFileSync(file, elsewhere)
  chmodSync(elsewhere, 0o600)
  rmSync(file)
  symlinkSync(elsewhere, file)
  bundle(OTHER)
  expect(launch()).toEqual(said('other'))
  expect(statSync(elsewhere).size).toBeGreaterThan(0)
})

test('a run that failed or printed its help leaves no cache', () => {
  bundle(`${FIRST}; process.exit(Number(process.argv[3] ?? 0))`)
  expect(launch(['-p', '1']).code).toBe(1)
  expect(launch(['--help', '0']).code).toBe(0)
  expect(readdirSync(join(directory, 'cache'))).toEqual([])
})

test('the agent starts where no cache can be kept', () => {
  bundle(FIRST)
  const file = join(directory, 'file')
  writeFileSync(file, '')
  const none = { XDG_CACHE_HOME: '' }
  expect(launch([], none)).toEqual(said('first'))
  expect(launch([], { ...none, HOME: '/nowhere/at/all' })).toEqual(said('first'))
  expect(launch([], { ...none, HOME: file })).toEqual(said('first'))
  expect(launch([], { ...none, HOME: 'relative' })).toEqual(said('first'))
  expect(launch([], { XDG_CACHE_HOME: '/proc' })).toEqual(said('first'))
})

test('old cache files are removed, files of others stay', () => {
  mkdirSync(cache, { mode: 0o700 })
  for (let n = 10; n < 40; n++) {
    const file = join(cache, `old-${n}.v8`)
    writeFileSync(file, '')
    utimesSync(file, 1_600_000_000 + n, 1_600_000_000 + n)
  }
  writeFileSync(join(cache, 'notes.txt'), '')
  bundle(FIRST)
  launch()
  const names = readdirSync(cache)
  expect(names).toHaveLength(13)
  expect(names.filter((name) => name.startsWith('old-') || name.endsWith('.txt')).sort()).toEqual([
    'notes.txt',
    ...Array.from({ length: 11 }, (_, n) => `old-${29 + n}.v8`),
  ])
})

test('an error of the bundle keeps its place in the stack trace', () => {
  bundle('function broken() { null.x }\nbroken()')
  for (const run of [launch(), launch()]) {
    expect(run.code).toBe(1)
    expect(run.stderr).toContain(`at broken (${join(directory, 'dist/main.cjs')}:2:26)`)
  }
})

test('warnings of Node about itself do not reach the user, other warnings do', () => {
  bundle(`process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning')
    process.emitWarning('old', 'DeprecationWarning')
    process.emitWarning('look here')`)
  const { stderr } = launch()
  expect(stderr).toContain('look here')
  expect(stderr).not.toMatch(/SQLite|old/)
})
