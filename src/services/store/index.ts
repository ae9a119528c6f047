/**
 * Sessions in a Keyv store. Importing this costs next to nothing: a store is opened, and its driver loaded, by the
 * first call that needs it.
 */
import { join } from 'node:path'
import type { StorePort } from '../ports.ts'
import { openStore, parseStoreUri } from './adapter.ts'
import { storeOver } from './store.ts'

export { parseStoreUri, type StoreAddress } from './adapter.ts'
export { StoreError } from './errors.ts'

export interface StoreOptions {
  /** The user's home of the agent, an absolute path; made with the first write. */
  home: string
  /** `settings.store` or `AGENT_STORE`; SQLite in the home where there is none. */
  uri?: string
  /** Told in whole sentences what was found damaged and what became of it. */
  warn: (message: string) => void
  /** Milliseconds since 1970; the system's clock unless a test has another. */
  now?: () => number
}

/**
 * The store of sessions. Calls reject with StoreError, a whole sentence, where the store cannot be used (a URI that
 * `parseStoreUri` refuses among that); `hold` then gives a journal whose appends do, so that a run can go on unsaved.
 */
export function createStore({ home, uri, warn, now = Date.now }: StoreOptions): StorePort {
  const address = parseStoreUri(uri, home)
  return storeOver({ locks: join(home, 'locks'), connect: () => openStore(address, warn), warn, now })
}
