/** docs/cases.md says which test holds which case: what it names must be there. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** @returns each file the table names, with words of a title; "" for the whole file */
function named(): Array<{ id: string; file: string; title: string }> {
  const rows = readFileSync(join(ROOT, 'docs/cases.md'), 'utf8').matchAll(/^\| (B\d+) .*? \| (`.*) \|$/gm)
  return [...rows].flatMap(([, id = '', cell = '']) =>
    cell.split('<br>').map((reference) => {
      const [, file = '', title = ''] = /^`([^`]+)` ?(.*)$/.exec(reference) ?? []
      return { id, file, title: title.replaceAll('&lt;', '<').replaceAll('&gt;', '>') }
    }),
  )
}

test('every case names tests that there are', () => {
  const references = named()
  expect(new Set(references.map(({ id }) => id)).size).toBe(102)
  const missing = references.filter(({ file, title }) => {
    const path = join(ROOT, 'test', file)
    if (file === '' || !existsSync(path)) return true
    const source = readFileSync(path, 'utf8')
    return !source.includes(title) && !source.includes(title.replaceAll("'", "\\'"))
  })
  expect(missing).toEqual([])
})
