import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

test('README shows the help and the demo as they are printed', () => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/readme.mjs'), '--check'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
})

test('README and AGENTS.md carry the line that tells how the agent is started', () => {
  for (const file of ['README.md', 'AGENTS.md']) {
    expect(readFileSync(join(ROOT, file), 'utf8')).toMatch(/^agent: node dist\/cli\.js$/m)
  }
})

test('AGENTS.md maps every folder of the sources', () => {
  const map = readFileSync(join(ROOT, 'AGENTS.md'), 'utf8')
  const folders = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile())
    .map(({ parentPath }) => relative(ROOT, parentPath).split(sep).slice(0, 3).join('/'))
  const missing = [...new Set(folders)].filter((folder) => !map.includes(folder.replace(/^src\//, '')))
  expect(missing).toEqual([])
})
