/** The demo project's skills are right: no remarks, and what they name is there. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSkills, findSkills } from '../../../src/services/skills/index.ts'

function demo() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-demo-skills-')))
  onTestFinished(() => rmSync(top, { recursive: true, force: true }))
  const cwd = join(top, 'project')
  cpSync(join(import.meta.dirname, '../../../demo/project'), cwd, { recursive: true })
  return { cwd, home: join(top, 'home'), agentHome: join(top, 'home/.agent'), trusted: false }
}

test('there are three, without a remark, and they load with the files that their texts name', async () => {
  const place = demo()
  const { skills, warnings } = await findSkills(place)
  expect([...skills.values()].map(({ name, remarks }) => [name, remarks])).toEqual([
    ['code-review', []],
    ['failing-test', []],
    ['release-notes', []],
  ])
  expect(warnings).toEqual([])
  const { load } = createSkills({ ...place, warn: () => {} })
  for (const name of skills.keys()) {
    const text = String((await load(name)).content)
    for (const [path] of text.matchAll(/\b(?:references|scripts)\/[\w.-]+\w/g)) {
      expect([path, existsSync(join(place.cwd, 'skills', name, path))]).toEqual([path, true])
    }
  }
})

test('the script of the release notes lists the commits since the last tag', () => {
  const { cwd } = demo()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd, encoding: 'utf8' })
  git('init', '-q')
  git('add', 'src')
  git('commit', '-q', '-m', 'Add the sources')
  const script = join(cwd, 'skills/release-notes/scripts/since-last-release.sh')
  const run = () => execFileSync('bash', [script], { cwd, encoding: 'utf8' })
  expect(run()).toMatch(
    /^last release: none\ncommits since:\n\n[0-9a-f]+ \d{4}-\d\d-\d\d Add the sources\n[\s\S]*src\/money\.js/,
  )
  git('tag', 'v1.0.0')
  git('add', 'test')
  git('commit', '-q', '-m', 'Add the tests')
  expect(run()).toMatch(/^last release: v1\.0\.0\ncommits since:\n\n[0-9a-f]+ \d{4}-\d\d-\d\d Add the tests\n/)
  expect(run()).not.toContain('Add the sources')
})
