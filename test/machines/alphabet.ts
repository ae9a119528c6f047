/**
 * The events a service may end in, as a small alphabet: what path tests, walks and exhaustive checks draw from.
 * Which events are possible depends on the state alone, as it does in a run.
 */
import type { AgentContext } from '../../src/machines/agentSetup.ts'
import { canCompact } from '../../src/machines/compaction.ts'
import { type Conversation, isUnfinished } from '../../src/machines/conversation.ts'
import { planEmergency } from '../../src/machines/emergency.ts'
import type {
  CompactedRecord,
  JournalRecord,
  StateName,
  ToolFinishedRecord,
  TrimStep,
  TurnLimits,
} from '../../src/machines/journal.ts'
import { POLICY } from '../../src/machines/layers/policy.ts'
import { trim } from '../../src/machines/layers/trim.ts'
import type { RecalledRecord, RememberedRecord } from '../../src/machines/memoryRecords.ts'
import { NO_USAGE } from '../../src/machines/messages.ts'
import { openCalls } from '../../src/machines/round.ts'
import type { MachineEvent } from '../../src/machines/stepper.ts'
import { type Call, REPLIES, replyRecord } from './replies.ts'

/** What decides what can happen next. `handed`: entries that the persist service under way was given. */
export interface View {
  state: StateName
  context: AgentContext
  handed: number
}

export const LIMITS: TurnLimits = { max_turns: 2, input_tokens: 1000 }

export const done = (id: string, output: unknown): MachineEvent => ({
  type: `xstate.done.actor.${id}`,
  output,
  actorId: id,
})
export const fail = (id: string): MachineEvent => ({
  type: `xstate.error.actor.${id}`,
  error: new Error(`${id} broke`),
  actorId: id,
})
const INTERRUPT: MachineEvent = { type: 'interrupt', reason: 'SIGINT' }

export interface Alphabet {
  /** Turns end after so many model calls. */
  limits: TurnLimits
  replies: ReadonlyArray<keyof typeof REPLIES>
  /** Faults, a broken store and unloadable prompts too. */
  faults: boolean
  /** Long-term memory is on. */
  memory: boolean
  /** What a tool gives back that went well. */
  result: string
  /** A person may ask for a summary, as a turn of its own. */
  askedSummaries?: true
  /** A second interrupt before the first has ended the turn. */
  secondInterrupt: boolean
}

/** @returns every event that a service at work, or a person, can send in this state */
export function enabledEvents(view: View, alphabet: Alphabet = WHOLE): MachineEvent[] {
  const faults = (...events: MachineEvent[]) => (alphabet.faults ? events : [])
  switch (view.state) {
    case 'loadingContext':
      return [
        ...loadEvents(view.context.conversation, alphabet),
        ...faults(done('loadContext', { kind: 'unloadable', message: 'no such file' }), fail('loadContext')),
        ...faults(INTERRUPT),
      ]
    case 'persisting':
      return [
        done('persist', { kind: 'saved', entries: view.handed }),
        ...faults(done('persist', { kind: 'unsaved', entries: view.handed, message: 'full' }), fail('persist')),
        ...interrupts(view, alphabet),
        ...lateEvents(view),
      ]
    case 'recalling':
      return [...recallEvents(), ...faults(fail('recall')), INTERRUPT]
    case 'remembering':
      return [...rememberEvents(), ...faults(fail('remember')), INTERRUPT]
    case 'trimming':
      return [...trimEvents(view.context.conversation), ...faults(fail('trim')), INTERRUPT]
    case 'compacting':
      return [...compactEvents(view.context.conversation), ...faults(fail('compact')), INTERRUPT]
    case 'calling':
      return [...callEvents(view.context.conversation, alphabet), ...faults(fail('callModel')), INTERRUPT]
    case 'runningTool':
      return [...toolEvents(view.context.conversation, alphabet), ...faults(fail('runTools')), INTERRUPT]
    default:
      return []
  }
}

function interrupts({ context }: View, { secondInterrupt }: Alphabet): MachineEvent[] {
  return secondInterrupt || context.conversation.turn.interrupted === null ? [INTERRUPT] : []
}

function loadEvents(conversation: Conversation, { limits, memory, askedSummaries }: Alphabet): MachineEvent[] {
  const opened: JournalRecord = { type: 'opened', session_id: 's', cwd: '/d', model: 'm' }
  const text = `do ${conversation.prompts + 1}`
  const common = { cwd: '/d', limits, ...(memory && { memory: true as const }) }
  const prompt: JournalRecord = { type: 'prompt', text, blocks: [{ type: 'text', text }], ...common }
  const resumed: JournalRecord = { type: 'resumed', ...common }
  const asked: JournalRecord = { type: 'resumed', cwd: '/d', limits, compact: { focus: 'the files' } }
  const records = conversation.session === null ? [opened, prompt] : [prompt]
  return [
    done('loadContext', { kind: 'loaded', records }),
    ...(!isUnfinished(conversation) ? [] : [done('loadContext', { kind: 'loaded', records: [resumed] })]),
    ...(askedSummaries && canCompact(conversation) ? [done('loadContext', { kind: 'loaded', records: [asked] })] : []),
  ]
}

const SIDE_CALL = { purpose: 'recall' as const, ok: true, usage: { ...NO_USAGE, input_tokens: 60 }, ms: 4 }

function recallEvents(): MachineEvent[] {
  const recalled = (record: Omit<RecalledRecord, 'type'>) =>
    done('recall', { kind: 'recalled', record: { type: 'recalled', ...record } })
  const memory = { file: 'tabs.md', name: 'tabs', type: 'feedback', text: 'Use tabs.' }
  return [
    recalled({ memories: [memory], by: 'model', calls: [SIDE_CALL] }),
    recalled({ memories: [], by: 'nobody', calls: [] }),
  ]
}

function rememberEvents(): MachineEvent[] {
  const record: RememberedRecord = { type: 'remembered', files: ['new.md'], calls: [SIDE_CALL] }
  return [done('remember', { kind: 'remembered', record })]
}

/** The layers did all they wanted, or nothing could be written. */
function trimEvents(c: Conversation): MachineEvent[] {
  const trimmed = (steps: TrimStep[]) => done('trim', { kind: 'trimmed', record: { type: 'trimmed', done: steps } })
  return [trimmed(trim(c, POLICY).done), trimmed([])]
}

function compactEvents(c: Conversation): MachineEvent[] {
  const trigger = c.turn.compaction.due?.trigger ?? 'budget'
  const usage = { ...NO_USAGE, input_tokens: 1500, output_tokens: 20 }
  const record: CompactedRecord = {
    type: 'compacted',
    trigger,
    summary: 'so far',
    kept: trigger === 'emergency' ? planEmergency(c).kept : 0,
    transcript: '.task_outputs/transcripts/s-1.jsonl',
    before_tokens: c.gauge,
    usage,
    ms: 5,
  }
  return [
    done('compact', { kind: 'compacted', record }),
    done('compact', {
      kind: 'compactionFailed',
      record: { type: 'compactionFailed', trigger, message: 'the summary was empty', usage, ms: 5 },
    }),
  ]
}

export const WHOLE: Alphabet = {
  limits: LIMITS,
  replies: Object.keys(REPLIES) as Array<keyof typeof REPLIES>,
  faults: true,
  memory: false,
  result: 'out',
  secondInterrupt: false,
}

function callEvents(c: Conversation, { replies }: Alphabet): MachineEvent[] {
  // Different from the last ones, and the same however a state was reached.
  const n = c.messages.length * 100 + c.turn.calls * 10 + c.prompts
  const id = (letter: string) => `${letter}${n}`
  const call: Call = (letter, name = 'bash') => ({ type: 'tool_use', id: id(letter), name, input: { command: letter } })
  const failed = (reason: string, message: string, status: number) =>
    done('callModel', { kind: 'callFailed', record: { type: 'callFailed', reason, message, status, ms: 3 } })
  return [
    ...(c.context === null ? [CONTEXT] : []),
    ...replies.map((kind) => done('callModel', { kind: 'replied', record: replyRecord(REPLIES[kind](call, id), c) })),
    failed('too_long', 'prompt is too long', 400),
    failed('api_error', 'overloaded', 529),
  ]
}

const CONTEXT: MachineEvent = {
  type: 'contextRead',
  record: { type: 'context', hash: 'h1', model: 'm', system: 'you are', tools: [] },
}

function toolEvents({ round }: Conversation, { result }: Alphabet): MachineEvent[] {
  const waiting = round.find((one) => one.state === 'waiting')
  const started = round.filter((one) => one.state === 'started')
  return [
    ...(waiting ? [startedEvent(waiting.call.id), finished(waiting.call.id, { is_error: true, denied: true })] : []),
    // The last one may finish first: results must still be sent in call order.
    ...[...new Set([started[0], started.at(-1)])].flatMap((one) =>
      one === undefined ? [] : [finished(one.call.id, { is_error: false, content: result })],
    ),
    ...(started[0] ? [finished(started[0].call.id, { is_error: true, content: ' ' })] : []),
    ...(openCalls(round).length === 0 ? [done('runTools', { kind: 'ran' })] : []),
  ]
}

/** An interrupt can come while a service writes a record; the report of it then reaches the machine afterwards. */
function lateEvents({ context: { unsaved, conversation } }: View): MachineEvent[] {
  const last = unsaved.at(-1)
  if (unsaved.length !== 1 || last?.record.type !== 'interrupted') return []
  if (last.in === 'calling' && conversation.context === null) return [CONTEXT]
  if (last.in !== 'runningTool') return []
  const open = conversation.round.find((one) => one.state !== 'finished')
  if (open === undefined) return []
  return [open.state === 'waiting' ? startedEvent(open.call.id) : finished(open.call.id, { is_error: false })]
}

function startedEvent(id: string): MachineEvent {
  return { type: 'toolStarted', record: { type: 'toolStarted', id } }
}

function finished(id: string, how: Partial<ToolFinishedRecord>): MachineEvent {
  const record = {
    type: 'toolFinished',
    id,
    content: how.is_error ? 'it failed' : 'out',
    is_error: false,
    ms: 2,
    ...how,
  }
  return { type: 'toolFinished', record }
}
