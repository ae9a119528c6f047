/** `agent inspect`: a page on loopback that shows a session step by step (contract.md, section 10). */
import type { StorePort } from '../ports.ts'
import { createInspector } from './inspector.ts'
import { assemblePage, type PageSource } from './page.ts'
import type { PriceOf } from './rows.ts'
import { type InspectServer, startServer } from './server.ts'

export type { InspectServer } from './server.ts'

export interface InspectOptions {
  store: StorePort
  session_id: string
  page: PageSource
  priceOf: PriceOf
  /** Told in whole sentences of what could not be read. */
  warn: (message: string) => void
}

/** @returns the server, which serves until it is closed; null where there is no such session */
export async function inspect(options: InspectOptions): Promise<InspectServer | null> {
  const { store, session_id, page, priceOf, warn } = options
  const inspector = await createInspector({ store, session_id, priceOf })
  if (inspector === null) return null
  return startServer({ inspector, page: assemblePage(page), session_id, warn })
}
