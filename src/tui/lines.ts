/** Lines of an input, one at a time; what came before it was wanted waits. */

export interface Lines {
  /** @returns the next line, null at the end of the input or when `signal` aborts */
  next(signal?: AbortSignal): Promise<string | null>
  /** Ends it for whoever waits. */
  end(): void
}

export function createLines(input: NodeJS.ReadableStream): Lines {
  const ready: string[] = []
  let rest = ''
  let ended = false
  let wanted: ((line: string | null) => void) | null = null

  const give = (line: string | null): void => {
    const resolve = wanted
    wanted = null
    resolve?.(line)
  }
  const end = (): void => {
    ended = true
    give(null)
  }
  input.setEncoding('utf8')
  input.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    ready.push(...parts.map((line) => line.replace(/\r$/, '')))
    if (wanted !== null && ready.length > 0) give(ready.shift() ?? null)
  })
  input.on('end', end)
  input.on('error', end)
  return {
    end,
    next(signal) {
      const line = ready.shift()
      if (line !== undefined) return Promise.resolve(line)
      if (ended) return Promise.resolve(null)
      return new Promise((resolve) => {
        wanted = resolve
        signal?.addEventListener('abort', () => give(null), { once: true })
      })
    },
  }
}
