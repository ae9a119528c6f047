/** The demo's parts fit each other: a project whose tests fail, and recorded edits that mend it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AssistantBlock, ToolUseBlock } from '../src/machines/messages.ts'

const DEMO = join(import.meta.dirname, '../demo')
let project: string

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'stepwright-demo-'))
  cpSync(join(DEMO, 'project'), project, { recursive: true })
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

/** What the project's tests say, in the order they stand in. */
function testResults(): string[] {
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: project,
    env,
    encoding: 'utf8',
  })
  return stdout.split('\n').flatMap((line) => /^ *((?:not )?ok \d+ - (?!\S*\.js$).*)$/.exec(line)?.[1] ?? [])
}

function recordedCalls(): ToolUseBlock[] {
  const lines = readFileSync(join(DEMO, 'replies.jsonl'), 'utf8').trimEnd().split('\n')
  return lines
    .flatMap((line) => (JSON.parse(line) as { reply: { content: AssistantBlock[] } }).reply.content)
    .filter((block) => block.type === 'tool_use')
}

test('two of the three tests fail until the recorded edits are made', () => {
  const before = testResults()
  for (const { name, input } of recordedCalls()) {
    if (name !== 'edit_file') continue
    const { path, old_text, new_text } = input as { path: string; old_text: string; new_text: string }
    const parts = readFileSync(join(project, path), 'utf8').split(old_text)
    expect(parts).toHaveLength(2)
    writeFileSync(join(project, path), parts.join(new_text))
  }
  expect({ before, after: testResults() }).toEqual({
    before: [
      'ok 1 - adds up quantities',
      'not ok 2 - keeps every cent of a price',
      'not ok 3 - reads the last line where no line end follows it',
    ],
    after: [
      'ok 1 - adds up quantities',
      'ok 2 - keeps every cent of a price',
      'ok 3 - reads the last line where no line end follows it',
    ],
  })
})

test('every recorded call has an id of its own', () => {
  const ids = recordedCalls().map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)])
})
