/** The files below the working directory, listed when they are first wanted and again when that is a while ago. */
import { printable } from '../services/text.ts'

const FRESH_MS = 5_000

/** @param list lists them; `cwd` tells whether it is still the same place */
export function createFileList(list: () => Promise<string[]>, cwd: () => string): () => Promise<string[]> {
  let last: { cwd: string; at: number; files: Promise<string[]> } | null = null
  return () => {
    if (last === null || last.cwd !== cwd() || performance.now() - last.at > FRESH_MS)
      last = { cwd: cwd(), at: performance.now(), files: list().then(harmless, () => []) }
    return last.files
  }
}

/** A name with control characters, or with bytes that are no text, cannot be typed, and must not be shown as it is. */
function harmless(paths: string[]): string[] {
  return paths.filter((path) => printable(path) === path && !/[\n\t"\ufffd]/.test(path))
}
