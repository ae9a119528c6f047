/** The files below the working directory, listed when they are first wanted and again when that is a while ago. */

const FRESH_MS = 5_000

/** @param list lists them; `cwd` tells whether it is still the same place */
export function createFileList(list: () => Promise<string[]>, cwd: () => string): () => Promise<string[]> {
  let last: { cwd: string; at: number; files: Promise<string[]> } | null = null
  return () => {
    if (last === null || last.cwd !== cwd() || performance.now() - last.at > FRESH_MS)
      last = { cwd: cwd(), at: performance.now(), files: list().catch(() => []) }
    return last.files
  }
}
