/** The key of every test run, and where it must not be: in no file, no output, no request's body. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every test run of the command line uses this key. */
export const TEST_KEY = 'sk-ant-test-0123456789-SECRET'

/** Longer than any text that only mentions what keys look like. */
const TELLING = TEST_KEY.slice(0, 'sk-ant-test-0123456789'.length)

/** @returns whether the key, or most of it, stands in there */
export function holdsKey(bytes: Buffer | string): boolean {
  return bytes.includes(TELLING)
}

/** @returns the regular files below a directory that hold the key; none where a test has removed it */
export function filesWithKey(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory, { withFileTypes: true, encoding: 'utf8' }).flatMap((entry) => {
    const path = join(directory, entry.name)
    try {
      if (entry.isDirectory()) return filesWithKey(path)
      if (!entry.isFile() || lstatSync(path).size > MOST_BYTES) return []
      return holdsKey(readFileSync(path)) ? [path] : []
    } catch {
      // Gone meanwhile, or closed to us by the test itself.
      return []
    }
  })
}

const MOST_BYTES = 256 * 1024 * 1024
