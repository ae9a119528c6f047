/** What many calls do with the one signal of a run. */
import { setMaxListeners } from 'node:events'

/**
 * Calls `act` when the signal aborts; any number of calls may wait for one signal.
 * @returns stops waiting
 */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  // Node warns on stderr from eleven listeners on, taking them for a leak: here each is a call of the same reply.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', act, { once: true })
  return () => signal.removeEventListener('abort', act)
}
