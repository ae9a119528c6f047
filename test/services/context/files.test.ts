import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cutText, decodeText, type Found } from '../../../src/services/context/files.ts'
import { cachedByState, readHead } from '../../../src/services/files.ts'
import { makePlace, type Place } from './support.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

describe('the head of a file', () => {
  test('is at most the limit, and it is known whether more follows', () => {
    const path = place.write({ a: '12345' })
    const head = (limit: number) => {
      const read = readHead(path, limit)
      return read.kind === 'read' ? [read.bytes.toString(), read.more] : read
    }
    expect([head(4), head(5), head(6)]).toEqual([
      ['1234', true],
      ['12345', false],
      ['12345', false],
    ])
  })

  test('of something that became a FIFO after it was looked at is not waited for', () => {
    const path = join(place.dir, 'fifo')
    execFileSync('mkfifo', [path])
    expect(readHead(path, 10)).toEqual({ kind: 'unreadable', reason: 'it is not a regular file' })
  })

  test('of a file that is gone is unreadable', () => {
    expect(readHead(join(place.dir, 'gone'), 10)).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringContaining('ENOENT'),
    })
  })
})

describe('cutting', () => {
  test('never splits a character, and takes no more away than needed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, limit) => {
        const cut = cutText(text, limit)
        expect(text.startsWith(cut)).toBe(true)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit)
        if (cut !== text) expect(Buffer.byteLength(cut)).toBeGreaterThan(limit - 4)
      }),
    )
  })

  test('bytes cut anywhere decode to the beginning of the text', () => {
    const text = 'aä€🙂'.repeat(20)
    const bytes = Buffer.from(text)
    for (let length = 0; length <= bytes.length; length++) {
      const decoded = decodeText(bytes.subarray(0, length), true) ?? expect.fail('taken for binary')
      expect(text.startsWith(decoded)).toBe(true)
    }
  })
})

describe('what was read of a file', () => {
  const state = (key: string, age: number): Found & { kind: 'file' } => ({
    kind: 'file',
    real: '/f',
    size: 1,
    key,
    changedAt: Date.now() - age,
  })

  test('is kept while the file is the same, and read again when it is not', () => {
    let reads = 0
    const read = cachedByState(() => ++reads)
    const old = state('a', 60_000)
    expect([read('/f', old), read('/f', old), read('/g', old), read('/f', state('b', 60_000))]).toEqual([1, 1, 2, 3])
  })

  test('is not kept of a file so young that it may change without a new time stamp', () => {
    let reads = 0
    const read = cachedByState(() => ++reads)
    const young = state('a', 100)
    expect([read('/f', young), read('/f', young)]).toEqual([1, 2])
  })
})
