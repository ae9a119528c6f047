/**
 * The `remember` service: what of an answered turn is kept for later sessions, and, once there are many memories,
 * their consolidation. It never fails the turn: what goes wrong stands in the record.
 */
import type { Conversation } from '../../machines/conversation.ts'
import type { RememberedRecord, SideCallNote } from '../../machines/memoryRecords.ts'
import type { RememberInput, RememberOutcome } from '../../machines/outcomes.ts'
import { consolidationQuestion, groupToConsolidate, isConsolidationDue } from '../memory/consolidation.ts'
import { extractionQuestion } from '../memory/extraction.ts'
import type { Memory, NewMemory } from '../memoryPorts.ts'
import type { RunDeps, RunMemory } from './deps.ts'

type Part = Omit<RememberedRecord, 'type'>

/** @returns the files that were written, perhaps none; rejects only when `signal` aborts */
export async function remember(
  deps: RunDeps,
  { conversation }: RememberInput,
  signal: AbortSignal,
): Promise<RememberOutcome> {
  const record = (part: Part): RememberOutcome => ({ kind: 'remembered', record: { type: 'remembered', ...part } })
  if (deps.memory === undefined) return record({ files: [], calls: [] })
  if (await isForbidden(deps)) return record({ files: [], calls: [], problem: 'A deny rule forbids remember.' })
  const kept = await extract(deps.memory, conversation, signal)
  const tidied = await consolidate(deps.memory, signal)
  const { consolidated } = tidied
  const memories = kept.added.map(({ file, description }) => ({ file, description }))
  if (memories.length > 0 || consolidated !== undefined) {
    deps.observe({ type: 'remembered', memories, ...(consolidated && { consolidated }) })
  }
  // What the model gives is of no concern to the user; a folder that cannot be written is.
  if (kept.problem !== undefined) deps.observe({ type: 'warning', message: kept.problem })
  const problem = kept.problem ?? tidied.problem
  return record({
    files: memories.map(({ file }) => file),
    calls: [...kept.calls, ...tidied.calls],
    ...(consolidated && { consolidated }),
    ...(problem !== undefined && { problem }),
  })
}

/**
 * The user has switched memory on, so no approval is needed; but a rule that denies `remember` holds here too
 * (docs/decisions/0009-memory.md).
 */
async function isForbidden({ permissions, session }: RunDeps): Promise<boolean> {
  const call = { type: 'tool_use' as const, id: 'remember', name: 'remember', input: {} }
  const decision = await permissions.decide(call, { kind: 'write', paths: [`${session.cwd}/.memory/MEMORY.md`] })
  return decision.kind === 'deny'
}

interface Kept {
  added: Memory[]
  calls: SideCallNote[]
  problem?: string
}

async function extract({ notes, sideCalls }: RunMemory, { turn }: Conversation, signal: AbortSignal): Promise<Kept> {
  const { said } = turn.memory
  if (!said.some(({ who }) => who === 'user')) return { added: [], calls: [] }
  const answer = await sideCalls.ask(extractionQuestion(said, await notes.list()), signal)
  const calls = [answer.note]
  if (answer.kind === 'useless' || answer.value.length === 0) return { added: [], calls }
  const written = await notes.add(answer.value)
  if (!written.ok) return { added: [], calls, problem: `The memories could not be written: ${written.message}.` }
  return { added: written.value.added, calls }
}

interface Tidied {
  calls: SideCallNote[]
  consolidated?: { before: number; after: number }
  problem?: string
}

async function consolidate(memory: RunMemory, signal: AbortSignal): Promise<Tidied> {
  const all = await memory.notes.list()
  return isConsolidationDue(all) ? consolidateAll(memory, all, signal) : { calls: [] }
}

/**
 * Asks for a shorter set and puts it in the place of the old one.
 * @returns what it came to; `problem` where nothing was changed
 */
export async function consolidateAll(
  { notes, sideCalls }: RunMemory,
  all: readonly Memory[],
  signal: AbortSignal,
): Promise<Tidied> {
  const group = groupToConsolidate(all)
  if (group.length < 2) return { calls: [] }
  const answer = await sideCalls.ask<NewMemory[]>(consolidationQuestion(group), signal)
  const calls = [answer.note]
  if (answer.kind === 'useless') return { calls }
  const swapped = await notes.replace(group, answer.value)
  if (!swapped.ok) return { calls, problem: `The memories were not consolidated: ${swapped.message}.` }
  const after = all.length - group.length + swapped.value.length
  return { calls, consolidated: { before: all.length, after } }
}
