/** The inspector with its page: dist/inspect.cjs, which only `agent inspect` loads. */
import chart from './commands/chart.json' with { type: 'json' }
import page from './inspectPage/embedded.json' with { type: 'json' }
import { type InspectServer, inspect } from './services/inspect/index.ts'
import { costOf } from './services/model/prices.ts'
import type { StorePort } from './services/ports.ts'

export interface ServeOptions {
  store: StorePort
  session_id: string
  warn: (message: string) => void
}

/** @returns the server over the page that was built into it; null where there is no such session */
export function serveInspector(options: ServeOptions): Promise<InspectServer | null> {
  return inspect({ ...options, page: { ...page, chart: chart.svg }, priceOf: costOf })
}
