/** Long-term memory as a run has it: the notes of its directory, and the side calls that choose and make them. */
import { createMemory } from '../services/memory/index.ts'
import type { ModelPort } from '../services/ports.ts'
import type { RunMemory } from '../services/provide/deps.ts'
import type { Settings } from '../services/settings/index.ts'
import { createSideCalls } from '../services/sideCalls/index.ts'

export interface RunMemoryOptions {
  /** Working directory, absolute. */
  cwd: string
  settings: Settings
  model: ModelPort
  /** The model's name. */
  name: string
  /** Most tokens of one reply. */
  maxOutputTokens: number
  warn: (message: string) => void
}

/** @returns the run's memory, undefined where `memory.enabled` is false: then there is nothing of it at all */
export function openMemory(options: RunMemoryOptions): RunMemory | undefined {
  const { cwd, settings, model, name, maxOutputTokens, warn } = options
  const { enabled } = settings.memory
  if (enabled === false) return undefined
  const structured = isAnthropic(settings.base_url)
  const sideCalls = createSideCalls({
    model,
    name,
    maxOutputTokens,
    structured,
    now: () => performance.now(),
    env: process.env,
  })
  return { notes: createMemory({ cwd, enabled, warn }), sideCalls }
}

/** Anthropic's own servers take a schema for the reply; other servers of this API may refuse it. */
function isAnthropic(baseUrl: string | null): boolean {
  if (baseUrl === null) return true
  const { hostname } = new URL(baseUrl)
  return hostname === 'anthropic.com' || hostname.endsWith('.anthropic.com')
}
