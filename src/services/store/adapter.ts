/** Which store a URI names. The adapters are loaded only when one is opened. */
import { resolve } from 'node:path'
import type { Result } from '../ports.ts'
import { StoreError, storeError } from './errors.ts'
import { type KeyValue, overKeyv, PLAIN_TEXT, withSentences } from './keyValue.ts'
import type { ServerAdapter } from './server/adapter.ts'

/** `uri` has the password in it; messages name `place`. */
export type StoreAddress =
  | { kind: 'sqlite'; path: string }
  | { kind: 'memory' }
  | { kind: 'redis' | 'postgres'; uri: string; place: string }

/** A server may serve others too: what every key of ours begins with in Redis, and our table in PostgreSQL. */
const OURS = 'stepwright'

/**
 * Reads a store URI as `settings.store` and `AGENT_STORE` have it.
 * @param home the directory of `sessions.sqlite`, which is meant where there is no URI
 * @returns the address, or a sentence that names the URI (without its password) and what can be used instead
 */
export function parseStoreUri(uri: string | undefined, home: string): Result<StoreAddress> {
  if (uri === undefined || uri === '')
    return { ok: true, value: { kind: 'sqlite', path: resolve(home, 'sessions.sqlite') } }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase() ?? ''
  switch (scheme) {
    case 'sqlite': {
      const path = uri.replace(/^sqlite:(\/\/)?/i, '')
      if (path !== '' && path !== ':memory:') return { ok: true, value: { kind: 'sqlite', path: resolve(home, path) } }
      return refused(uri, 'names no file; write sqlite:///absolute/path.sqlite')
    }
    case 'memory':
      return { ok: true, value: { kind: 'memory' } }
    case 'redis':
    case 'rediss':
      return serverAddress('redis', uri)
    case 'postgres':
    case 'postgresql':
      return serverAddress('postgres', uri)
    default:
      return refused(
        uri,
        'is of no known kind; write sqlite:///absolute/path.sqlite, redis://host:6379 or postgres://user:password@host/database, or leave the setting out',
      )
  }
}

function serverAddress(kind: 'redis' | 'postgres', uri: string): Result<StoreAddress> {
  // A password with a slash or a number sign in it must be written with %2F or %23. PostgreSQL has sockets, and then
  // no host.
  const isWhole = URL.canParse(uri) && (kind === 'postgres' || new URL(uri).hostname !== '')
  return isWhole
    ? { ok: true, value: { kind, uri, place: withoutPassword(uri) } }
    : refused(
        uri,
        `is no URI of a server; write ${kind}://user:password@host:port, with % codes for special characters`,
      )
}

function refused(uri: string, why: string): Result<never> {
  return { ok: false, message: `The store ${withoutPassword(uri)} ${why}.` }
}

/** A URI fit for messages: what stands before an @ may be a password, however it is written; a parameter may too. */
export function withoutPassword(uri: string): string {
  return uri
    .replace(/^([a-z][a-z0-9+.-]*:(?:\/\/)?).*@/is, '$1***@')
    .replace(/([?&][^=&#]*(?:pass|secret|token)[^=&#]*=)[^&#]*/gi, '$1***')
}

/** Opens the store of an address. It and its calls reject with StoreError. */
export async function openStore(address: Result<StoreAddress>, warn: (message: string) => void): Promise<KeyValue> {
  if (!address.ok) throw new StoreError(address.message)
  return withSentences(await connect(address.value, warn))
}

/** Where another kind of store comes in: its adapter in a Keyv with `PLAIN_TEXT`, its module loaded here. */
async function connect(address: StoreAddress, warn: (message: string) => void): Promise<KeyValue> {
  switch (address.kind) {
    case 'sqlite':
      return (await import('./sqlite.ts')).openSqlite(address.path, warn)
    case 'memory': {
      const { Keyv } = await import('keyv')
      return overKeyv(new Keyv<string>({ store: new Map(), ...PLAIN_TEXT }), 'in memory')
    }
    case 'redis': {
      const { openRedis } = await import('./server/redis.ts')
      return onServer(openRedis(address.uri, OURS), address.place)
    }
    case 'postgres': {
      const { openPostgres } = await import('./server/postgres.ts')
      return onServer(openPostgres(address.uri, OURS), address.place)
    }
  }
}

async function onServer(server: ServerAdapter, place: string): Promise<KeyValue> {
  const { Keyv } = await import('keyv')
  // The namespace is the adapter's affair: PostgreSQL has a table for it.
  const keyv = new Keyv<string>({ store: server.store, ...PLAIN_TEXT, namespace: server.store.namespace ?? '' })
  keyv.on('error', () => {})
  const kv = overKeyv(keyv, place, { scan: server.scan, atomic: true, shared: true })
  try {
    await server.connect()
  } catch (error) {
    await kv.close().catch(() => {})
    throw storeError(error, place)
  }
  return kv
}
