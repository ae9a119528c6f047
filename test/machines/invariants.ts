/**
 * What holds after every step, whatever happened before. Each rule reads the journal, the conversation and the
 * state from outside and says the same as contract.md in other words than the machine does.
 */
import { isDeepStrictEqual } from 'node:util'
import { isUnderPressure } from '../../src/machines/budget.ts'
import type { Conversation } from '../../src/machines/conversation.ts'
import { fold, step } from '../../src/machines/fold.ts'
import type { JournalRecord, TurnEndedRecord } from '../../src/machines/journal.ts'
import { POLICY } from '../../src/machines/layers/policy.ts'
import { trim } from '../../src/machines/layers/trim.ts'
import { openCalls } from '../../src/machines/round.ts'
import type { MachineEvent } from '../../src/machines/stepper.ts'
import { everyRequestValid, requestsFit, resumable } from './requestRules.ts'
import type { Advance, World } from './world.ts'

/** @returns a sentence about the first rule that is broken, null where all hold */
export function breachOf(before: World, event: MachineEvent, { world: after, microsteps }: Advance): string | null {
  const rules: Array<() => string | null> = [
    () => connected(before, after, microsteps),
    () => moves(before, event, after),
    () => (before.state === 'loadingContext' ? beginsWell(event, after) : null),
    () => heardOf(before, event, after),
    () => foldAgrees(after),
    () => stateFits(before, event, after),
    () => growing(before, after),
    () => turnEndsOnce(after),
    () => requestsFit(before, after),
    () => everyRequestValid(after.context.conversation, after.state),
    () => (event.type === 'xstate.done.actor.persist' ? diskFirst(before, after) : null),
    () => resumable(before, after),
  ]
  for (const rule of rules) {
    const breach = rule()
    if (breach !== null) return breach
  }
  return null
}

/** Each microstep begins where the last one ended, and they lead from state to state. */
function connected(before: World, after: World, microsteps: Advance['microsteps']): string | null {
  let at = before.state
  for (const { from, to } of microsteps) {
    if (from !== at) return `a transition from ${from} was taken in ${at}`
    at = to
  }
  const aside = microsteps.find(({ from, to }) => from !== to && to !== 'persisting' && !HUBS.includes(from))
  if (aside !== undefined) return `${aside.from} leads to ${aside.to} without writing`
  if (at !== after.state) return `the transitions end in ${at}, the machine is in ${after.state}`
  return after.state === 'checkingBudget' ? 'the machine rests in checkingBudget' : null
}

/** Only these lead on without writing first. */
const HUBS = ['loadingContext', 'persisting', 'checkingBudget']

/** What was loaded is worked on; what could not be is told, and nothing else begins. */
function beginsWell({ type, output, error }: MachineEvent, { state, context }: World): string | null {
  const outcome = output as { kind: string; message?: string } | undefined
  const why = outcome?.kind === 'unloadable' ? outcome.message : error instanceof Error ? error.message : null
  const expected = outcome?.kind === 'loaded' ? 'persisting' : type === 'interrupt' ? 'cancelled' : 'failed'
  if (state !== expected) return `a run that should go to ${expected} is ${state}`
  return context.unloadable === (why ?? null) ? null : 'why the run could not begin is not told'
}

/** An interrupt of an open turn is never lost, nor is a store that broke. */
function heardOf(before: World, { type }: MachineEvent, { context }: World): string | null {
  const { status } = before.context.conversation.turn
  const isOpen = before.state !== 'loadingContext' && (status === 'open' || status === 'answered')
  if (type === 'interrupt' && isOpen && context.conversation.turn.interrupted === null)
    return 'an interrupt was not heard'
  const broke = type === 'xstate.error.actor.persist'
  return broke && context.storeFault === null ? 'a store that broke is not told of' : null
}

/** A service that has ended is not waited for any longer. */
function moves(before: World, { type }: MachineEvent, { state, context }: World): string | null {
  if (!/^xstate\.(done|error)\.actor\./.test(type) || state !== before.state) return null
  const writesMore = state === 'persisting' && context.unsaved.length > 0
  return writesMore ? null : `${state} waits for a service that has ended`
}

/** Live state and rebuilt one are the same value. */
function foldAgrees(after: World): string | null {
  const rebuilt = after.context.unsaved.reduce((folded, entry) => step(folded, entry.record), after.folded)
  return isDeepStrictEqual(rebuilt, after.context.conversation)
    ? null
    : 'the fold of the journal is not the live conversation'
}

/** The machine is only where the conversation wants it. */
function stateFits(before: World, event: MachineEvent, { state, context }: World): string | null {
  const { conversation: c, unsaved } = context
  const { turn } = c
  const entered = before.state !== state
  switch (state) {
    case 'loadingContext':
      return 'a run begins a second time'
    case 'persisting':
      return unsaved.length > 0 || before.state === 'runningTool' || !entered ? null : 'there is nothing to write'
    case 'runningTool':
      if (entered && openCalls(c.round).length === 0) return 'there is no call to run'
      if (entered && c.round.some((one) => one.state === 'started')) return 'a call that was started is run again'
      return working(context)
    case 'compacting':
      if (turn.compaction.due === null && !overBudget(c)) return 'a compaction that nothing asks for'
      return working(context) ?? betweenRounds(c)
    case 'trimming':
      if (turn.compaction.due !== null || overBudget(c)) return 'trimming while a compaction is due'
      if (trim(c, POLICY).done.length === 0) return 'there is nothing to trim'
      if (c.repliesSinceTrim === 0) return 'trimming twice before one call'
      return working(context) ?? betweenRounds(c)
    case 'calling':
      if (turn.memory.isOn && turn.memory.recalled === null && c.pending.length > 0)
        return 'a call before the memories were chosen'
      if (turn.compaction.due !== null || overBudget(c)) return 'a call while a compaction is due'
      if (entered && isUnderPressure(c)) return 'a call before the conversation was trimmed'
      return working(context) ?? betweenRounds(c)
    case 'recalling':
      if (!turn.memory.isOn || turn.memory.recalled !== null) return 'memories are chosen that nobody waits for'
      if (c.pending.length === 0) return 'memories are chosen for no words'
      return working(context)
    case 'remembering':
      if (!turn.memory.isOn || turn.memory.isKept) return 'a turn is kept that need not be'
      if (turn.status !== 'answered') return 'a turn without an answer is kept'
      return unsaved.length > 0 || turn.interrupted !== null ? 'a turn is kept too early or too late' : null
    case 'checkingBudget':
      return null
    case 'done':
      if (turn.memory.isOn && !turn.memory.isKept) return 'an answered turn was not kept'
      return ended(context, 'done', turn.failure === null)
    case 'cancelled':
      if (before.state === 'loadingContext') return untouched(before, context.conversation)
      return ended(context, 'cancelled', turn.interrupted !== null)
    default:
      if (context.unloadable !== null) return untouched(before, context.conversation)
      if (event.type === 'xstate.error.actor.persist') return null
      return ended(context, 'failed', turn.failure !== null)
  }
}

/** What must hold wherever a service other than the store works for the turn. */
function working({ conversation: { turn }, unsaved }: World['context']): string | null {
  if (unsaved.length > 0) return 'a service works on what is not written yet'
  if (turn.status !== 'open') return `a service works for a turn that is ${turn.status}`
  if (turn.interrupted !== null) return 'a service works after an interrupt'
  return turn.failure !== null ? 'a service works after a failure' : null
}

function betweenRounds({ round, turn }: Conversation): string | null {
  if (openCalls(round).length > 0) return 'a call is still open'
  return turn.calls >= turn.limits.max_turns ? 'the turn has no call left' : null
}

function overBudget({ gauge, messages, turn: { limits, compaction } }: Conversation): boolean {
  const tried = compaction.reached !== null && compaction.reached > limits.input_tokens
  return messages.length > 0 && gauge > limits.input_tokens && !tried
}

function ended({ conversation: { turn }, unsaved }: World['context'], status: string, fits: boolean): string | null {
  if (unsaved.length > 0) return 'the run ends with something unsaved'
  if (turn.status !== status) return `the run ends as ${status}, its turn as ${turn.status}`
  return fits ? null : `the turn ended as ${status} without a reason`
}

function untouched(before: World, conversation: Conversation): string | null {
  return before.context.conversation === conversation ? null : 'a run that did not begin changed the conversation'
}

/** Counters only grow within a turn. */
function growing(before: World, after: World): string | null {
  const [was, is] = [before.context.conversation, after.context.conversation]
  if (is.prompts < was.prompts) return 'prompts were forgotten'
  if (before.state === 'loadingContext') return null
  const [a, b] = [countersOf(was), countersOf(is)]
  return a.some((count, i) => (b[i] ?? 0) < count) ? `a counter of the turn went back: ${a} to ${b}` : null
}

function countersOf({ turn }: Conversation): number[] {
  const { calls, api_ms, usage, denials, compaction } = turn
  return [calls, api_ms, ...Object.values(usage), denials.length, compaction.count, compaction.emergencies]
}

/** A turn ends at most once, for the reason that its records give. */
function turnEndsOnce({ recorded, context }: World): string | null {
  const entries = [...recorded, ...context.unsaved].map((entry) => entry.record)
  const begun = entries.findLastIndex((record) => record.type === 'prompt' || record.type === 'resumed')
  const turn = entries.slice(begun)
  const end = turn.findIndex((record) => record.type === 'turnEnded')
  if (end < 0) return null
  if (turn.length > end + 1) return `a record of type ${turn[end + 1]?.type} follows the turn's end`
  return endFits(turn[end] as TurnEndedRecord, turn)
}

function endFits({ subtype, status }: TurnEndedRecord, turn: JournalRecord[]): string | null {
  const has = (type: JournalRecord['type']) => turn.some((record) => record.type === type)
  const statuses = {
    success: 'done',
    error_interrupted: 'cancelled',
    error_max_turns: 'failed',
    error_during_execution: 'failed',
  }
  if (statuses[subtype] !== status) return `a turn ended as ${status} with ${subtype}`
  if (has('interrupted')) return subtype === 'error_interrupted' ? null : `an interrupted turn ended with ${subtype}`
  if (subtype === 'error_interrupted') return 'a turn ended as interrupted that was not'
  if (subtype === 'error_max_turns')
    return outOfTurns(turn) ? null : 'a turn ended for want of calls that had some left'
  return subtype === 'success' || turn.some(isFailure) ? null : 'a turn failed without a reason'
}

function outOfTurns(turn: JournalRecord[]): boolean {
  const [begun] = turn
  const calls = turn.filter(({ type }) => type === 'reply' || type === 'callFailed')
  return begun !== undefined && 'limits' in begun && calls.length >= begun.limits.max_turns
}

function isFailure(record: JournalRecord): boolean {
  if (record.type === 'reply') return record.stop_reason === 'refusal' || record.incomplete !== undefined
  return record.type === 'callFailed' || record.type === 'compactionFailed' || record.type === 'fault'
}

/** What was handed to the store is in the journal before the machine goes on. */
function diskFirst(before: World, after: World): string | null {
  const written = after.recorded.slice(before.recorded.length)
  return isDeepStrictEqual(written, before.context.unsaved.slice(0, before.handed))
    ? null
    : 'the machine went on before the journal was written'
}

/** @returns a sentence where the whole journal, folded anew, is not what was folded record by record */
export function refolded({ recorded, folded }: World): string | null {
  return isDeepStrictEqual(fold(recorded.map((entry) => entry.record)), folded) ? null : 'the fold drifted'
}
