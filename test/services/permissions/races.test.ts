/** Between the moment a path is judged and the moment it is used, someone swaps a directory for a link. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ToolEnv, ToolResult } from '../../../src/services/ports.ts'
import { replaceFile } from '../../../src/services/tools/files/replaceFile.ts'
import { createTools } from '../../../src/services/tools/registry.ts'
import { temporaryDirectory } from '../../support/agent.ts'
import { type Judge, judgeWith } from './support.ts'

const tools = createTools()
let cwd: string
let outside: string
let judge: Judge

beforeEach(async () => {
  const top = temporaryDirectory()
  cwd = join(top, 'project')
  outside = join(top, 'outside')
  mkdirSync(join(cwd, 'd/deep'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret'), 'SECRET')
  writeFileSync(join(cwd, 'd/secret'), 'open')
  judge = await judgeWith({ allow: ['Edit(**)'] }, { cwd })
})

/** Decides, lets `between` happen, and runs what was allowed. */
async function call(name: string, input: Record<string, unknown>, between = (): void => {}): Promise<ToolResult> {
  const block = { type: 'tool_use' as const, id: 't', name, input }
  const checked = await tools.check(block, cwd)
  if (checked.kind === 'invalid') throw new Error(checked.content)
  const decision = await judge.port.decide(block, checked.effect)
  if (decision.kind !== 'allow') return { kind: 'error', content: decision.reason }
  between()
  const approved = new Map(decision.paths?.map(({ given, real }) => [given, real]))
  const env: ToolEnv = { cwd, signal: new AbortController().signal, childEnv: {}, seen: new Map(), approved }
  return checked.run(env)
}

function swap(): void {
  renameSync(join(cwd, 'd'), join(cwd, 'd2'))
  symlinkSync(outside, join(cwd, 'd'))
}

describe('a directory that is swapped for a link after the decision', () => {
  test.each([
    ['write_file', { path: 'd/new', content: 'x' }],
    ['write_file', { path: 'd/deep/new', content: 'x' }],
    ['write_file', { path: 'd/made/new', content: 'x' }],
    ['write_file', { path: 'd/secret', content: 'x' }],
    ['edit_file', { path: 'd/secret', old_text: 'SECRET', new_text: 'x' }],
    ['read_file', { path: 'd/secret' }],
    ['grep', { pattern: 'SECRET', path: 'd' }],
    ['glob', { pattern: 'd/*' }],
  ])('%s %j is refused', async (name, input) => {
    const result = await call(name, input, swap)
    expect(result).toMatchObject({ kind: 'error', content: expect.stringContaining('leads elsewhere than when') })
    expect(readdirSync(outside)).toEqual(['secret'])
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('SECRET')
  })

  test('also where the file itself becomes a link', async () => {
    const result = await call('write_file', { path: 'd/new', content: 'x' }, () => {
      symlinkSync(join(outside, 'made'), join(cwd, 'd/new'))
    })
    expect(result.kind).toBe('error')
    expect(readdirSync(outside)).toEqual(['secret'])
  })

  test('nothing is refused where nothing changed, links on the way included', async () => {
    symlinkSync('d', join(cwd, 'link'))
    expect(await call('write_file', { path: 'link/new/x', content: 'x' })).toMatchObject({ kind: 'ok' })
    expect(await call('read_file', { path: 'link/new/x' })).toEqual({ kind: 'ok', content: 'x' })
    expect(await call('grep', { pattern: 'x', path: 'link/new' })).toMatchObject({ kind: 'ok' })
  })
})

test('the write itself goes by the directory that was opened: a path that leads through a link now fails', async () => {
  swap()
  expect(await replaceFile(join(cwd, 'd/new'), Buffer.from('x'), null)).toMatchObject({ kind: 'failed' })
  expect(await replaceFile(join(cwd, 'd/a/b/new'), Buffer.from('x'), null)).toMatchObject({ kind: 'failed' })
  expect(readdirSync(outside)).toEqual(['secret'])
  rmSync(join(cwd, 'd'))
})

test('while another process swaps all the time nothing is ever written outside', async () => {
  // What the agent makes in the moment when there is no d is thrown away.
  const swapper = `
    const { existsSync, renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs')
    const attempt = (step) => { try { step() } catch {} }
    const still = new Int32Array(new SharedArrayBuffer(4))
    process.stdout.write('x')
    for (;;) {
      attempt(() => renameSync('d', 'd2'))
      attempt(() => symlinkSync(process.argv[1], 'd'))
      attempt(() => unlinkSync('d'))
      attempt(() => renameSync('d2', 'd'))
      if (existsSync('d2')) {
        attempt(() => renameSync('d', 'd3'))
        attempt(() => renameSync('d2', 'd'))
        rmSync('d3', { recursive: true, force: true })
      }
      Atomics.wait(still, 0, 0, Math.random() * 2)
    }`
  const child = spawn(process.execPath, ['-e', swapper, outside], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  let written = 0
  for (let i = 0; i < 300; i++) {
    const result = await call('write_file', { path: `d/f${i}`, content: 'x' })
    const deep = await call('write_file', { path: `d/deep${i}/f`, content: 'x' })
    const read = await call('read_file', { path: 'd/secret' })
    if (result.kind === 'ok' || deep.kind === 'ok') written += 1
    expect(JSON.stringify(read)).not.toContain('SECRET')
  }
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
  expect(readdirSync(outside)).toEqual(['secret'])
  expect(written).toBeGreaterThan(0)
})
