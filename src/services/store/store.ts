/** The store's port over whatever keeps its keys. */
import { join } from 'node:path'
import { acquireLock, type LockOutcome, lockOwner } from '../lock.ts'
import type { SessionHead, StorePort } from '../ports.ts'
import { ensurePrivateDir } from '../privateFiles.ts'
import { StoreError, storeError } from './errors.ts'
import { createJournal, parsePointer, unwritableJournal } from './journal.ts'
import { directoryKey, HEADS, headKey, idOfHead, isSessionId, keptPrefix, recordPrefix } from './keys.ts'
import type { KeyValue } from './keyValue.ts'
import { headOf, readSession } from './session.ts'

export interface StoreParts {
  /** Where the locks are, an absolute path. */
  locks: string
  /** Opens what keeps the keys; called again after it has failed or was closed. */
  connect: () => Promise<KeyValue>
  warn: (message: string) => void
  /** Milliseconds since 1970. */
  now: () => number
}

/** A store over anything that keeps texts by key. Nothing is opened before a call needs it. */
export function storeOver({ locks, connect, warn, now }: StoreParts): StorePort {
  const read = new Map<string, { intact: number; count: number }>()
  let opened: Promise<KeyValue> | null = null

  const lockOf = (id: string): string => join(locks, `${id}.lock`)
  const takeLock = (id: string): Promise<LockOutcome> => acquireLock(lockOf(id), { prepare: ensurePrivateDir })
  const open = (): Promise<KeyValue> => {
    opened ??= connect().catch((error) => {
      opened = null
      throw error
    })
    return opened
  }

  return {
    async hold(id) {
      if (!isSessionId(id)) return { ok: false, message: `${JSON.stringify(id)} is no session id.` }
      const outcome = await takeLock(id)
      switch (outcome.kind) {
        case 'refused':
          return { ok: false, message: refusal(id, outcome) }
        case 'impossible':
          return { ok: true, value: unwritableJournal(storeError(outcome.error, locks)) }
        case 'held': {
          const known = () => read.get(id) ?? null
          return { ok: true, value: createJournal({ session_id: id, open, lock: outcome.lock, now, warn, known }) }
        }
      }
    },

    async load(id) {
      if (!isSessionId(id)) return null
      const session = await readSession(await open(), id)
      if (session !== null) read.set(id, { intact: session.entries.length, count: session.head.count })
      return session
    },

    async head(id) {
      if (!isSessionId(id)) return null
      const kv = await open()
      const [text] = await kv.get([headKey(id)])
      return text === undefined ? null : headOf(kv, id, text, warn)
    },

    async owner(id) {
      return isSessionId(id) ? lockOwner(lockOf(id)) : null
    },

    async latest(cwd) {
      const kv = await open()
      const pointer = parsePointer((await kv.get([directoryKey(cwd)]))[0])
      if (pointer !== null && isSessionId(pointer.session_id)) {
        const [text] = await kv.get([headKey(pointer.session_id)])
        const head = text === undefined ? null : await headOf(kv, pointer.session_id, text, warn)
        if (head !== null && head.parent === undefined && head.cwd === cwd) return head
      }
      return (await heads(kv, warn)).find((head) => head.parent === undefined && head.cwd === cwd) ?? null
    },

    async list(cwd) {
      const all = await heads(await open(), warn)
      return cwd === null ? all : all.filter((head) => head.cwd === cwd)
    },

    async find(prefix) {
      if (!/^[0-9a-f-]{1,36}$/.test(prefix)) return []
      const pairs = await (await open()).scan(HEADS + prefix)
      return pairs.map(([key]) => idOfHead(key)).filter(isSessionId)
    },

    async remove(id) {
      if (!isSessionId(id)) return false
      const kv = await open()
      const [text] = await kv.get([headKey(id)])
      if (text === undefined) return false
      const outcome = await takeLock(id)
      if (outcome.kind === 'impossible') throw storeError(outcome.error, locks)
      if (outcome.kind === 'refused') throw new StoreError(refusal(id, outcome))
      try {
        await removeAll(kv, id, warn)
      } finally {
        outcome.lock.release()
      }
      return true
    },

    async close() {
      const kv = await opened
      opened = null
      await kv?.close()
    },
  }
}

function refusal(id: string, { owner, file }: Extract<LockOutcome, { kind: 'refused' }>): string {
  const since = `Session ${id} is in use by process ${owner.pid} on ${owner.host} since ${owner.at}.`
  return `${since} Wait until it has ended, or take a copy with --fork-session. If that process is gone, delete ${file}.`
}

/** Every head, the one used last first; of two used at the same time, the one made last. */
async function heads(kv: KeyValue, warn: (message: string) => void): Promise<SessionHead[]> {
  const found: SessionHead[] = []
  for (const [key, text] of await kv.scan(HEADS)) {
    const id = idOfHead(key)
    if (isSessionId(id)) found.push(await headOf(kv, id, text, warn))
  }
  return found.sort((a, b) => descending(a.used, b.used) || descending(a.created, b.created))
}

function descending(a: string, b: string): number {
  return a < b ? 1 : a > b ? -1 : 0
}

/** Deletes a session with those of its subagents, and theirs. */
async function removeAll(kv: KeyValue, id: string, warn: (message: string) => void): Promise<void> {
  const all = await heads(kv, warn)
  const doomed = [id]
  for (const parent of doomed) {
    for (const head of all) {
      if (head.parent === parent && !doomed.includes(head.session_id)) doomed.push(head.session_id)
    }
  }
  const cwds = new Set(all.filter((head) => doomed.includes(head.session_id)).map((head) => head.cwd))
  for (const one of doomed) await kv.drop([headKey(one)], [recordPrefix(one), keptPrefix(one)])
  for (const cwd of cwds) {
    // Without a pointer `latest` searches, so a quicker writer's pointer lost here does no harm.
    const [pointer] = await kv.get([directoryKey(cwd)])
    if (doomed.includes(parsePointer(pointer)?.session_id ?? '')) await kv.drop([directoryKey(cwd)], [])
  }
  await kv.shrink?.()
}
