import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesSegment, parseSegment } from '../../../src/services/tools/search/wildcard.ts'

// Names hold no [, since [id] also means the name itself here, and in a shell it does not.
const pattern = fc.string({ unit: fc.constantFrom(...'aab**?[]!-^é😀'), minLength: 1, maxLength: 6 })
const name = fc.string({ unit: fc.constantFrom(...'aab-]!^é😀'), minLength: 1, maxLength: 5 })

test('a segment matches the names that bash says it matches', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(pattern, name), { minLength: 300, maxLength: 300 }), (drawn) => {
      const pairs = drawn.flatMap(([source, name]) => {
        const segment = parseSegment(source)
        return segment.ok ? [{ source, name, ours: matchesSegment(segment.value, name) }] : []
      })
      const script = pairs.map(({ source, name }) => `p='${source}'; [[ '${name}' == $p ]] && echo yes || echo no`)
      const env = { ...process.env, LC_ALL: 'C.UTF-8' }
      const answers = execFileSync('bash', [], { input: script.join('\n'), encoding: 'utf8', env })
        .trim()
        .split('\n')
      const theirs = pairs.map(({ source, name }, n) => ({ source, name, ours: answers[n] === 'yes' }))
      expect(pairs).toEqual(theirs)
    }),
    { numRuns: 10 },
  )
})
