/** Which store a URI names. The adapters are loaded only when one is opened. */
import { resolve } from 'node:path'
import type { Result } from '../ports.ts'
import { StoreError } from './errors.ts'
import { type KeyValue, overKeyv, PLAIN_TEXT, withSentences } from './keyValue.ts'

export type StoreAddress = { kind: 'sqlite'; path: string } | { kind: 'memory' }

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
    case 'postgres':
    case 'postgresql':
      return refused(uri, 'needs an adapter that this version does not have; leave the setting out to use SQLite')
    default:
      return refused(uri, 'is of no known kind; write sqlite:///absolute/path.sqlite, or leave the setting out')
  }
}

function refused(uri: string, why: string): Result<never> {
  return { ok: false, message: `The store ${withoutPassword(uri)} ${why}.` }
}

/** A URI fit for messages: what stands before an @ may be a password. */
export function withoutPassword(uri: string): string {
  return uri.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1***@')
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
  }
}
