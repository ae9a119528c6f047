/** Lines of a stream, one at a time as they are asked for; between two of them the stream belongs to others. */
import type { Readable } from 'node:stream'

export interface Lines {
  /** @returns the next line without its end; null at the end of the stream, or where `signal` aborts */
  next(signal: AbortSignal): Promise<string | null>
}

/** @param open the stream, asked for with the first line and read only while one is waited for */
export function createLines(open: () => Readable): Lines {
  let stream: Readable | null = null
  let held = ''
  let ended = false
  let wake: () => void = () => {}

  const begin = (): Readable => {
    const opened = open()
    opened.setEncoding('utf8')
    // It may end while nobody waits, too.
    const end = (): void => {
      ended = true
      wake()
    }
    for (const event of ['end', 'close', 'error']) opened.on(event, end)
    ended = opened.readableEnded || opened.destroyed
    return opened
  }
  /** @returns a line that is there, null where there is none by now */
  const take = (): string | null => {
    const end = held.indexOf('\n')
    const isLast = end < 0 && ended && held !== ''
    if (end < 0 && !isLast) return null
    const line = isLast ? held : held.slice(0, end)
    held = isLast ? '' : held.slice(end + 1)
    return line
  }
  const more = (input: Readable, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        input.off('data', onData)
        signal.removeEventListener('abort', done)
        // Whoever reads next, a question about a permission for one, starts it again.
        input.pause()
        resolve()
      }
      const onData = (chunk: string): void => {
        held += chunk
        if (held.includes('\n')) done()
      }
      wake = done
      signal.addEventListener('abort', done, { once: true })
      input.on('data', onData)
      input.resume()
    })

  return {
    async next(signal) {
      stream ??= begin()
      let line = take()
      while (line === null && !ended && !signal.aborted) {
        await more(stream, signal)
        line = take()
      }
      return line
    },
  }
}
