/** Records turned back into the events they were made of, and the events that need no record. Pure. */
import type { Conversation } from './conversation.ts'
import type { JournalRecord } from './journal.ts'
import type { ToolUseBlock } from './messages.ts'
import { openCalls } from './round.ts'
import type { MachineEvent, Standing } from './stepper.ts'

/** @returns the event of a service whose end leaves no record, where it follows from the state */
export function derivedEvent({ state, context }: Standing): MachineEvent | null {
  if (state === 'persisting') {
    const entries = context.unsaved.length
    return { type: 'xstate.done.actor.persist', output: { kind: 'saved', entries } }
  }
  const { round } = context.conversation
  if (state !== 'runningTool' || openCalls(round).length > 0) return null
  return { type: 'xstate.done.actor.runTools', output: { kind: 'ran' } }
}

/** The records that are events themselves; the others begin a run, or are derived. */
export type Outcome = Exclude<JournalRecord, { type: 'opened' | 'prompt' | 'resumed' | 'turnEnded' }>

/** @returns the event that the record was made of */
export function eventOf(record: Outcome): MachineEvent {
  const done = (id: string, kind: string) => ({ type: `xstate.done.actor.${id}`, output: { kind, record } })
  switch (record.type) {
    case 'context':
      return { type: 'contextRead', record }
    case 'toolStarted':
    case 'toolFinished':
      return { type: record.type, record }
    case 'reply':
      return done('callModel', 'replied')
    case 'callFailed':
      return done('callModel', 'callFailed')
    case 'recalled':
      return done('recall', 'recalled')
    case 'remembered':
      return done('remember', 'remembered')
    case 'trimmed':
      return done('trim', 'trimmed')
    case 'compacted':
      return done('compact', 'compacted')
    case 'compactionFailed':
      return done('compact', 'compactionFailed')
    case 'interrupted':
      return { type: 'interrupt', reason: record.reason }
    case 'fault':
      return { type: `xstate.error.actor.${record.service}`, error: new Error(record.message) }
    default:
      return record satisfies never
  }
}

/** @returns the call that a tool's record is about */
export function callOf(record: JournalRecord, { round }: Conversation): ToolUseBlock | undefined {
  if (record.type !== 'toolStarted' && record.type !== 'toolFinished') return undefined
  return round.find((one) => one.call.id === record.id)?.call
}

/** @returns whether the record says that an unfinished turn goes on */
export function carriesOn({ record }: { record: JournalRecord }): boolean {
  return record.type === 'resumed' && record.compact === undefined
}
