/** Events in words: for printing a path, and for telling which event a path took. */
import type { JournalRecord } from '../../src/machines/journal.ts'
import type { MachineEvent } from '../../src/machines/stepper.ts'

/**
 * One of the events that are possible, by its place: a path found over states that count as one can be taken by a
 * session whose calls have other ids. `kind` says which event it was there, so that a wrong merge shows.
 */
export interface Choice {
  place: number
  kind: string
}

export function kindOf(event: MachineEvent): string {
  return showEvent(event).replace(/\d/g, '')
}

/** @returns an event on one line, for printing a path */
export function showEvent({ type, output, record }: MachineEvent): string {
  const outcome = output as { kind: string; record?: JournalRecord; records?: JournalRecord[] } | undefined
  const name = type.replace(/^xstate\.(\w+)\.actor\./, (_, how: string) => (how === 'done' ? '' : 'failed: '))
  const of = (record ?? outcome?.record ?? outcome?.records?.at(-1)) as JournalRecord | undefined
  if (of === undefined) return outcome === undefined ? name : `${name} ${outcome.kind}`
  return `${name} ${showRecord(of)}`
}

function showRecord(record: JournalRecord): string {
  switch (record.type) {
    case 'reply': {
      const blocks = record.content.map((block) => (block.type === 'tool_use' ? block.name : block.type))
      const marks = [record.measured ? '' : 'unmeasured', record.incomplete === undefined ? '' : 'incomplete']
      return [record.stop_reason, blocks.join('+') || 'empty', record.usage.input_tokens > 1000 ? 'long' : '', ...marks]
        .filter((part) => part !== '')
        .join(' ')
    }
    case 'toolFinished':
      return `${record.id} ${record.denied ? 'denied' : record.is_error ? 'error' : 'ok'}`
    case 'toolStarted':
      return record.id
    case 'callFailed':
      return record.reason
    case 'recalled':
      return record.by
    case 'trimmed':
      return record.done.length === 0 ? 'nothing' : 'trimmed'
    default:
      return record.type
  }
}
