/** What was typed before, in a file that conversations side by side share. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { openHistory } from '../../src/tui/history.ts'
import { temporaryDirectory } from '../support/agent.ts'
import { atOnce } from '../support/atOnce.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Opens it again and again, as conversations that come and go, with lines of one character and of many. */
const TYPES = `
  import { openHistory } from '../../src/tui/history.ts'
  const [home, n, count] = args
  let history = openHistory(home, '/project')
  for (let at = 0; at < Number(count); at++) {
    history.add([n, at, 'ä'.repeat(at % 7 === 0 ? 15_000 : 1)].join(' '))
    if (at % 10 === 9) {
      history = openHistory(home, '/project')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }`

const typed = (n: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => [n, at, 'ä'.repeat(at % 7 === 0 ? 15_000 : 1)].join(' '))

function fileOf(home: string): string {
  openHistory(home, '/project').add('x')
  const [name = ''] = readdirSync(join(home, 'history'))
  return join(home, 'history', name)
}

describe('the history of a directory', () => {
  test('has every line of twelve conversations at once, also while the file is set aside', async () => {
    const home = temporaryDirectory()
    const file = fileOf(home)
    // Short of being set aside, which then happens once among all of them.
    const before = Array.from({ length: 900 }, (_, n) => `before ${n}`)
    writeFileSync(file, before.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await atOnce(
      TYPES,
      Array.from({ length: 12 }, (_, n) => [home, String(n), '80']),
    )
    const all = openHistory(home, '/project').all()
    expect(all.slice(0, 900)).toEqual(before)
    const mine = (n: number): string[] => all.filter((line) => line.startsWith(`${n} `))
    expect(Array.from({ length: 12 }, (_, n) => mine(n))).toEqual(Array.from({ length: 12 }, (_, n) => typed(n, 80)))
    expect(all.length).toBe(900 + 12 * 80)
    const names = readdirSync(join(home, 'history'))
    expect(names.length).toBe(2)
    expect(names.map((name) => statSync(join(home, 'history', name)).mode & 0o777)).toEqual([0o600, 0o600])
  })

  test('goes on after half a line', () => {
    const home = temporaryDirectory()
    const file = fileOf(home)
    appendFileSync(file, '"half a li')
    openHistory(home, '/project').add('whole')
    expect(openHistory(home, '/project').all()).toEqual(['x', 'whole'])
  })

  test('keeps the last thousand at least, twice that at most, however long it grows', async () => {
    const home = temporaryDirectory()
    const file = fileOf(home)
    const added: string[] = ['x']
    for (let n = 0; n < 35; n++) {
      const history = openHistory(home, '/project')
      for (let at = 0; at < 100; at++) {
        history.add(`${n} ${at}`)
        added.push(`${n} ${at}`)
      }
      await vi.waitFor(() => expect(readdirSync(join(home, 'history')).filter((one) => /lock/.test(one))).toEqual([]))
    }
    const all = openHistory(home, '/project').all()
    expect(all).toEqual(added.slice(-all.length))
    expect(all.length).toBeGreaterThan(1_000)
    expect(all.length).toBeLessThan(2_400)
    expect(readFileSync(file, 'utf8').length).toBeLessThan(60_000)
  })

  test('of a home that cannot be written is there until the end', () => {
    const home = join(temporaryDirectory(), 'file')
    writeFileSync(home, '')
    const history = openHistory(home, '/project')
    history.add('a')
    history.add('a')
    history.add('b')
    expect([history.all(), openHistory(home, '/project').all()]).toEqual([['a', 'b'], []])
  })

  test('leaves out what is no string and what is broken', () => {
    const home = temporaryDirectory()
    mkdirSync(join(home, 'history'))
    writeFileSync(fileOf(home), '"a"\n{"b": 1}\n5\n"c\n\n\ufffd\n"d"\n')
    expect(openHistory(home, '/project').all()).toEqual(['a', 'd'])
  })
})
