/** The names under which a file is tried, one after the other, until one is free. */
import { randomBytes } from 'node:crypto'
import { safeName } from './fileName.ts'

/** Then a random one. Servers that count their ids anew in each session need some. */
const NAMES_TRIED = 20

/** @returns `<id>.<extension>`, `<id>-2.<extension>`, …; without end */
export function* namesOf(id: string, extension: string): Generator<string> {
  const base = safeName(id)
  yield `${base}.${extension}`
  for (let n = 2; n <= NAMES_TRIED; n++) yield `${base}-${n}.${extension}`
  for (;;) yield `${base}-${randomBytes(6).toString('hex')}.${extension}`
}

/** @returns `<id>-<n>.jsonl` and the numbers that follow; without end */
export function* numbered(id: string, n: number): Generator<string> {
  const base = safeName(id)
  for (let at = n; ; at++) yield `${base}-${at}.jsonl`
}
