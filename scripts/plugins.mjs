/** What the build does to the sources on their way into the bundle: esbuild plugins. */
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'

/** Turns imports of the parts that are bundled apart into loads of their files in dist/. */
export function keepApart(root, parts, entry) {
  return {
    name: 'keep-apart',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, kind }) => {
        const source = resolve(resolveDir, path)
        if (!(source in parts) || source === entry) return undefined
        if (kind !== 'dynamic-import') {
          return { errors: [{ text: `${relative(root, source)} is a part of its own: load it by import(), lazily.` }] }
        }
        return { path: `./${parts[source]}`, external: true }
      })
    },
  }
}

/**
 * meow reads the package.json above it unless it is given one, as we do; the code for that sorts lists of licences
 * when it is loaded, at every start. It is made to load when it is called. What is left of a program that it could
 * run, and does not, loads node:child_process.
 */
export function leanMeow() {
  const setup = (build) =>
    build.onLoad({ filter: /meow[\\/]build[\\/]dependencies\.js$/ }, ({ path }) => {
      const eager = [
        [
          'var libExports = requireLib$1();',
          'const libExports = { codeFrameColumns: (...all) => requireLib$1().codeFrameColumns(...all) };',
        ],
        ['var normalizeExports = requireNormalize();', ''],
        ["import { execFile } from 'node:child_process';", ''],
        ['promisify(execFile);', ''],
        [
          'getDefaultExportFromCjs(normalizeExports)',
          '(...all) => getDefaultExportFromCjs(requireNormalize())(...all)',
        ],
      ]
      let contents = readFileSync(path, 'utf8')
      for (const [from, to] of eager) {
        if (!contents.includes(from))
          return { errors: [{ text: `meow no longer has ${from}: see whether it still costs start-up.` }] }
        contents = contents.replace(from, () => to)
      }
      return { contents, loader: 'js' }
    })
  return { name: 'lean-meow', setup }
}

/** zod takes the messages of fifty languages along, which are all made at start; English is what models read. */
export function leanZod() {
  const english = { contents: "export { default as en } from './en.js'", loader: 'js' }
  const setup = (build) => build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => english)
  return { name: 'lean-zod', setup }
}
