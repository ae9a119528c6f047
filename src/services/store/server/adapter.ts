/** What a store on a server needs beside Keyv's own adapter for it. Types only: each adapter is a bundle of its own. */
import type { KeyvStoreAdapter } from 'keyv'

export interface ServerAdapter {
  /** Keyv's adapter; its writes of many keys are all done or none. */
  store: KeyvStoreAdapter
  /** Rejects with the reason where the server cannot be reached or refuses. */
  connect(): Promise<void>
  /** Every pair whose key begins with `prefix`, in the order of the keys. */
  scan(prefix: string): Promise<Array<[key: string, value: string]>>
}
