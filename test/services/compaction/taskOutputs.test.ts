import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/machines/messages.ts'
import { safeName } from '../../../src/services/compaction/fileName.ts'
import { createTaskOutputs } from '../../../src/services/compaction/taskOutputs.ts'
import { temporaryDirectory } from '../../support/agent.ts'

const PIXEL = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data: 'aGVsbG8=' } }

function saved(result: { ok: true; value: string[] } | { ok: false; message: string }): string[] {
  return result.ok ? result.value : expect.fail(result.message)
}

describe('names of files', () => {
  test('an id of the API is its own name', () => {
    expect(safeName('toolu_01AbC-9')).toBe('toolu_01AbC-9')
  })

  test('whatever the id, the name is no path, not hidden, no option and no device', () => {
    const id = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('../../x', '..', '', '-rf', 'CON', 'nul', 'lpt1', 'a/b'),
    )
    fc.assert(
      fc.property(id, (given) => {
        const name = safeName(given)
        expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,100}$/)
        expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)$/i)
      }),
    )
  })

  test('ids that lead out of the folder stay in it', async () => {
    const cwd = temporaryDirectory()
    for (const id of ['../../escape', '/etc/passwd', 'a/../../b', 'x'.repeat(5000), 'nul', '..', ''])
      for (const path of saved(await createTaskOutputs(cwd).saveResult(id, 'text')))
        expect(readFileSync(join(cwd, path), 'utf8')).toBe('text')
    expect(readdirSync(cwd)).toEqual(['.task_outputs'])
    expect(readdirSync(join(cwd, '.task_outputs')).sort()).toEqual(['.gitignore', 'tool-results'])
    expect(readdirSync(join(cwd, '.task_outputs/tool-results'))).toHaveLength(7)
  })
})

describe('results', () => {
  test('whole and for this user only', async () => {
    const cwd = temporaryDirectory()
    const [path = ''] = saved(await createTaskOutputs(cwd).saveResult('id', 'ä😀\n'))
    expect(path).toBe('.task_outputs/tool-results/id.txt')
    expect(readFileSync(join(cwd, path), 'utf8')).toBe('ä😀\n')
    expect(statSync(join(cwd, path)).mode & 0o777).toBe(0o600)
    expect(statSync(join(cwd, '.task_outputs')).mode & 0o777).toBe(0o700)
  })

  test('one id many times, side by side: a file for each', async () => {
    const cwd = temporaryDirectory()
    const outputs = createTaskOutputs(cwd)
    const texts = Array.from({ length: 30 }, (_, n) => `text ${n}`)
    const paths = await Promise.all(texts.map(async (text) => saved(await outputs.saveResult('call_0', text))[0] ?? ''))
    expect(paths.map((path) => readFileSync(join(cwd, path), 'utf8'))).toEqual(texts)
  })

  test('the text first, then the images as files', async () => {
    const cwd = temporaryDirectory()
    const paths = saved(await createTaskOutputs(cwd).saveResult('id', [{ type: 'text', text: 'seen' }, PIXEL, PIXEL]))
    expect(paths.map((path) => path.slice('.task_outputs/tool-results/'.length))).toEqual([
      'id.txt',
      'id.png',
      'id-2.png',
    ])
    expect(readFileSync(join(cwd, paths[2] ?? ''), 'utf8')).toBe('hello')
  })

  test('the folder keeps itself out of git, and a .gitignore of the user is left alone', async () => {
    const cwd = temporaryDirectory()
    execFileSync('git', ['init', '-q'], { cwd })
    await createTaskOutputs(cwd).saveResult('id', 'x')
    expect(execFileSync('git', ['status', '--porcelain'], { cwd, encoding: 'utf8' })).toBe('')
    writeFileSync(join(cwd, '.task_outputs/.gitignore'), 'mine')
    await createTaskOutputs(cwd).saveResult('id', 'x')
    expect(readFileSync(join(cwd, '.task_outputs/.gitignore'), 'utf8')).toBe('mine')
  })

  test.each(['.task_outputs', '.task_outputs/tool-results'])(
    'are not written through a link in place of %s',
    async (link) => {
      const cwd = temporaryDirectory()
      const elsewhere = temporaryDirectory()
      if (link.includes('/')) mkdirSync(join(cwd, '.task_outputs'))
      symlinkSync(elsewhere, join(cwd, link))
      expect(await createTaskOutputs(cwd).saveResult('id', 'secret')).toEqual({
        ok: false,
        message: `${join(cwd, link)} is not a directory`,
      })
      expect(createTaskOutputs(cwd).spool('id').end()).toBeNull()
      expect(readdirSync(elsewhere)).toEqual([])
    },
  )

  test('a directory that is gone is a value that says so', async () => {
    const result = await createTaskOutputs(join(temporaryDirectory(), 'gone')).saveResult('id', 'x')
    expect(result).toEqual({ ok: false, message: expect.stringContaining('ENOENT') })
  })
})

describe('transcripts', () => {
  const messages: Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'line\nline' }, PIXEL] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: 's' }] },
  ]

  test('a message a line, without image data, and never over another', async () => {
    const cwd = temporaryDirectory()
    const outputs = createTaskOutputs(cwd)
    const one = await outputs.writeTranscript('s-1', 1, messages)
    const two = await outputs.writeTranscript('s-1', 1, [])
    expect([one, two]).toEqual([
      { ok: true, value: '.task_outputs/transcripts/s-1-1.jsonl' },
      { ok: true, value: '.task_outputs/transcripts/s-1-2.jsonl' },
    ])
    const lines = readFileSync(join(cwd, '.task_outputs/transcripts/s-1-1.jsonl'), 'utf8').split('\n')
    expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'line\nline' },
          { type: 'text', text: '[An image (image/png, 6 bytes) was here; read its file again to see it.]' },
        ],
      },
      messages[1],
    ])
  })

  test('what is left out is added to one file of the session', async () => {
    const cwd = temporaryDirectory()
    const outputs = createTaskOutputs(cwd)
    await outputs.appendSnipped('s-1', messages.slice(1))
    expect(await outputs.appendSnipped('s-1', messages.slice(1))).toEqual({
      ok: true,
      value: '.task_outputs/transcripts/s-1-snipped.jsonl',
    })
    const line = `${JSON.stringify(messages[1])}\n`
    expect(readFileSync(join(cwd, '.task_outputs/transcripts/s-1-snipped.jsonl'), 'utf8')).toBe(line + line)
  })

  test('a link in its place is not followed', async () => {
    const cwd = temporaryDirectory()
    mkdirSync(join(cwd, '.task_outputs/transcripts'), { recursive: true })
    writeFileSync(join(cwd, 'target'), 'untouched')
    symlinkSync(join(cwd, 'target'), join(cwd, '.task_outputs/transcripts/s-1-snipped.jsonl'))
    expect(await createTaskOutputs(cwd).appendSnipped('s-1', messages)).toMatchObject({ ok: false })
    expect(readFileSync(join(cwd, 'target'), 'utf8')).toBe('untouched')
  })
})
