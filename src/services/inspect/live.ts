/** Follows the session while a page looks: the store is asked whether it grew, and the pages are told. */
import type { ServerResponse } from 'node:http'
import { messageOf } from '../../machines/errorText.ts'
import type { Inspector } from './inspector.ts'

/** How often the store is asked, in milliseconds; a long session that takes long to read is asked less often. */
const EVERY_MS = 250
const COST_FACTOR = 4
/** A stream without a byte looks dead to what may stand between. */
const HEARTBEAT_MS = 15_000

export interface Live {
  /** Keeps the response as a stream of events until its reader leaves. */
  add(response: ServerResponse): void
  close(): void
}

/** @param warn told once of each reason for which the session could not be read */
export function createLive(inspector: Pick<Inspector, 'poll' | 'now'>, warn: (message: string) => void): Live {
  const readers = new Set<ServerResponse>()
  const told = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let heardAt = 0
  let isClosed = false

  const tell = (text: string): void => {
    heardAt = performance.now()
    for (const reader of readers) reader.write(text)
  }
  const look = async (): Promise<void> => {
    const began = performance.now()
    try {
      const news = await inspector.poll()
      if (news !== null) tell(`data: ${JSON.stringify(news)}\n\n`)
      else if (began - heardAt > HEARTBEAT_MS) tell(': still here\n\n')
    } catch (error) {
      const message = messageOf(error)
      if (!told.has(message)) warn(message)
      told.add(message)
    }
    if (readers.size === 0 || isClosed) timer = null
    else timer = setTimeout(look, Math.max(EVERY_MS, COST_FACTOR * (performance.now() - began)))
  }

  return {
    add(response) {
      readers.add(response)
      response.on('close', () => readers.delete(response))
      response.write(`retry: 1000\ndata: ${JSON.stringify(inspector.now())}\n\n`)
      // Nobody looked for a while: what has come since is read at once.
      timer ??= setTimeout(look, 0)
    },
    close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
      for (const reader of readers) reader.end()
      readers.clear()
    },
  }
}
