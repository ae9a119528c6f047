/** What a person can say at a stop, and how lines come from a stream. */
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseCommand } from '../../src/services/step/command.ts'
import { createLines } from '../../src/services/step/lines.ts'

const NEVER = new AbortController().signal

test.each([
  ['n', { kind: 'next' }],
  ['', { kind: 'next' }],
  ['  next \r', { kind: 'next' }],
  ['N', { kind: 'next' }],
  ['c', { kind: 'continue' }],
  ['continue', { kind: 'continue' }],
  ['g 12', { kind: 'go', k: 12 }],
  ['go 0', { kind: 'go', k: 0 }],
  ['p', { kind: 'print', as: 'text' }],
  ['print json', { kind: 'print', as: 'json' }],
  ['q', { kind: 'quit' }],
  ['exit', { kind: 'quit' }],
  ['?', { kind: 'help' }],
] as const)('%j is a command', (line, command) => {
  expect(parseCommand(line)).toEqual(command)
})

test.each([
  ['g', 'g needs the number of a transition, such as g 12.'],
  ['g x', 'g needs the number of a transition, such as g 12.'],
  ['g -1', 'g needs the number of a transition, such as g 12.'],
  ['p xml', 'p takes nothing, or json: p json.'],
  ['n 2', '"n 2" is no command; h lists them.'],
  ['c now please', '"c now please" is no command; h lists them.'],
  ['run', '"run" is no command; h lists them.'],
])('%j is none, and the answer says what is', (line, message) => {
  expect(parseCommand(line)).toEqual({ kind: 'unknown', message })
})

test('any text comes out line by line, however it was cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.stringMatching(/^[^\n]{0,6}$/)),
      fc.integer({ min: 1, max: 7 }),
      async (words, size) => {
        const stream = new PassThrough()
        const bytes = Buffer.from(words.map((word) => `${word}\n`).join(''))
        for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size))
        stream.end()
        const lines = createLines(() => stream)
        const seen: string[] = []
        for (let line = await lines.next(NEVER); line !== null; line = await lines.next(NEVER)) seen.push(line)
        // As UTF-8 carries them: half a character is none.
        expect(seen).toEqual(words.map((word) => Buffer.from(word).toString()))
      },
    ),
  )
})

test('a last line needs no end, and after the end there is none', async () => {
  const stream = new PassThrough()
  stream.end('a\nb')
  const lines = createLines(() => stream)
  expect([await lines.next(NEVER), await lines.next(NEVER), await lines.next(NEVER), await lines.next(NEVER)]).toEqual([
    'a',
    'b',
    null,
    null,
  ])
})

test('who waits stops waiting when the run goes on, and the line is there for the next', async () => {
  const stream = new PassThrough()
  const lines = createLines(() => stream)
  const gone = new AbortController()
  const waiting = lines.next(gone.signal)
  gone.abort()
  expect(await waiting).toBeNull()
  stream.write('later\n')
  expect(await lines.next(NEVER)).toBe('later')
})

test('between two lines the stream belongs to others', async () => {
  const stream = new PassThrough()
  const lines = createLines(() => stream)
  stream.write('one\n')
  expect(await lines.next(NEVER)).toBe('one')
  expect(stream.isPaused()).toBe(true)
  stream.write('for a question\n')
  expect(String(stream.read())).toBe('for a question\n')
})
