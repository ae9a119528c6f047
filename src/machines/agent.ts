/**
 * The agent's statechart.
 *
 * `persisting` is the hub: every outcome is recorded, written, and only then acted on, so a session read back
 * after a crash enters through the same door as a running one. Guards read the conversation, which is the fold
 * of the journal; nothing else decides. Pure: no clock, id, path or environment. Services come in with
 * `agentMachine.provide({ actors })`.
 */
import type { ActorRefFrom } from 'xstate'
import { agentSetup } from './agentSetup.ts'
import { dueCompaction } from './budget.ts'
import { messageOf } from './errorText.ts'
import type { JournalRecord, StateName } from './journal.ts'
import type { PersistOutcome } from './outcomes.ts'
import { openCalls } from './round.ts'
import type { TurnEnd } from './turnEnd.ts'

const saved = {
  type: 'noteSaved',
  params: ({ event }: { event: { output: PersistOutcome } }) => ({ outcome: event.output }),
} as const

const ending = (state: StateName, as: TurnEnd) => ({ type: 'endTurn', params: { in: state, as } }) as const

const interrupting = (state: StateName) => ({ type: 'recordInterrupt', params: { in: state } }) as const

/** What a service ends in is recorded, and written before anything acts on it. */
const recorded = (state: StateName) =>
  ({
    target: 'persisting',
    actions: {
      type: 'recordOutcome',
      params: ({ event }: { event: { output: { record: JournalRecord } } }) => ({
        in: state,
        records: [event.output.record],
      }),
    },
  }) as const

/** A service that throws ends the turn, and the journal says which one it was. */
const faulted = (state: StateName, service: string) =>
  ({
    target: 'persisting',
    actions: {
      type: 'recordFault',
      params: ({ event }: { event: { error: unknown } }) => ({ in: state, service, error: event.error }),
    },
  }) as const

/** Memory never fails a turn, not even by a bug of ours: the turn goes on without. */
const recallFailed = {
  type: 'recordOutcome',
  params: ({ event }: { event: { error: unknown } }) => ({
    in: 'recalling' as const,
    records: [
      { type: 'recalled' as const, memories: [], by: 'nobody' as const, calls: [], problem: messageOf(event.error) },
    ],
  }),
} as const

const rememberFailed = {
  type: 'recordOutcome',
  params: ({ event }: { event: { error: unknown } }) => ({
    in: 'remembering' as const,
    records: [{ type: 'remembered' as const, files: [], calls: [], problem: messageOf(event.error) }],
  }),
} as const

export const agentMachine = agentSetup.createMachine({
  id: 'agent',
  initial: 'loadingContext',
  context: ({ input }) => ({ conversation: input.conversation, unsaved: [], storeFault: null, unloadable: null }),
  on: {
    contextRead: { actions: 'applyRecord' },
    toolStarted: { actions: 'applyRecord' },
    toolFinished: { actions: 'applyRecord' },
  },
  states: {
    loadingContext: {
      description: 'Reads what the turn begins with: the prompt, the files it mentions, the session.',
      invoke: {
        id: 'loadContext',
        src: 'loadContext',
        input: ({ context }) => ({ conversation: context.conversation }),
        onDone: [
          {
            guard: { type: 'isLoaded', params: ({ event }) => event.output },
            target: 'persisting',
            actions: {
              type: 'recordOutcome',
              params: ({ event }) => ({
                in: 'loadingContext',
                records: event.output.kind === 'loaded' ? event.output.records : [],
              }),
            },
          },
          {
            target: 'failed',
            actions: {
              type: 'noteUnloadable',
              params: ({ event }) => ({ message: event.output.kind === 'unloadable' ? event.output.message : '' }),
            },
          },
        ],
        onError: {
          target: 'failed',
          actions: { type: 'noteUnloadable', params: ({ event }) => ({ message: messageOf(event.error) }) },
        },
      },
      on: { interrupt: 'cancelled' },
    },
    persisting: {
      description: 'Writes what is new, then routes by what the conversation needs.',
      invoke: {
        id: 'persist',
        src: 'persist',
        input: ({ context }) => ({ entries: context.unsaved, conversation: context.conversation }),
        onDone: [
          { guard: 'isDone', target: 'done', actions: saved },
          { guard: 'isFailed', target: 'failed', actions: saved },
          { guard: 'isCancelled', target: 'cancelled', actions: saved },
          {
            guard: 'wasInterrupted',
            target: 'persisting',
            reenter: true,
            actions: [saved, ending('persisting', 'cancelled')],
          },
          {
            guard: 'hasFailure',
            target: 'persisting',
            reenter: true,
            actions: [saved, ending('persisting', 'failed')],
          },
          { guard: 'hasOpenCalls', target: 'runningTool', actions: saved },
          { guard: 'isRecallDue', target: 'recalling', actions: saved },
          { guard: 'isRememberDue', target: 'remembering', actions: saved },
          { guard: 'isAnswered', target: 'persisting', reenter: true, actions: [saved, ending('persisting', 'done')] },
          { target: 'checkingBudget', actions: saved },
        ],
        onError: {
          target: 'failed',
          actions: { type: 'noteStoreFault', params: ({ event }) => ({ error: event.error }) },
        },
      },
      on: { interrupt: { guard: 'isTurnOpen', actions: interrupting('persisting') } },
    },
    recalling: {
      description: 'Chooses the memories of earlier sessions that go along with this turn.',
      invoke: {
        id: 'recall',
        src: 'recall',
        input: ({ context }) => ({ conversation: context.conversation }),
        onDone: recorded('recalling'),
        onError: { target: 'persisting', actions: recallFailed },
      },
      on: { interrupt: { target: 'persisting', actions: interrupting('recalling') } },
    },
    checkingBudget: {
      description: 'Every call is answered here, so nothing that follows can split a pair.',
      always: [
        { guard: 'isOutOfTurns', target: 'persisting', actions: ending('checkingBudget', 'outOfTurns') },
        { guard: 'isCompactionAsked', target: 'compacting' },
        { guard: 'isOverBudget', target: 'compacting' },
        { guard: 'isUnderPressure', target: 'trimming' },
        { target: 'calling' },
      ],
    },
    trimming: {
      description: 'Puts old and long results on disk and leaves out the middle: room without a model call.',
      invoke: {
        id: 'trim',
        src: 'trim',
        input: ({ context }) => ({ conversation: context.conversation }),
        onDone: recorded('trimming'),
        onError: faulted('trimming', 'trim'),
      },
      on: { interrupt: { target: 'persisting', actions: interrupting('trimming') } },
    },
    compacting: {
      description: 'Has the conversation summarised and begins it anew from the summary.',
      invoke: {
        id: 'compact',
        src: 'compact',
        input: ({ context, self }) => ({
          conversation: context.conversation,
          trigger: dueCompaction(context.conversation),
          report: (event) => (self as AgentActor).send(event),
        }),
        onDone: recorded('compacting'),
        onError: faulted('compacting', 'compact'),
      },
      on: { interrupt: { target: 'persisting', actions: interrupting('compacting') } },
    },
    calling: {
      description: 'Waits for the model. A reply that is not whole does not arrive here as one.',
      invoke: {
        id: 'callModel',
        src: 'callModel',
        input: ({ context, self }) => ({
          conversation: context.conversation,
          report: (event) => (self as AgentActor).send(event),
        }),
        onDone: recorded('calling'),
        onError: faulted('calling', 'callModel'),
      },
      on: { interrupt: { target: 'persisting', actions: interrupting('calling') } },
    },
    runningTool: {
      description: 'Runs the open calls of the last reply; each start and each result is written as it happens.',
      invoke: {
        id: 'runTools',
        src: 'runTools',
        input: ({ context, self }) => ({
          conversation: context.conversation,
          calls: openCalls(context.conversation.round),
          report: (event) => (self as AgentActor).send(event),
        }),
        onDone: 'persisting',
        onError: faulted('runningTool', 'runTools'),
      },
      on: { interrupt: { target: 'persisting', actions: interrupting('runningTool') } },
    },
    remembering: {
      description: 'Keeps what of the answered turn will matter in later sessions.',
      invoke: {
        id: 'remember',
        src: 'remember',
        input: ({ context }) => ({ conversation: context.conversation }),
        onDone: recorded('remembering'),
        onError: { target: 'persisting', actions: rememberFailed },
      },
      on: { interrupt: { target: 'persisting', actions: interrupting('remembering') } },
    },
    done: { type: 'final' },
    failed: { type: 'final' },
    cancelled: { type: 'final' },
  },
})

export type AgentMachine = typeof agentMachine
export type AgentActor = ActorRefFrom<AgentMachine>
