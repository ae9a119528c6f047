import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { namesOf } from '../../../src/services/compaction/names.ts'
import { createSpool } from '../../../src/services/compaction/spool.ts'
import { createTaskOutputs } from '../../../src/services/compaction/taskOutputs.ts'
import { bashTool } from '../../../src/services/tools/bash.ts'
import { temporaryDirectory } from '../../support/agent.ts'

const spoolIn = (directory: string, most?: number) =>
  createSpool({
    directory: () => directory,
    names: namesOf('id', 'txt'),
    shown: (name) => `shown/${name}`,
    ...(most !== undefined && { most }),
  })

describe('a spool', () => {
  test('makes no file until something comes', () => {
    const directory = temporaryDirectory()
    expect(spoolIn(directory).end()).toBeNull()
    expect(readdirSync(directory)).toEqual([])
  })

  test('takes all that comes, under a name that was free', () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'id.txt'), 'another')
    const spool = spoolIn(directory)
    for (const text of ['one ', '', 'zwölf']) spool.write(text)
    expect(spool.end()).toEqual({ path: 'shown/id-2.txt', bytes: 10, leftOut: 0 })
    expect(readFileSync(join(directory, 'id-2.txt'), 'utf8')).toBe('one zwölf')
    expect(readFileSync(join(directory, 'id.txt'), 'utf8')).toBe('another')
  })

  test('says what was beyond its bound', () => {
    const directory = temporaryDirectory()
    const spool = spoolIn(directory, 10)
    for (const text of ['12345678', 'abc', 'd']) spool.write(text)
    expect(spool.end()).toEqual({ path: 'shown/id.txt', bytes: 8, leftOut: 4 })
    expect(readFileSync(join(directory, 'id.txt'), 'utf8')).toBe('12345678')
  })

  test('that cannot be made is as if nothing had come', () => {
    const spool = spoolIn(join(temporaryDirectory(), 'gone'))
    spool.write('x')
    spool.write('y')
    expect(spool.end()).toBeNull()
  })
})

describe('the output of bash', () => {
  async function run(command: string) {
    const cwd = temporaryDirectory()
    const spool = createTaskOutputs(cwd).spool('id')
    const result = await bashTool.run(
      { command },
      { cwd, childEnv: process.env, signal: new AbortController().signal, seen: new Map(), spool },
    )
    const spooled = spool.end()
    return { result, spooled, file: spooled === null ? null : readFileSync(join(cwd, spooled.path), 'utf8') }
  }
  const numbers = (to: number) => Array.from({ length: to }, (_, n) => `${n + 1}\n`).join('')

  test('of less than a megabyte stays in memory', async () => {
    const { result, spooled } = await run('seq 1 100000')
    expect(spooled).toBeNull()
    expect(result).toEqual({ kind: 'ok', content: numbers(100_000).trimEnd() })
  })

  test('of more is whole in a file', async () => {
    const { spooled, file } = await run('seq 1 1000000')
    expect(file === numbers(1_000_000)).toBe(true)
    expect(spooled).toEqual({ path: '.task_outputs/tool-results/id.txt', bytes: file?.length, leftOut: 0 })
  })

  test('is plain text there too, characters and escape sequences whole wherever the chunks end', async () => {
    const line = '\\033[31m€ red\\033[0m'
    const { file } = await run(`for i in $(seq 150000); do printf '${line}\\n'; done`)
    expect(file === '€ red\n'.repeat(150_000)).toBe(true)
  })

  test('of one endless line is bounded in memory and whole in the file', async () => {
    const { file } = await run('head -c 5000000 /dev/zero | tr "\\0" x')
    expect(file === 'x'.repeat(5_000_000)).toBe(true)
  })
})
