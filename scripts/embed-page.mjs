/**
 * Makes src/inspectPage/embedded.json, which dist/inspect.cjs carries: the inspector's page as `{html, css, js}`.
 * Generated, not in git; the sources are beside it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param esbuild the loaded module */
export async function embedPage(root, esbuild) {
  const folder = join(root, 'src/inspectPage')
  if (!existsSync(folder)) return
  const bundle = async (entry) => {
    const { outputFiles } = await esbuild.build({
      absWorkingDir: root,
      entryPoints: [join(folder, entry)],
      bundle: true,
      write: false,
      minify: true,
      charset: 'utf8',
      format: 'iife',
      // Browsers of the last two years; nothing is filled in for older ones.
      target: ['chrome120', 'firefox121', 'safari17.2'],
      legalComments: 'none',
      logLevel: 'warning',
    })
    return outputFiles[0].text.trim()
  }
  const [js, css] = await Promise.all([bundle('main.ts'), bundle('style.css')])
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  const text = `${JSON.stringify({ html, css, js }, null, 2)}\n`
  const target = join(folder, 'embedded.json')
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
}
