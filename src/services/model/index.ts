/**
 * model/: one call of the Messages API with its retries.
 *
 * `createModel` is light; the SDK and the HTTP client load at the first call, or earlier through `prepare`.
 */
import type { ModelPort } from '../ports.ts'
import type { Settled } from './call.ts'
import { RETRY_MS } from './patience.ts'
import { isNearby } from './proxy.ts'

/** A stream without a byte for this time counts as broken (contract.md, 4). */
const IDLE_MS = 90_000
/** First byte of a server nearby: local servers read a long prompt, and think, before they say anything. */
const NEARBY_FIRST_BYTE_MS = 600_000

export interface ModelOptions {
  /** Without a trailing slash, as `checkBaseUrl` gives it. */
  baseUrl: string
  /** As `checkKey` gives it; null where there is only a token. */
  apiKey: string | null
  authToken?: string | null
  /** Default: AGENT_STREAM_IDLE_MS, else 90 s. One that is set also limits the wait for the first byte. */
  idleMs?: number
  /** Default: AGENT_RETRY_MS, else two minutes. 0: no retries. */
  retryMs?: number
  /** Where the variables above and the proxies are looked up. */
  env?: Record<string, string | undefined>
}

export interface Model extends ModelPort {
  /** What this model is called, where it answers for one of that name whatever was asked for. */
  name?: string
  /** Starts loading the SDK, so that it is there when the first call comes. */
  prepare(): void
  /** Ends the connections kept for later calls; a later call opens new ones. */
  close(): void
}

/** @returns the model port over a server of the Messages API. */
export function createModel(options: ModelOptions): Model {
  const settled = settle(options)
  let caller: Promise<{ call: ModelPort['call']; close(): void }> | null = null
  const load = (): NonNullable<typeof caller> => {
    caller ??= import('./call.ts').then(({ createCaller }) => createCaller(settled))
    return caller
  }
  return {
    prepare: () => {
      // A failure to load shows at the first call.
      load().catch(() => {})
    },
    call: async (request, how) => (await load()).call(request, how),
    close: () => {
      caller?.then(
        (loaded) => loaded.close(),
        () => {},
      )
    },
  }
}

function settle(options: ModelOptions): Settled {
  const env = options.env ?? process.env
  const given = options.idleMs ?? milliseconds(env.AGENT_STREAM_IDLE_MS, 1)
  const idleMs = given ?? IDLE_MS
  return {
    baseUrl: options.baseUrl,
    apiKey: options.apiKey,
    authToken: options.authToken ?? null,
    idleMs,
    firstByteMs: given === null && isNearby(new URL(options.baseUrl).hostname) ? NEARBY_FIRST_BYTE_MS : idleMs,
    retryMs: options.retryMs ?? milliseconds(env.AGENT_RETRY_MS, 0) ?? RETRY_MS,
    env,
  }
}

/** @returns the number a variable holds, or null where it holds none of at least `least`. */
function milliseconds(text: string | undefined, least: number): number | null {
  if (text === undefined || !/^\d{1,9}$/.test(text.trim())) return null
  const value = Number(text)
  return value >= least ? value : null
}
