/** Lines of an input, one at a time; what came before it was wanted waits. */

export interface Lines {
  /** @returns the next line, null at the end of the input or when `signal` aborts */
  next(signal?: AbortSignal): Promise<string | null>
  /** The next line that is typed from now on; what came before stays for `next`. @returns as `next` */
  fresh(signal?: AbortSignal): Promise<string | null>
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
    for (const part of parts) {
      const line = part.replace(/\r$/, '')
      if (wanted === null) ready.push(line)
      else give(line)
    }
  })
  input.on('end', end)
  input.on('error', end)
  const fresh: Lines['fresh'] = (signal) => {
    if (ended) return Promise.resolve(null)
    return new Promise((resolve) => {
      wanted = resolve
      signal?.addEventListener('abort', () => give(null), { once: true })
    })
  }
  return {
    end,
    fresh,
    next(signal) {
      const line = ready.shift()
      return line === undefined ? fresh(signal) : Promise.resolve(line)
    },
  }
}
