/**
 * A fault at a chosen moment, for the tests that end the agent there and look at what comes after:
 *
 *     AGENT_FAULT="kill journal.append 3 after"
 *
 * kills the process with SIGKILL right after its third append to a journal; `throw` throws instead. The ports are
 * those of a run (context, model, tools, permissions, outputs, notes) and `journal`, each with its methods; calls
 * count from 1, over the whole process. Without the variable nothing is wrapped.
 */
import type { StorePort } from '../services/ports.ts'
import type { RunParts } from '../services/provide/deps.ts'

interface Fault {
  kind: 'kill' | 'throw'
  port: string
  method: string
  n: number
  when: 'before' | 'after'
}

const SPEC = /^(kill|throw) (\w+)\.(\w+) (\d+) (before|after)$/

const fault = parseFault(process.env.AGENT_FAULT)
let calls = 0

function parseFault(text: string | undefined): Fault | null {
  const [, kind, port = '', method = '', n, when] = SPEC.exec(text ?? '') ?? []
  if (kind !== 'kill' && kind !== 'throw') return null
  return { kind, port, method, n: Number(n), when: when === 'before' ? 'before' : 'after' }
}

/** @returns the parts of a run, the one with the fault in it wrapped */
export function withFault(parts: RunParts): RunParts {
  if (fault?.port === 'notes' && parts.memory !== undefined)
    return { ...parts, memory: { ...parts.memory, notes: armed(parts.memory.notes, fault) } }
  const real = fault === null ? undefined : parts[fault.port as keyof RunParts]
  return fault === null || typeof real !== 'object' ? parts : { ...parts, [fault.port]: armed(real, fault) }
}

/** @returns the store; where the fault is in the journal, every journal it gives out is wrapped */
export function withFaultyJournals(store: StorePort): StorePort {
  if (fault?.port !== 'journal') return store
  return {
    ...store,
    hold: async (id) => {
      const held = await store.hold(id)
      return held.ok ? { ok: true, value: armed(held.value, fault) } : held
    },
  }
}

function armed<T extends object>(real: T, { method, n, when, kind }: Fault): T {
  const work = real[method as keyof T] as unknown
  if (typeof work !== 'function') return real
  const strike = (): void => {
    if (kind === 'throw') throw new Error(`AGENT_FAULT: ${when} ${method} ${n}`)
    process.kill(process.pid, 'SIGKILL')
  }
  const wrapped = async (...args: unknown[]): Promise<unknown> => {
    const isIt = ++calls === n
    if (isIt && when === 'before') strike()
    const result: unknown = await work.apply(real, args)
    if (isIt && when === 'after') strike()
    return result
  }
  // Not a copy: an object of a class has its methods elsewhere.
  return new Proxy(real, {
    get: (target, key) => {
      if (key === method) return wrapped
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
