/** What the store needs of a place that keeps texts by key, and that over any Keyv. */
import type { Keyv } from 'keyv'
import { storeError } from './errors.ts'
import { paddedSeq } from './keys.ts'

export type Pair = [key: string, value: string]

export interface KeyValue {
  /** How messages name it: a file, or a URI without its password. */
  place: string
  /** Others may write here that our locks do not hold off: they are on another machine. */
  shared?: true
  /** The values in the order of the keys, undefined where there is none. */
  get(keys: string[]): Promise<Array<string | undefined>>
  /**
   * The values of `<prefix>0 … <prefix><count-1>` up to the first that is missing or cannot be read, which is given
   * as undefined and ends the list.
   */
  series(prefix: string, count: number): Promise<Array<string | undefined>>
  /** Every pair whose key begins with `prefix`, in the order of the keys. */
  scan(prefix: string): Promise<Pair[]>
  /** Writes `records`, and when they are written `commit`: a crash in between leaves the commit undone. */
  put(records: Pair[], commit: Pair[]): Promise<void>
  /** Deletes the keys, and when they are gone all that begin with a prefix. */
  drop(keys: string[], prefixes: string[]): Promise<void>
  /** Gives back the space of what was dropped, as far as that can be done soon; there where a store does not by itself. */
  shrink?(): Promise<void>
  close(): Promise<void>
}

/** Keyv's options for plain text: no wrapper around the value, no expiry, no prefix of its own, no silent failure. */
export const PLAIN_TEXT = {
  serialize: ({ value }: { value?: unknown }) => value as string,
  deserialize: <T>(text: string) => ({ value: text as T }),
  namespace: '',
  useKeyPrefix: false,
  throwOnErrors: true,
}

/** How many keys go into one `getMany`: adapters search its answer key by key. */
const BATCH = 200

/** What an adapter does better than by Keyv's means. */
export interface Abilities {
  /** Every pair whose key begins with `prefix`, in the order of the keys, without reading all the others. */
  scan?: KeyValue['scan']
  /** Many keys written at once are all written or none. */
  atomic?: true
  shared?: true
}

/** A store over any Keyv, made with `PLAIN_TEXT`. Reads whole series by key and scans by iterating, if it must. */
export function overKeyv(keyv: Keyv<string>, place: string, able: Abilities = {}): KeyValue {
  const get = async (keys: string[]): Promise<Array<string | undefined>> => {
    const values: Array<string | undefined> = []
    for (let at = 0; at < keys.length; at += BATCH) {
      values.push(...(await keyv.getMany<string>(keys.slice(at, at + BATCH))))
    }
    return values
  }
  const iterate = async (prefix: string): Promise<Pair[]> => {
    const pairs: Pair[] = []
    for await (const [key, value] of keyv.iterator?.(undefined) ?? []) {
      if (key.startsWith(prefix)) pairs.push([key, value])
    }
    return pairs.sort(([a], [b]) => (a < b ? -1 : 1))
  }
  const scan = able.scan ?? iterate
  return {
    place,
    ...(able.shared && { shared: able.shared }),
    get,
    scan,
    series: async (prefix, count) => {
      const values: Array<string | undefined> = []
      while (values.length < count && !values.includes(undefined)) {
        const length = Math.min(BATCH, count - values.length)
        values.push(...(await get(Array.from({ length }, (_, n) => `${prefix}${paddedSeq(values.length + n)}`))))
      }
      return untilMissing((seq) => values[seq], count)
    },
    put: async (records, commit) => {
      if (able.atomic) return setAll(keyv, [...records, ...commit])
      await setAll(keyv, records)
      await setAll(keyv, commit)
    },
    drop: async (keys, prefixes) => {
      if (keys.length > 0) await keyv.delete(keys)
      for (const prefix of prefixes) {
        const found = await scan(prefix)
        if (found.length > 0) await keyv.delete(found.map(([key]) => key))
      }
    },
    close: async () => keyv.disconnect(),
  }
}

/** The values in their order up to the first that is missing, which ends the list as undefined. */
export function untilMissing(valueAt: (seq: number) => string | undefined, count: number): Array<string | undefined> {
  const values: Array<string | undefined> = []
  while (values.length < count) {
    const value = valueAt(values.length)
    values.push(value)
    if (value === undefined) break
  }
  return values
}

/** The same store, whose failures are StoreErrors. */
export function withSentences(kv: KeyValue): KeyValue {
  const told = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      throw storeError(error, kv.place)
    })
  return {
    place: kv.place,
    ...(kv.shared && { shared: kv.shared }),
    get: (keys) => told(kv.get(keys)),
    series: (prefix, count) => told(kv.series(prefix, count)),
    scan: (prefix) => told(kv.scan(prefix)),
    put: (records, commit) => told(kv.put(records, commit)),
    drop: (keys, prefixes) => told(kv.drop(keys, prefixes)),
    ...(kv.shrink && { shrink: kv.shrink }),
    close: () => told(kv.close()),
  }
}

async function setAll(keyv: Keyv<string>, pairs: Pair[]): Promise<void> {
  if (pairs.length === 0) return
  const done: unknown = await keyv.setMany(pairs.map(([key, value]) => ({ key, value })))
  // An adapter with a setMany of its own answers nothing; the others one boolean a pair.
  if (Array.isArray(done) && done.includes(false)) throw new Error('a record was not written')
}
