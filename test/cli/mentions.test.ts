import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, type FakeModel, reply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

/** The blocks of a request's last user message, without cache marks. */
function lastBlocks(model: FakeModel, n = 0) {
  expect(model.problems).toEqual([])
  const message = model.requests[n]?.body.messages.at(-1)
  expect(message?.role).toBe('user')
  return message?.content.map(({ cache_control: _, ...block }) => block)
}

const text = (value: string) => ({ type: 'text', text: value })
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('a mention in the prompt', () => {
  test('the message carries the prompt as typed and the file in a second block', async () => {
    const { model, run, dir } = await setUp(['ok'])
    writeFileSync(join(dir, 'a.ts'), 'const a = 1 // $& MARK\n')
    const end = await run(['-p', 'explain  @a.ts, please\n'])
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
    expect(lastBlocks(model)).toEqual([
      text('explain  @a.ts, please\n'),
      text('<file path="a.ts">\nconst a = 1 // $& MARK\n</file>'),
    ])
  })

  test.each(['see @missing.ts', 'mail me@a.ts', 'npm i @types/node @a.ts.bak', '(@a.ts)', 'just @'])(
    '%j mentions nothing and stays as typed',
    async (prompt) => {
      const { model, run, dir } = await setUp(['ok'])
      writeFileSync(join(dir, 'a.ts'), 'MARK')
      const end = await run(['-p', prompt])
      expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' })
      expect(lastBlocks(model)).toEqual([text(prompt)])
    },
  )

  test('punctuation, quotes, blanks, accents, ranges and repeats', async () => {
    const { model, run, dir } = await setUp(['ok'])
    const files = {
      'a.txt': 'AA\nBB\nCC\nDD\n',
      'a b.txt': 'SPACED',
      'foo?bar.txt': 'ODD',
      'x,y.txt': 'COMMA',
      'end.': 'END',
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content)
    writeFileSync(join(dir, 'é.txt'.normalize('NFD')), 'ACCENT')
    const prompt = `see @a.txt, (@a.txt) "@a.txt". @foo?bar.txt @x,y.txt @"a b.txt" @a\\ b.txt @${'é.txt'.normalize('NFC')} @end. @a.txt @a.txt:3-5`
    await run(['-p', prompt])
    const blocks = lastBlocks(model) ?? []
    expect(blocks[0]).toEqual(text(prompt))
    expect(String(blocks[1]?.text).match(/path="[^"]*"/g)).toEqual(
      ['a.txt', 'foo?bar.txt', 'x,y.txt', 'a b.txt', 'é.txt'.normalize('NFD'), 'end.'].map((name) => `path="${name}"`),
    )
    expect(blocks).toHaveLength(2)
  })

  test('lines of a file', async () => {
    const { model, run, dir } = await setUp(['ok'])
    writeFileSync(join(dir, 'a.ts'), Array.from({ length: 20 }, (_, n) => `line ${n + 1}\n`).join(''))
    await run(['-p', '@a.ts#L3-4'])
    expect(lastBlocks(model)?.[1]).toEqual(text('<file path="a.ts" lines="3-4">\nline 3\nline 4\n</file>'))
  })

  test('a directory gives its listing, a binary its name and size', async () => {
    const { model, run, dir } = await setUp(['ok'])
    mkdirSync(join(dir, 'src/sub'), { recursive: true })
    writeFileSync(join(dir, 'src/b.ts'), '')
    writeFileSync(join(dir, 'src/a.ts'), '')
    writeFileSync(join(dir, 'x.bin'), Buffer.from([0, 1, 2, 0xff]))
    await run(['-p', 'look at @src/ and @x.bin'])
    expect(lastBlocks(model)?.[1]).toEqual(
      text(
        '<directory path="src/">\na.ts\nb.ts\nsub/\n</directory>\n\n<file path="x.bin">\n(binary file, 4 bytes: not shown)\n</file>',
      ),
    )
  })

  test('an image becomes an image block', async () => {
    const { model, run, dir } = await setUp(['ok'])
    writeFileSync(join(dir, 'shot'), PNG)
    await run(['-p', 'what is in @shot?'], { stdin: 'PIPED' })
    expect(lastBlocks(model)).toEqual([
      text('what is in @shot?'),
      text(`<file path="shot">\n(image/png, ${PNG.length} bytes: in an image block of this message)\n</file>`),
      text('PIPED'),
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.toString('base64') } },
    ])
  })

  test('what is outside the project is attached, since the user typed it; ~ is the home directory', async () => {
    const { model, run, home, dir } = await setUp(['ok'])
    writeFileSync(join(home, 'x.txt'), 'HOME-X')
    writeFileSync(join(dir, '.env'), 'DOT-ENV')
    await run(['-p', `@~/x.txt @.env @${home}/../etc-missing`])
    expect(String(lastBlocks(model)?.[1]?.text).match(/HOME-X|DOT-ENV/g)).toEqual(['HOME-X', 'DOT-ENV'])
  })

  test('nothing but the prompt is looked through for mentions', async () => {
    const { model, run, dir } = await setUp([reply([call('bash', { command: 'echo @other.txt' })]), 'ok'])
    writeFileSync(join(dir, 'other.txt'), 'OTHER-MARK')
    writeFileSync(join(dir, 'a.txt'), 'see @other.txt')
    writeFileSync(join(dir, 'AGENTS.md'), 'and also @other.txt, always')
    await run(['--yes', '-p', 'read @a.txt'], { stdin: 'and @other.txt' })
    expect(model.requests).toHaveLength(2)
    for (const { raw } of model.requests) expect(raw).not.toContain('OTHER-MARK')
  })

  test('FIFOs, devices and links to nothing stay as typed, with a line on stderr', async () => {
    const { model, run, dir } = await setUp(['ok'])
    execFileSync('mkfifo', [join(dir, 'fifo')])
    symlinkSync('nowhere', join(dir, 'dangling'))
    const end = await run(['-p', 'see @fifo @/dev/zero @dangling'])
    expect(end.code).toBe(0)
    expect(lastBlocks(model)).toEqual([text('see @fifo @/dev/zero @dangling')])
    expect(end.stderr.match(/@\S+ was not attached/g)).toEqual([
      '@fifo was not attached',
      '@/dev/zero was not attached',
      '@dangling was not attached',
    ])
  })

  test('a file over 256 KiB is cut and said so', async () => {
    const { model, run, dir } = await setUp(['ok'])
    writeFileSync(join(dir, 'big.txt'), `HEAD${'x'.repeat(5_000_000)}`)
    const end = await run(['-p', '@big.txt'])
    const attached = String(lastBlocks(model)?.[1]?.text)
    expect(attached).toMatch(/^<file path="big.txt" shown="the first 256 KiB of 4.8 MiB">\nHEADx/)
    expect(attached.length).toBeLessThan(263_000)
    expect(end.stderr).toContain('@big.txt: only the first 256 KiB of 4.8 MiB are attached.')
  })

  test('two thousand in one prompt: a bounded number, a bounded size, and a line on stderr', async () => {
    const { model, run, dir } = await setUp(['ok'])
    const names = Array.from({ length: 2000 }, (_, n) => `f${n}.txt`)
    for (const name of names) writeFileSync(join(dir, name), 'x'.repeat(20_000))
    const prompt = names.map((name) => `@${name}`).join(' ')
    const end = await run(['-p', prompt])
    expect(end.code).toBe(0)
    const blocks = lastBlocks(model) ?? []
    expect(blocks[0]).toEqual(text(prompt))
    expect(Buffer.byteLength(String(blocks[1]?.text))).toBeLessThanOrEqual(512 * 1024 + 1000)
    expect(end.stderr).toMatch(/Not attached, since one prompt takes 100 files and 512 KiB of text: .* and 1971 more\./)
  })
})

describe('a mention stays what it was', () => {
  test('a resumed session sends the attachment again as it was then', async () => {
    const { model, run, dir } = await setUp(['one', 'two'])
    writeFileSync(join(dir, 'a.txt'), 'BEFORE')
    await run(['-p', 'see @a.txt'])
    writeFileSync(join(dir, 'a.txt'), 'CHANGED')
    await run(['--continue', '-p', 'and now?'])
    expect(model.problems).toEqual([])
    expect(model.requests[1]?.raw).toContain('BEFORE')
    expect(model.requests[1]?.raw).not.toContain('CHANGED')
  })

  test('the prompt that sets off a compaction is sent after it, verbatim with its attachment, once and last', async () => {
    const summary = 'SUMMARY-1 of the work so far.'
    const { model, run, dir } = await setUp([
      reply('OLD-ANSWER', { usage: { input_tokens: 5000, output_tokens: 1 } }),
      summary,
      'answer',
      'later answer',
    ])
    mkdirSync(join(dir, '.agent'))
    writeFileSync(join(dir, '.agent/settings.json'), '{"compaction": {"input_tokens": 1000}}')
    writeFileSync(join(dir, 'f.txt'), 'FILE-MARK')
    writeFileSync(join(dir, 'AGENTS.md'), 'RULE-MARK')
    await run(['-p', 'OLD-PROMPT'])
    await run(['--continue', '-p', 'UNIQUE-Q $& @f.txt'])
    expect(model.problems).toEqual([])
    expect(model.requests).toHaveLength(3)
    const [, compaction, after] = model.requests.map(({ raw }) => raw)
    expect(compaction).not.toMatch(/UNIQUE-Q|FILE-MARK/)
    expect(after).not.toMatch(/OLD-PROMPT|OLD-ANSWER/)
    expect(after?.match(/UNIQUE-Q|FILE-MARK|RULE-MARK|SUMMARY-1/g)?.sort()).toEqual(
      ['FILE-MARK', 'RULE-MARK', 'SUMMARY-1', 'UNIQUE-Q'].sort(),
    )
    expect(lastBlocks(model, 2)?.slice(-2)).toEqual([
      text('UNIQUE-Q $& @f.txt'),
      text('<file path="f.txt">\nFILE-MARK\n</file>'),
    ])
    await run(['--continue', '-p', 'next'])
    expect(model.requests[3]?.raw).not.toMatch(/OLD-PROMPT|OLD-ANSWER/)
    expect(model.requests[3]?.raw.match(/UNIQUE-Q/g)).toHaveLength(1)
  })

  test('after a compaction and a change the instructions are there once, as they are now', async () => {
    const { model, run, dir } = await setUp([
      reply('one', { usage: { input_tokens: 5000, output_tokens: 1 } }),
      'SUMMARY',
      'two',
    ])
    mkdirSync(join(dir, '.agent'))
    writeFileSync(join(dir, '.agent/settings.json'), '{"compaction": {"input_tokens": 1000}}')
    writeFileSync(join(dir, 'AGENTS.md'), 'MARK-A')
    await run(['-p', 'hi'])
    writeFileSync(join(dir, 'AGENTS.md'), 'MARK-B')
    await run(['--continue', '-p', 'go on'])
    expect(model.problems).toEqual([])
    expect(model.requests.map(({ raw }) => raw.match(/MARK-[AB]/g))).toEqual([['MARK-A'], ['MARK-B'], ['MARK-B']])
    expect(model.requests.every(({ body }) => /MARK-[AB]/.test(String(body.system)))).toBe(true)
  })
})
