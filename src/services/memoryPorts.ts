/** The signatures of long-term memory and of the side calls that it asks; they belong to `ports.ts`. */
import type { SideCallNote } from '../machines/memoryRecords.ts'
import type { Result } from './result.ts'

// ---- sideCalls/ : short questions to the model beside the conversation ------------------------------------------

export interface SideQuestion<T> {
  purpose: SideCallNote['purpose']
  system: string
  prompt: string
  /** JSON Schema of an object, for servers that take one. */
  schema: Record<string, unknown>
  max_tokens: number
  /** The whole call with its retry takes at most so many milliseconds. */
  limit_ms: number
  /** What a JSON value in the reply means; null where it is not what was asked for. */
  read(value: unknown): T | null
}

export type SideAnswer<T> = { kind: 'answered'; value: T; note: SideCallNote } | { kind: 'useless'; note: SideCallNote }

export interface SideCallsPort {
  /** Asks once, and once more where that may help. Throws only for bugs and when `signal` aborts. */
  ask<T>(question: SideQuestion<T>, signal: AbortSignal): Promise<SideAnswer<T>>
}

// ---- memory/ : notes that outlive a session --------------------------------------------------------------------

export const MEMORY_TYPES = ['user', 'feedback', 'project', 'reference'] as const
export type MemoryType = (typeof MEMORY_TYPES)[number]

export interface NewMemory {
  name: string
  type: MemoryType
  /** One line. */
  description: string
  body: string
}

export interface Memory extends NewMemory {
  /** Its name in `.memory`. */
  file: string
  /** A consolidation has seen it. */
  consolidated: boolean
}

/** What makes a new memory superfluous: the file that has its name, its description or its text. */
export interface KnownMemory {
  same: 'name' | 'description' | 'body'
  file: string
}

export interface AddedMemories {
  added: Memory[]
  skipped: Array<{ name: string } & KnownMemory>
}

export interface MemoryPort {
  /** Whether memories go along with turns and are kept of them: the folder is there, or the setting says so. */
  isOn(): boolean
  /** The index as the system prompt shows it, '' where there is none. */
  index(): Promise<string>
  /** All memories, by file name. */
  list(): Promise<Memory[]>
  /** Writes what is new, the folder too where it is missing. Nothing is overwritten. */
  add(items: readonly NewMemory[]): Promise<Result<AddedMemories>>
  remove(file: string): Promise<Result<void>>
  /** Puts new memories in the place of old ones, all or nothing; refused where the old ones have changed since. */
  replace(old: readonly Memory[], items: readonly NewMemory[]): Promise<Result<Memory[]>>
}
