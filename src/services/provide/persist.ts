/** The `persist` service: the machine's unwritten entries go to the journal before anything acts on them. */
import type { PersistInput, PersistOutcome } from '../../machines/outcomes.ts'
import type { RunDeps } from './deps.ts'

export async function persist(deps: RunDeps, { entries, conversation }: PersistInput): Promise<PersistOutcome> {
  if (entries.length > 0) await deps.recorder.write(entries, conversation)
  const message = deps.recorder.fault()
  return message === null
    ? { kind: 'saved', entries: entries.length }
    : { kind: 'unsaved', entries: entries.length, message }
}
