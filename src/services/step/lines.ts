/** Lines of a stream, one at a time as they are asked for; between two of them the stream belongs to others. */
import type { Readable } from 'node:stream'

export interface Lines {
  /** @returns the next line without its end; null at the end of the stream, or where `signal` aborts */
  next(signal: AbortSignal): Promise<string | null>
}

/** @param stream read only while a line is waited for */
export function createLines(stream: () => Readable): Lines {
  let held = ''
  let ended = false

  const take = (): string | null => {
    const end = held.indexOf('\n')
    if (end >= 0) {
      const line = held.slice(0, end)
      held = held.slice(end + 1)
      return line
    }
    if (!ended || held === '') return null
    const rest = held
    held = ''
    return rest
  }

  return {
    async next(signal) {
      const ready = take()
      if (ready !== null || ended || signal.aborted) return ready
      const input = stream()
      input.setEncoding('utf8')
      return new Promise((resolve) => {
        const done = (line: string | null): void => {
          input.off('data', onData)
          input.off('end', onEnd)
          input.off('error', onEnd)
          signal.removeEventListener('abort', onAbort)
          // Whoever reads next, a question about a permission for one, starts it again.
          input.pause()
          resolve(line)
        }
        const onData = (chunk: string): void => {
          held += chunk
          const line = take()
          if (line !== null) done(line)
        }
        const onEnd = (): void => {
          ended = true
          done(take())
        }
        const onAbort = (): void => done(null)
        input.on('data', onData)
        input.on('end', onEnd)
        input.on('error', onEnd)
        signal.addEventListener('abort', onAbort, { once: true })
        input.resume()
      })
    },
  }
}
