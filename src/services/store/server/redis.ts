/** A Redis server through `@keyv/redis`: a bundle of its own, loaded where a `redis://` store is opened. */
import KeyvRedis, { type RedisClientType } from '@keyv/redis'
import type { ServerAdapter } from './adapter.ts'

/** Longest wait for a connection, in milliseconds. */
const CONNECT_MS = 5000
/** Tries to get a lost connection back, with growing pauses: about three seconds in all. */
const TRIES = 6
const KEYS_A_SCAN = 1000
const VALUES_A_READ = 500

/**
 * @param uri `redis://` or `rediss://`, with the password in it
 * @param namespace begins every key, before a colon: a server serves others too
 */
export function openRedis(uri: string, namespace: string): ServerAdapter {
  const reconnectStrategy = (tries: number, cause: Error): number | Error =>
    tries >= TRIES ? cause : Math.min(1000, 100 * 2 ** tries)
  const store = new KeyvRedis<string>(
    { url: uri, socket: { connectTimeout: CONNECT_MS, reconnectStrategy } },
    { namespace, keyPrefixSeparator: ':', throwOnErrors: true, connectionTimeout: CONNECT_MS },
  )
  // The adapter's own error for a connection that fails does not say why.
  let why: unknown = null
  store.on('error', (error: unknown) => {
    why = error
  })
  const client = async (): Promise<RedisClientType> => {
    try {
      return (await store.getClient()) as RedisClientType
    } catch (error) {
      throw why ?? error
    }
  }
  return {
    store,
    connect: async () => void (await client()),
    scan: async (prefix) => {
      const redis = await client()
      const whole = `${namespace}:${prefix}`
      const found = new Set<string>()
      for await (const keys of redis.scanIterator({
        MATCH: `${whole.replace(/[\\*?[\]]/g, '\\$&')}*`,
        COUNT: KEYS_A_SCAN,
      }))
        for (const key of keys) found.add(key)
      const keys = [...found].sort()
      const pairs: Array<[string, string]> = []
      for (let at = 0; at < keys.length; at += VALUES_A_READ) {
        const some = keys.slice(at, at + VALUES_A_READ)
        const values = await redis.mGet(some)
        some.forEach((key, n) => {
          const value = values[n]
          // One that was deleted in between is none.
          if (typeof value === 'string') pairs.push([key.slice(namespace.length + 1), value])
        })
      }
      return pairs
    },
  }
}
