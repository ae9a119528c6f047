import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  const folders = execFileSync('git', ['ls-files', 'src'], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((file) => file.split('/').slice(0, -1))
    .map((parts) => parts.slice(0, 3).join('/'))
  const missing = [...new Set(folders)].filter((folder) => !map.includes(folder.replace(/^src\//, '')))
  expect(missing).toEqual([])
})
