/**
 * dist/cli.js, what `agent` starts: loads dist/main.cjs from V8's code cache.
 *
 * Compiling the bundle is most of a start's time. V8 can store what it compiled: the first run leaves it in the
 * user's cache directory, later ones read it back. The cache is an optimisation only: wherever it is missing,
 * stale, foreign or cannot be written, the bundle is compiled as usual (docs/decisions/0005-start-up.md).
 */
import fs from 'node:fs'
import Module from 'node:module'
import path from 'node:path'
import vm from 'node:vm'

/** Set by scripts/build.mjs: a hash of main.cjs, so that no other build's cache is ever taken. */
declare const __BUILD_ID__: string

/** V8 drops the code of functions that have not run for a while: a long run stores its cache early. */
const STORE_AFTER_MS = 2000
const LONG_RUN_S = 5
const MUCH_LARGER = 1.2
/** Cache files kept: builds, Node versions and kinds of run that take turns. Some 2 MB each. */
const KEEP_FILES = 12

const MAIN = path.join(path.dirname(fs.realpathSync(__filename)), 'main.cjs')

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`agent needs Node 20.19 or newer; this is ${process.version}. Update Node and try again.\n`)
  process.exit(2)
}
quietWarnings()
start()

function start(): void {
  const file = cacheFile()
  const cachedData = file === null ? undefined : onceOf(readOwn(file))
  // The build has put the function around the bundle, the one that Node puts around a CommonJS module.
  const source = fs.readFileSync(MAIN, 'latin1')
  const script = new vm.Script(source, { filename: MAIN, cachedData })
  if (file !== null) storeLater(script, file, cachedData && !script.cachedDataRejected ? cachedData.length : 0)
  runAsModule(script.runInThisContext())
}

/** Calls the wrapped bundle with what Node gives a CommonJS module. */
function runAsModule(bundle: (...args: unknown[]) => void): void {
  const main = new Module(MAIN, module)
  main.filename = MAIN
  const require = Module.createRequire(MAIN)
  require.cache[MAIN] = main
  bundle.call(main.exports, main.exports, require, main, MAIN, path.dirname(MAIN))
  main.loaded = true
}

/**
 * Stores the cache when the run is under way, or at its end if that comes first; a run that failed, or only printed
 * its help, has compiled too little of the bundle. After a long run, where nobody notices, a cache that was
 * made too early is replaced by a larger one.
 * @param used bytes of the cache that this run took, 0 for none
 */
function storeLater(script: vm.Script, file: string, used: number): void {
  if (process.argv.some((arg) => /^(--version|--help|-h|-v|-V)$/.test(arg))) return
  let stored = used
  const store = (): void => {
    writeOwn(file, () => {
      const data = script.createCachedData()
      if (data.length < stored * MUCH_LARGER) return null
      stored = data.length
      return twice(data)
    })
  }
  if (used === 0) setTimeout(store, STORE_AFTER_MS).unref()
  process.on('exit', (code) => {
    if (code === 0 && (stored === 0 || process.uptime() > LONG_RUN_S)) store()
  })
}

/** The cache file of this build, Node, its flags and kind of run; null where there shall be none. */
function cacheFile(): string | null {
  const { env } = process
  // Coverage counts wrongly in cached code; the other variable is Node's own switch for its own cache.
  if (env.NODE_V8_COVERAGE || env.NODE_DISABLE_COMPILE_CACHE) return null
  const home = env.HOME || env.USERPROFILE || ''
  const base =
    (path.isAbsolute(env.XDG_CACHE_HOME ?? '') && env.XDG_CACHE_HOME) ||
    (process.platform === 'win32' && env.LOCALAPPDATA) ||
    (path.isAbsolute(home) && path.join(home, process.platform === 'darwin' ? 'Library/Caches' : '.cache'))
  if (!base) return null
  try {
    const { size, mtimeMs } = fs.statSync(MAIN)
    const flags = hash([...process.execArgv, env.NODE_OPTIONS].join(' '))
    const build = `${__BUILD_ID__}-${hash(`${size} ${mtimeMs}`)}`
    return path.join(base, 'stepwright', `${build}-${process.version}-${process.arch}-${flags}-${kindOfRun()}.v8`)
  } catch {
    return null
  }
}

/**
 * Runs of one kind use the same functions: what `agent config` compiled is of little use to `agent -p`, and a run that
 * goes on with a session reads and folds its journal beside.
 */
function kindOfRun(): string {
  const has = (flag: RegExp): boolean => process.argv.some((arg) => flag.test(arg))
  if (has(/^(-p|--print)/)) return has(/^(-c$|-r$|--continue$|--resume)/) ? 'r' : 'p'
  const command = process.argv[2] ?? ''
  return /^[a-z]{2,12}$/.test(command) ? command : 'i'
}

/** FNV-1a, 32 bits: enough to tell flags apart, without loading node:crypto. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return (value >>> 0).toString(16)
}

/**
 * V8 believes what it reads and crashes on damaged data. So the file holds it twice, and the halves must be the same:
 * comparing costs a tenth of what loading Node's checksums does.
 */
function twice(data: Buffer): Buffer {
  return Buffer.concat([data, data])
}

/** @returns one of the two equal halves; undefined where the file is damaged */
function onceOf(file: Buffer | undefined): Buffer | undefined {
  if (file === undefined || file.length === 0) return undefined
  const half = file.length >> 1
  const data = file.subarray(0, half)
  return data.equals(file.subarray(half)) ? data : undefined
}

/** The file's bytes, if it and its directory belong to this user and nobody else may write them: it is code. */
function readOwn(file: string): Buffer | undefined {
  let handle: number | undefined
  try {
    if (!isOwn(fs.lstatSync(path.dirname(file)))) return undefined
    handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0))
    const stat = fs.fstatSync(handle)
    return stat.isFile() && isOwn(stat) ? fs.readFileSync(handle) : undefined
  } catch {
    return undefined
  } finally {
    if (handle !== undefined) fs.closeSync(handle)
  }
}

function isOwn(stat: fs.Stats): boolean {
  // Windows has neither; the cache directory there is the user's own by its access rights.
  return process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o022) === 0)
}

/** Writes the file whole or not at all, for this user only; nothing where that is not possible or `contents` is null. */
function writeOwn(file: string, contents: () => Buffer | null): void {
  const directory = path.dirname(file)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    // Not `recursive`: a home that is missing stays missing (and in /proc Node never comes back from it).
    for (const each of [path.dirname(directory), directory]) {
      if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 })
    }
    const stat = fs.lstatSync(directory)
    if (!stat.isDirectory() || !isOwn(stat)) return
    const bytes = contents()
    if (bytes === null) return
    const handle = fs.openSync(temporary, 'wx', 0o600)
    try {
      fs.writeFileSync(handle, bytes)
    } finally {
      fs.closeSync(handle)
    }
    fs.renameSync(temporary, file)
    prune(directory)
  } catch {
    try {
      fs.unlinkSync(temporary)
    } catch {}
  }
}

function prune(directory: string): void {
  const files = fs.readdirSync(directory).flatMap((name) => {
    if (!/\.v8(\.\d+\.tmp)?$/.test(name)) return []
    const file = path.join(directory, name)
    return [{ file, age: fs.statSync(file).mtimeMs }]
  })
  files.sort((a, b) => b.age - a.age)
  for (const { file } of files.slice(KEEP_FILES)) fs.unlinkSync(file)
}

/** Warnings of Node about itself are nothing a user of the agent could act on: stderr is for the run. */
function quietWarnings(): void {
  const asked = /--(trace|pending|throw)-deprecation|--trace-warnings/
  if (asked.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))) return
  process.noDeprecation = true
  const emit = process.emitWarning as (...args: unknown[]) => void
  process.emitWarning = (...args: unknown[]): void => {
    const option = args[1] as string | { type?: string } | undefined
    const type = typeof option === 'object' ? option.type : option
    if (type === 'ExperimentalWarning' && /SQLite|ES Module .* using require/is.test(String(args[0]))) return
    emit.apply(process, args)
  }
}
