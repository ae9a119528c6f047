/** Work that is done concurrently, up to a limit. */

/** @returns a function that starts work at once while fewer than `most` are under way, else in the order it came */
export function limitConcurrency(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: Array<() => void> = []
  let running = 0
  return async (work) => {
    // Who waited is handed the place of the one that ended, so the count stays.
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
