/** The `persist` service: the machine's unwritten entries go to the journal before anything acts on them. */
import type { PersistInput, PersistOutcome } from '../../machines/outcomes.ts'
import type { RunDeps } from './deps.ts'

/** @returns how many entries are dealt with; `unsaved` with the reason as soon as the store has failed once */
export async function persist(deps: RunDeps, { entries, conversation }: PersistInput): Promise<PersistOutcome> {
  if (entries.length > 0) await deps.recorder.write(entries, conversation)
  const message = deps.recorder.fault()
  return message === null
    ? { kind: 'saved', entries: entries.length }
    : { kind: 'unsaved', entries: entries.length, message }
}
