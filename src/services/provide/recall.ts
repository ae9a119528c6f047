/** The `recall` service: which memories of earlier sessions go along with this turn. It never fails the turn. */
import type { RecalledRecord } from '../../machines/memoryRecords.ts'
import type { RecallInput, RecallOutcome } from '../../machines/outcomes.ts'
import { chooseMemories, textsOf } from '../memory/selection.ts'
import type { RunDeps } from './deps.ts'

const NONE: RecalledRecord = { type: 'recalled', memories: [], by: 'nobody', calls: [] }

/** @returns the memories, perhaps none; rejects only when `signal` aborts */
export async function recall(
  deps: RunDeps,
  { conversation }: RecallInput,
  signal: AbortSignal,
): Promise<RecallOutcome> {
  if (deps.memory === undefined) return { kind: 'recalled', record: NONE }
  const { notes, sideCalls } = deps.memory
  const choice = chooseMemories(await notes.list(), conversation.lastPrompts)
  if (choice.kind === 'nothing') return { kind: 'recalled', record: NONE }
  const answer = await sideCalls.ask(choice.question, signal)
  const isByModel = answer.kind === 'answered'
  const record: RecalledRecord = {
    type: 'recalled',
    memories: textsOf(isByModel ? answer.value : choice.instead),
    by: isByModel ? 'model' : 'keywords',
    calls: [answer.note],
  }
  return { kind: 'recalled', record }
}
