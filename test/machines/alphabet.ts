/** The events a service may end in, as a small alphabet: what path tests, walks and checks draw from. */
import type { SnapshotFrom } from 'xstate'
import type { AgentMachine } from '../../src/machines/agent.ts'
import { EMPTY } from '../../src/machines/conversation.ts'
import type { JournalRecord, ReplyRecord } from '../../src/machines/journal.ts'
import { type AssistantBlock, NO_USAGE } from '../../src/machines/messages.ts'
import { openCalls } from '../../src/machines/round.ts'

export type Snapshot = SnapshotFrom<AgentMachine>

/** An event of the machine as the journal, the graph and the actor name it. */
export interface PathEvent {
  type: string
  [key: string]: unknown
}

export const LIMITS = { max_turns: 2, input_tokens: 1000 }
export const INPUT = { conversation: EMPTY }

export const done = (id: string, output: unknown): PathEvent => ({
  type: `xstate.done.actor.${id}`,
  output,
  actorId: id,
})
export const fail = (id: string): PathEvent => ({
  type: `xstate.error.actor.${id}`,
  error: new Error(`${id} broke`),
  actorId: id,
})

/** @returns every event that a service at work, or a person, can send in this state */
export function enabledEvents(snapshot: Snapshot): PathEvent[] {
  if (snapshot.status !== 'active') return []
  const interrupt: PathEvent[] =
    snapshot.context.conversation.turn.interrupted === null ? [{ type: 'interrupt', reason: 'SIGINT' }] : []
  switch (snapshot.value) {
    case 'loadingContext':
      return [...loadEvents(snapshot), fail('loadContext'), ...interrupt]
    case 'persisting': {
      const entries = snapshot.context.unsaved.length
      return [
        done('persist', { kind: 'saved', entries }),
        done('persist', { kind: 'unsaved', entries, message: 'the disk is full' }),
        fail('persist'),
        ...interrupt,
      ]
    }
    case 'compacting':
      return [...compactEvents(snapshot), fail('compact'), ...interrupt]
    case 'calling':
      return [...callEvents(snapshot), fail('callModel'), ...interrupt]
    case 'runningTool':
      return [...toolEvents(snapshot), fail('runTools'), ...interrupt]
    default:
      throw new Error(`no alphabet for ${String(snapshot.value)}`)
  }
}

function loadEvents({ context: { conversation } }: Snapshot): PathEvent[] {
  const prompt: JournalRecord = {
    type: 'prompt',
    text: 'do it',
    blocks: [{ type: 'text', text: 'do it' }],
    cwd: '/d',
    limits: LIMITS,
  }
  const opened: JournalRecord = { type: 'opened', session_id: 's', cwd: '/d', model: 'm' }
  const records = conversation.session === null ? [opened, prompt] : [prompt]
  return [
    done('loadContext', { kind: 'loaded', records }),
    ...(conversation.prompts === 0
      ? []
      : [done('loadContext', { kind: 'loaded', records: [{ type: 'resumed', cwd: '/d', limits: LIMITS }] })]),
    done('loadContext', { kind: 'unloadable', message: 'no such file' }),
  ]
}

function compactEvents({ context: { conversation } }: Snapshot): PathEvent[] {
  const trigger = conversation.turn.compaction.due?.trigger ?? 'budget'
  const usage = { ...NO_USAGE, input_tokens: 1500, output_tokens: 20 }
  return [
    done('compact', {
      kind: 'compacted',
      record: {
        type: 'compacted',
        trigger,
        summary: 'so far',
        kept: 0,
        transcript: null,
        before_tokens: conversation.gauge,
        usage,
        ms: 5,
      },
    }),
    done('compact', {
      kind: 'compactionFailed',
      record: { type: 'compactionFailed', trigger, message: 'the summary was empty', usage, ms: 5 },
    }),
  ]
}

function callEvents({ context: { conversation } }: Snapshot): PathEvent[] {
  const n = conversation.messages.length + conversation.turn.calls * 100
  const call = (id: string, name = 'bash'): AssistantBlock => ({
    type: 'tool_use',
    id: `${id}${n}`,
    name,
    input: { command: 'x' },
  })
  const text: AssistantBlock = { type: 'text', text: 'here it is' }
  const context: PathEvent = {
    type: 'contextRead',
    record: { type: 'context', hash: 'h1', model: 'm', system: 'you are', tools: [] },
  }
  return [
    ...(conversation.context === null ? [context] : []),
    replied({ content: [text] }),
    replied({ content: [], stop_reason: 'end_turn' }),
    replied({ content: [text, call('a')], stop_reason: 'tool_use' }),
    replied({ content: [call('a'), call('b')], stop_reason: 'tool_use', input_tokens: 2000 }),
    replied({ content: [call('c', 'compact')], stop_reason: 'tool_use' }),
    replied({ content: [call('a')], stop_reason: 'max_tokens', incomplete: { reason: 'cut off' } }),
    replied({ content: [text], stop_reason: 'refusal' }),
    replied({ content: [text], stop_reason: 'pause_turn' }),
    done('callModel', {
      kind: 'callFailed',
      record: { type: 'callFailed', reason: 'too_long', message: 'prompt is too long', status: 400, ms: 3 },
    }),
    done('callModel', {
      kind: 'callFailed',
      record: { type: 'callFailed', reason: 'api_error', message: 'overloaded', status: 529, ms: 3 },
    }),
  ]
}

function replied(reply: Partial<ReplyRecord> & { content: AssistantBlock[]; input_tokens?: number }): PathEvent {
  const { input_tokens = 100, ...rest } = reply
  const record: ReplyRecord = {
    type: 'reply',
    id: 'msg',
    model: 'm',
    stop_reason: 'end_turn',
    usage: { ...NO_USAGE, input_tokens, output_tokens: 10 },
    measured: true,
    ms: 7,
    ...rest,
  }
  return done('callModel', { kind: 'replied', record })
}

function toolEvents({ context: { conversation } }: Snapshot): PathEvent[] {
  const { round } = conversation
  const waiting = round.find((one) => one.state === 'waiting')
  const started = round.find((one) => one.state === 'started')
  const finished = (id: string, is_error: boolean, denied = false): PathEvent => ({
    type: 'toolFinished',
    record: {
      type: 'toolFinished',
      id,
      content: is_error ? 'it failed' : 'out',
      is_error,
      ms: 2,
      ...(denied && { denied }),
    },
  })
  return [
    ...(waiting
      ? [
          { type: 'toolStarted', record: { type: 'toolStarted', id: waiting.call.id } },
          finished(waiting.call.id, true, true),
        ]
      : []),
    ...(started ? [finished(started.call.id, false), finished(started.call.id, true)] : []),
    ...(openCalls(round).length === 0 ? [done('runTools', { kind: 'ran' })] : []),
  ]
}

/** What guards and services can tell apart, and nothing else: two snapshots with one key go on alike. */
export function stateKey(snapshot: Snapshot): string {
  const { conversation: c, unsaved, storeFault } = snapshot.context
  const { turn } = c
  const budget = turn.limits.input_tokens
  return JSON.stringify([
    snapshot.value,
    turn.status,
    c.round.map((one) => one.state),
    Math.min(turn.calls, turn.limits.max_turns),
    c.gauge > budget,
    turn.compaction.reached === null ? 'new' : turn.compaction.reached > budget,
    turn.compaction.due?.trigger ?? null,
    turn.compaction.emergencies,
    turn.cutReplies,
    turn.interrupted !== null,
    turn.failure !== null,
    c.messages.length > 0,
    c.context !== null,
    c.pending.length > 0,
    unsaved.length > 0,
    storeFault !== null,
  ])
}
