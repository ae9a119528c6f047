/**
 * Builds dist/: one CommonJS bundle of the agent, the launcher that starts it, and the licences of what is in it.
 * Plain Node and esbuild, no other tool, no git: `npm ci` runs it as `prepare`.
 *
 * usage: node scripts/build.mjs [--sourcemap] [--main <file>] [--outdir <dir>]
 *
 * Why CommonJS, why one file, why names stay readable: docs/decisions/0005-start-up.md.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { embedDemo } from './embed-demo.mjs'
import { embedPage } from './embed-page.mjs'
import { licencesOf } from './licences.mjs'
import { keepApart, leanMeow, leanZod } from './plugins.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Parts that are bundled apart and loaded on demand: `import('./inspect.ts')` in the sources becomes a load of
 * dist/inspect.cjs. A part whose source is missing is left out. None may use top-level await (ink does): such a part
 * would have to be an ES module that the launcher imports.
 */
const PARTS = {
  'src/inspect.ts': 'inspect.cjs',
  'src/tui.ts': 'tui.cjs',
  'src/services/store/server/redis.ts': 'redis.cjs',
  'src/services/store/server/postgres.ts': 'postgres.cjs',
}

/** Native modules and programs: installed beside the package, never bundled; pg asks for the last one only on demand. */
const EXTERNAL = ['@photostructure/sqlite', '@vscode/ripgrep', '@vscode/ripgrep-*', 'pg-native']

/** Read by src/services/permissions/shell/grammar.ts from beside the bundle. */
const SHELL_PARSER = ['web-tree-sitter/web-tree-sitter.wasm', 'tree-sitter-bash/tree-sitter-bash.wasm']

/** `import.meta` for modules that ask where they are: the bundle's own place. */
const BANNER =
  'var __importMeta={url:require("node:url").pathToFileURL(__filename).href,filename:__filename,dirname:__dirname};'

/** The function Node puts around a CommonJS module: the launcher compiles main.cjs itself, and saves a copy of it. */
const HEAD = '(function(exports,require,module,__filename,__dirname){'

const { values: flags } = parseArgs({
  options: { sourcemap: { type: 'boolean' }, main: { type: 'string' }, outdir: { type: 'string' } },
})

async function build(main, outdir, sourcemap) {
  const esbuild = await loadEsbuild(outdir)
  const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
  const parts = Object.fromEntries(
    Object.entries(PARTS)
      .map(([source, out]) => [join(ROOT, source), out])
      .filter(([source]) => existsSync(source)),
  )
  embedDemo(ROOT)
  await embedPage(ROOT, esbuild)

  const bundle = (source, out) => {
    return esbuild.build({
      absWorkingDir: ROOT,
      entryPoints: [source],
      outfile: join(outdir, out),
      bundle: true,
      write: false,
      metafile: true,
      platform: 'node',
      target: 'node20.19',
      format: 'cjs',
      // `import()` of a package outside becomes a lazy `require`: V8 loses what a real one needs when the code comes
      // from its cache (Node 20: ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING). ES modules can be required since 20.19.
      supported: { 'dynamic-import': false },
      // Also the names: 3 of 75 ms. Short lines keep Node from printing a megabyte beside an error.
      minify: true,
      lineLimit: 200,
      charset: 'ascii',
      legalComments: 'none',
      sourcemap: sourcemap ? 'external' : false,
      loader: { '.html': 'text', '.css': 'text', '.md': 'text', '.wasm': 'file' },
      assetNames: '[name]',
      alias: {
        sqlite3: join(ROOT, 'packages/sqlite3/index.cjs'),
        // Its UMD entry requires by a variable, which cannot be bundled.
        'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
        // Its ES module makes a `require` of its own, which would shadow the one that esbuild puts for import().
        'web-tree-sitter': join(ROOT, 'node_modules/web-tree-sitter/web-tree-sitter.cjs'),
      },
      // The SDK's use of Headers would load Node's whole fetch: tens of milliseconds and megabytes.
      inject: [join(ROOT, 'src/services/model/webHeaders.ts')],
      external: EXTERNAL,
      conditions: ['node'],
      define: {
        __VERSION__: JSON.stringify(version),
        'process.env.NODE_ENV': '"production"',
        'import.meta': '__importMeta',
        // The SDK asks whether a body is a stream; ours never is, and the class is loaded by being named.
        'globalThis.ReadableStream': 'undefined',
      },
      banner: { js: out === 'main.cjs' ? HEAD + BANNER : BANNER },
      footer: { js: out === 'main.cjs' ? '})' : '' },
      plugins: [keepApart(ROOT, parts, source), leanMeow(), leanZod()],
      logLevel: 'warning',
    })
  }
  const built = await Promise.all([
    bundle(main, 'main.cjs'),
    ...Object.entries(parts).map(([source, out]) => bundle(source, out)),
  ])
  const mainText = built[0].outputFiles.find((file) => file.path.endsWith('main.cjs')).contents
  const id = createHash('sha256').update(mainText).digest('hex').slice(0, 16)
  const launcher = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, 'src/launch.ts')],
    outfile: join(outdir, 'cli.js'),
    bundle: true,
    write: false,
    platform: 'node',
    // Older than what is supported: it must parse there to say which Node is needed.
    target: 'node14.18',
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
    charset: 'ascii',
    banner: { js: '#!/usr/bin/env node' },
    define: { __BUILD_ID__: JSON.stringify(id) },
    logLevel: 'warning',
  })

  const files = [...built, launcher].flatMap((result) => result.outputFiles.map((file) => [file.path, file.contents]))
  for (const name of SHELL_PARSER)
    files.push([join(outdir, basename(name)), readFileSync(join(ROOT, 'node_modules', name))])
  files.push([join(outdir, 'package.json'), '{"type":"commonjs"}\n'])
  files.push([
    join(outdir, 'LICENSES.txt'),
    licencesOf(
      ROOT,
      built.map((result) => result.metafile),
      ['tree-sitter-bash'],
    ),
  ])
  place(outdir, files)
}

/**
 * Writes the files into `outdir`, each by a rename, and removes what an earlier build left there: an agent that
 * is started meanwhile sees whole files. The launcher comes last, since it names the bundle it belongs to.
 */
function place(outdir, files) {
  mkdirSync(outdir, { recursive: true })
  const rank = ([path]) => (basename(path) === 'cli.js' ? 1 : 0)
  for (const [path, contents] of files.toSorted((a, b) => rank(a) - rank(b))) {
    const temporary = `${path}.${process.pid}.tmp`
    writeFileSync(temporary, contents)
    if (basename(path) === 'cli.js') chmodSync(temporary, 0o755)
    renameSync(temporary, path)
  }
  const now = new Set(files.map(([path]) => relative(outdir, path)))
  for (const name of ['main.cjs.map', ...Object.values(PARTS)]) {
    if (!now.has(name)) rmSync(join(outdir, name), { force: true })
  }
}

/**
 * esbuild, or a clear end where it is not installed. `npm ci --omit=dev` runs `prepare` too: with a built dist/
 * there is nothing to do then.
 */
async function loadEsbuild(outdir) {
  try {
    createRequire(import.meta.url).resolve('esbuild')
  } catch {
    if (process.env.npm_lifecycle_event === 'prepare' && existsSync(join(outdir, 'cli.js'))) process.exit(0)
    console.error('The build needs the development packages. Run `npm ci` without --omit=dev, then build again.')
    process.exit(1)
  }
  return import('esbuild')
}

await build(
  resolve(flags.main ?? join(ROOT, 'src/main.ts')),
  resolve(flags.outdir ?? join(ROOT, 'dist')),
  flags.sourcemap ?? false,
).catch((error) => {
  // esbuild has printed its own errors, with their places.
  if (!error.errors) console.error(error)
  process.exit(1)
})
