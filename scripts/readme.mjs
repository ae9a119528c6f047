/**
 * Puts what the program prints into README.md: the help and the demo, between `<!-- name -->` and `<!-- /name -->`.
 * usage: node scripts/readme.mjs [--check]   (after a build; --check writes nothing and ends with 1 where it differs)
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const README = join(ROOT, 'README.md')

/** What differs from run to run, in words that do not. */
function settled(text) {
  return text
    .replace(/\/\S*stepwright-demo-\w+/g, '/tmp/stepwright-demo')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '3f1c2a9e-…')
    .replace(/\b\d+\.\ds\b/g, '0.1s')
}

function print(...args) {
  const home = mkdtempSync(join(tmpdir(), 'stepwright-readme-'))
  try {
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: tmpdir() }
    return execFileSync(process.execPath, [join(ROOT, 'dist/cli.js'), ...args], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    }).trimEnd()
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const parts = { help: print('--help'), demo: settled(print('demo')) }
const before = readFileSync(README, 'utf8')
let after = before
for (const [name, text] of Object.entries(parts)) {
  const block = new RegExp(`(<!-- ${name} -->)[\\s\\S]*?(<!-- /${name} -->)`)
  if (!block.test(after)) throw new Error(`README.md has no place for ${name}.`)
  const body = text.replace(/^(?=.)/gm, '    ')
  after = after.replace(block, (_, open, close) => `${open}\n\n${body}\n\n${close}`)
}
if (process.argv.includes('--check')) {
  if (after !== before) {
    console.error('README.md does not show what the program prints: run npm run readme.')
    process.exitCode = 1
  }
} else writeFileSync(README, after)
