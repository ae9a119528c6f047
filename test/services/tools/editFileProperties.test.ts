/** Properties of the replacement itself, on bytes: what an edit says and what it must leave alone. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { replaceText } from '../../../src/services/tools/files/changes.ts'

/** Lines of few letters, so that texts recur, with every ending mixed, and characters of 1 to 4 bytes. */
const piece = fc.constantFrom('a', 'b', 'ab', ' ', '\n', '\r\n', '\r', '$&', 'é', '€', '😀', '\uFEFF', 'e\u0301')
const anyText = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
const someText = anyText.filter((text) => text !== '')
const noCarriage = anyText.map((text) => text.replaceAll('\r', ''))
/** Without a lone CR beside LF: where what stands between the two is deleted, they become one ending. */
const usualText = fc.oneof(
  anyText.map((text) => text.replace(/\r(?!\n)/g, '')),
  anyText.map((text) => text.replaceAll('\n', '')),
)
const marked = (text: string) => `<${text}>`

const bytes = (text: string) => Buffer.from(text)

const asLineFeeds = (text: string) => text.replace(/\r\n|\r/g, '\n')

describe('a text that stands once', () => {
  test('is replaced, and every byte before and after it is the same', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, anyText, (before, old, after, next) => {
        const content = bytes(before + marked(old) + after)
        const edited = replaceText(content, { old: marked(old), new: next, all: false })
        if (edited.kind !== 'edited') {
          expect(edited.kind).toBe('unchanged')
          return
        }
        const [head, tail] = [bytes(before), bytes(after)]
        expect(edited.content.subarray(0, head.length)).toEqual(head)
        expect(edited.content.subarray(edited.content.length - tail.length)).toEqual(tail)
        const middle = edited.content.subarray(head.length, edited.content.length - tail.length).toString()
        expect(asLineFeeds(middle)).toBe(asLineFeeds(next))
      }),
      { numRuns: 1000 },
    )
  })

  test('with CR in it is taken byte for byte', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, noCarriage, (before, old, after, next) => {
        const exact = `\r${marked(old)}`
        const edited = replaceText(bytes(before + exact + after), { old: exact, new: next, all: false })
        expect(edited).toMatchObject({ kind: 'edited', content: bytes(before + next + after) })
      }),
      { numRuns: 1000 },
    )
  })

  test('sent with LF keeps the endings of the lines it leaves alone and gives no line an ending the file has not', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('x', 'y', 'é'), fc.constantFrom('\n', '\r\n', '\r')), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.nat(),
        fc.nat(),
        fc.array(fc.constantFrom('N', 'M'), { maxLength: 4 }),
        (pairs, first, length, added) => {
          // Numbered, so that each line is there once.
          const lines = pairs.map(([text, ending], index) => ({ text: `${text}${index}.`, ending }))
          const from = first % lines.length
          const to = Math.min(lines.length, from + 1 + (length % 4))
          const content = bytes(lines.map(({ text, ending }) => text + ending).join(''))
          const kept = lines.slice(from, to).map(({ text }) => `${text}\n`)
          const old = kept.join('')
          const [head = '', ...rest] = kept
          const next = [head, ...added.map((text) => `${text}\n`), ...rest].join('')
          const edited = replaceText(content, { old, new: next, all: false })
          if (added.length === 0) {
            expect(edited.kind).toBe('unchanged')
            return
          }
          if (edited.kind !== 'edited') throw new Error(edited.kind)
          const now = edited.content.toString().match(/[^\r\n]*(\r\n|\r|\n)/g) ?? []
          const inserted = lines[from]?.ending ?? ''
          const wanted = lines.map(({ text, ending }) => text + ending)
          wanted.splice(from + 1, 0, ...added.map((text) => text + inserted))
          expect(now).toEqual(wanted)
        },
      ),
      { numRuns: 1000 },
    )
  })
})

describe('a text that does not stand once', () => {
  test('is counted as often as it can be found, overlaps too, and changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 30 }), someText, (content, old) => {
        const found = [...content]
          .map((_, index) => index)
          .filter((index) => [...content].slice(index).join('').startsWith(old))
        const edited = replaceText(bytes(content), { old, new: 'X', all: false })
        if (found.length === 0) expect(edited).toEqual({ kind: 'noMatch' })
        else if (found.length === 1) expect(edited.kind).toBe('edited')
        else expect(edited).toEqual({ kind: 'ambiguous', lines: found.map(() => 1) })
      }),
      { numRuns: 1000 },
    )
  })
})

describe('replace_all', () => {
  test('does what splitting and joining does, where there is no CR', () => {
    fc.assert(
      fc.property(
        noCarriage,
        noCarriage.filter((text) => text !== ''),
        noCarriage,
        (content, old, next) => {
          const edited = replaceText(bytes(content), { old, new: next, all: true })
          const wanted = content.split(old).join(next)
          if (!content.includes(old)) expect(edited).toEqual({ kind: 'noMatch' })
          else if (wanted === content) expect(edited).toEqual({ kind: 'unchanged' })
          else expect(edited).toMatchObject({ kind: 'edited', content: bytes(wanted) })
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('does the same to lines whatever their endings', () => {
    fc.assert(
      fc.property(
        usualText,
        noCarriage.filter((text) => text !== ''),
        noCarriage,
        (content, old, next) => {
          const edited = replaceText(bytes(content), { old, new: next, all: true })
          const plain = asLineFeeds(content)
          if (edited.kind === 'noMatch') expect(plain.includes(old)).toBe(false)
          else if (edited.kind === 'edited')
            expect(asLineFeeds(edited.content.toString())).toBe(plain.split(old).join(next))
        },
      ),
      { numRuns: 1000 },
    )
  })
})
