/** What the statechart is made of: context, services, actions, guards. `agent.ts` says how they hang together. */
import { assign, fromPromise, setup } from 'xstate'
import { isOverBudget, isUnderPressure } from './budget.ts'
import type { Conversation } from './conversation.ts'
import { messageOf } from './errorText.ts'
import { step } from './fold.ts'
import type { JournalRecord, NewEntry, StateName } from './journal.ts'
import type { AgentEvent, LoadOutcome, PersistOutcome, ServiceName, Services } from './outcomes.ts'
import { openCalls } from './round.ts'
import { type TurnEnd, turnEnded } from './turnEnd.ts'
import { isRecallDue, isRememberDue } from './turnMemory.ts'

export interface AgentInput {
  /** `EMPTY` for a new session, the fold of its journal for one that goes on. */
  conversation: Conversation
}

export interface AgentContext {
  conversation: Conversation
  /** Recorded, but not yet written. */
  unsaved: NewEntry[]
  /** Why the store could not be written; the run goes on without it. */
  storeFault: string | null
  /** Why the run could not begin: nothing was recorded. */
  unloadable: string | null
}

/** A service that nobody provided: the machine alone can be drawn and folded, but not run. */
function unprovided<Name extends ServiceName>(name: Name) {
  return fromPromise<Services[Name]['output'], Services[Name]['input']>(() =>
    Promise.reject(new Error(`no service was provided for ${name}`)),
  )
}

/** The context after more records have come in while the machine was in `state`; they wait to be written. */
function record(context: AgentContext, state: StateName, records: JournalRecord[]): Partial<AgentContext> {
  return {
    conversation: records.reduce(step, context.conversation),
    unsaved: [...context.unsaved, ...records.map((one): NewEntry => ({ in: state, record: one }))],
  }
}

/** The context after a record that the service has already written. */
function apply(context: AgentContext, one: JournalRecord): Partial<AgentContext> {
  return { conversation: step(context.conversation, one) }
}

export const agentSetup = setup({
  types: {
    context: {} as AgentContext,
    events: {} as AgentEvent,
    input: {} as AgentInput,
  },
  actors: {
    loadContext: unprovided('loadContext'),
    recall: unprovided('recall'),
    remember: unprovided('remember'),
    persist: unprovided('persist'),
    callModel: unprovided('callModel'),
    trim: unprovided('trim'),
    compact: unprovided('compact'),
    runTools: unprovided('runTools'),
  },
  actions: {
    applyRecord: assign(({ context, event }) =>
      event.type === 'interrupt' ? {} : apply(context, event.record satisfies JournalRecord),
    ),
    recordInterrupt: assign(({ context, event }, { in: state }: { in: StateName }) =>
      event.type === 'interrupt' ? record(context, state, [{ type: 'interrupted', reason: event.reason }]) : {},
    ),
    recordFault: assign(
      ({ context }, { in: state, service, error }: { in: StateName; service: string; error: unknown }) =>
        record(context, state, [{ type: 'fault', service, message: messageOf(error) }]),
    ),
    recordOutcome: assign(({ context }, { in: state, records }: { in: StateName; records: JournalRecord[] }) =>
      record(context, state, records),
    ),
    endTurn: assign(({ context }, { in: state, as }: { in: StateName; as: TurnEnd }) =>
      record(context, state, [turnEnded(as, context.conversation)]),
    ),
    noteSaved: assign(({ context }, { outcome }: { outcome: PersistOutcome }) => ({
      // Only what was handed to the store: an interrupt may have been recorded while it wrote.
      unsaved: context.unsaved.slice(outcome.entries),
      storeFault: outcome.kind === 'unsaved' ? outcome.message : context.storeFault,
    })),
    noteUnloadable: assign((_, { message }: { message: string }) => ({ unloadable: message })),
    noteStoreFault: assign((_, { error }: { error: unknown }) => ({ storeFault: messageOf(error) })),
  },
  guards: {
    isLoaded: (_, outcome: LoadOutcome) => outcome.kind === 'loaded',
    isTurnOpen: ({ context }) => !['done', 'failed', 'cancelled'].includes(context.conversation.turn.status),
    isDone: ({ context }) => context.conversation.turn.status === 'done',
    isFailed: ({ context }) => context.conversation.turn.status === 'failed',
    isCancelled: ({ context }) => context.conversation.turn.status === 'cancelled',
    wasInterrupted: ({ context }) => context.conversation.turn.interrupted !== null,
    hasFailure: ({ context }) => context.conversation.turn.failure !== null,
    hasOpenCalls: ({ context }) => openCalls(context.conversation.round).length > 0,
    isRecallDue: ({ context }) => isRecallDue(context.conversation),
    isRememberDue: ({ context }) => isRememberDue(context.conversation),
    isAnswered: ({ context }) => context.conversation.turn.status === 'answered',
    isOutOfTurns: ({ context: { conversation: c } }) => c.turn.calls >= c.turn.limits.max_turns,
    isCompactionAsked: ({ context }) => context.conversation.turn.compaction.due !== null,
    isOverBudget: ({ context }) => isOverBudget(context.conversation),
    isUnderPressure: ({ context }) => isUnderPressure(context.conversation),
  },
})
