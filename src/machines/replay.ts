/**
 * A session's journal folded through the machine: what the machine does with what was recorded, and where it would
 * have done something else. Two kinds of events are not in the journal because they follow from it, and are made
 * here: a finished write, and the end of a round of tools. Pure; no service is called.
 */
import { type Conversation, EMPTY, isUnfinished } from './conversation.ts'
import { messageOf } from './errorText.ts'
import { fold } from './fold.ts'
import type { JournalEntry, JournalRecord, StateName, TurnEndedRecord } from './journal.ts'
import type { ToolUseBlock } from './messages.ts'
import { Parted, RecordCheck } from './replayCheck.ts'
import { callOf, carriesOn, derivedEvent, eventOf } from './replayEvents.ts'
import { createStepper, type MachineEvent, type Standing, type Stepper } from './stepper.ts'

/** One line of a trace: it begins in the state where the last one ended. */
export interface Transition {
  /** From 1. */
  n: number
  /** ISO 8601 UTC. A derived event has the time of the record before it. */
  at: string
  from: StateName
  /** As the machine names it; `always` for a choice, `restart` where a process began on top of what was there. */
  event: string
  to: StateName
  /** Time since the transition before it in the same process, in milliseconds. */
  ms: number
  /** Its id in the graph; null for a restart. */
  transition: string | null
  /** How many records of the journal are in the conversation after it. */
  records: number
  /** What the event was about; absent for derived ones. */
  record?: JournalRecord
  /** The call that a tool's record is about. */
  call?: ToolUseBlock
}

/** Where the recording and the machine part. */
export interface Disagreement {
  /** Number of the record, as in the journal. */
  seq: number
  /** The transition that would have been the next. */
  n: number
  message: string
}

export interface Replay {
  transitions: Transition[]
  /** Where the machine stands after the last transition. */
  state: StateName
  /** The conversation after the last transition. */
  conversation: Conversation
  disagreement: Disagreement | null
}

const RESTART = 'restart'

/** @param entries a journal from its first record on; a part of one at its beginning will do */
export function replay(entries: readonly JournalEntry[], stepper: Stepper = createStepper()): Replay {
  const player = new Player(entries, stepper)
  return player.play()
}

/**
 * @param k 0 for before the first transition
 * @returns the conversation after transition k; what the machine itself had there
 */
export function conversationAt({ transitions }: Replay, entries: readonly JournalEntry[], k: number): Conversation {
  const count = k === 0 ? 0 : (transitions[k - 1]?.records ?? entries.length)
  return fold(entries.slice(0, count).map((entry) => entry.record))
}

/** @returns the state after transition k */
export function stateAt({ transitions }: Replay, k: number): StateName {
  return k === 0 ? 'loadingContext' : (transitions[k - 1]?.to ?? 'loadingContext')
}

class Player {
  readonly #entries: readonly JournalEntry[]
  readonly #stepper: Stepper
  readonly #transitions: Transition[] = []
  readonly #check = new RecordCheck()
  #standing: Standing
  /** The record that is being taken. */
  #current: JournalEntry | undefined
  /** Records of the journal that the machine has by now. */
  #taken = 0
  #at = ''
  /** `#at` in milliseconds since 1970. */
  #time = 0
  /** The turn's end as the machine derived it, until the journal's own is compared with it. */
  #derived: TurnEndedRecord | null = null

  constructor(entries: readonly JournalEntry[], stepper: Stepper) {
    this.#entries = entries
    this.#stepper = stepper
    this.#standing = stepper.start({ conversation: EMPTY })
  }

  play(): Replay {
    let disagreement: Disagreement | null = null
    try {
      while (this.#taken < this.#entries.length) this.#takeNext()
      this.#settle()
    } catch (error) {
      const entry = this.#current
      const why = error instanceof Parted ? error.message : `cannot be folded: ${messageOf(error)}`
      const message = `Record ${entry?.seq} (${entry?.record.type}) ${why}`
      disagreement = { seq: entry?.seq ?? 0, n: this.#transitions.length + 1, message }
    }
    const { state, context } = this.#standing
    return { transitions: this.#transitions, state, conversation: context.conversation, disagreement }
  }

  #takeNext(): void {
    const entry = this.#entries[this.#taken] as JournalEntry
    const { record } = entry
    this.#current = entry
    if (entry.seq !== this.#taken) throw new Parted(`stands where number ${this.#taken} is expected.`)
    switch (record.type) {
      case 'opened':
      case 'prompt':
      case 'resumed':
        this.#beginRun(entry)
        break
      case 'turnEnded':
        this.#compareEnd(entry, record)
        break
      default: {
        this.#reach(entry)
        this.#check.check(record, this.#standing.context.conversation)
        const call = callOf(record, this.#standing.context.conversation)
        this.#taken += 1
        this.#feed(eventOf(record), entry.at, record, call)
      }
    }
  }

  /** A process begins: with a new prompt, or to carry on. Its first records were written together. */
  #beginRun(entry: JournalEntry): void {
    if (entry.in !== 'loadingContext') throw new Parted(`was recorded in ${entry.in}, not in loadingContext.`)
    if (this.#taken === 0 && entry.record.type !== 'opened') throw new Parted('begins a session that is not open.')
    const records = [entry.record]
    const next = this.#entries[this.#taken + 1]
    if (entry.record.type === 'opened' && next?.record.type === 'prompt') records.push(next.record)
    if (this.#taken > 0) this.#restart(entry)
    // What passed between two processes is not the time of a transition.
    this.#at = ''
    this.#taken += records.length
    const record = records.at(-1) as JournalRecord
    this.#feed({ type: 'xstate.done.actor.loadContext', output: { kind: 'loaded', records } }, entry.at, record)
  }

  #restart(entry: JournalEntry): void {
    if (entry.record.type === 'opened') throw new Parted('opens a session that is open already.')
    if (carriesOn(entry) && !isUnfinished(this.#standing.context.conversation))
      throw new Parted('carries on a turn that was finished.')
    this.#settle()
    const { state } = this.#standing
    const restart = { from: state, event: RESTART, to: 'loadingContext' as const, ms: 0, transition: null }
    this.#push({ n: 0, at: entry.at, ...restart, records: this.#taken })
    this.#standing = this.#stepper.start({ conversation: this.#standing.context.conversation })
    this.#derived = null
  }

  /** The end of a turn is derived, so the recorded one is compared, not taken. */
  #compareEnd(entry: JournalEntry, record: TurnEndedRecord): void {
    while (this.#derived === null) {
      if (!this.#advance()) throw new Parted(`ends the turn, but the machine goes on in ${this.#standing.state}.`)
    }
    const derived = this.#derived
    const last = this.#standing.context.unsaved.at(-1)
    if (!isSameEnd(derived, record))
      throw new Parted(`says ${JSON.stringify(record)}, but the machine ends the turn with ${JSON.stringify(derived)}.`)
    if (last?.in !== entry.in) throw new Parted(`was recorded in ${entry.in}, but the turn ends in ${last?.in}.`)
    this.#taken += 1
    this.#derived = null
    const ending = this.#transitions.at(-1)
    if (ending) Object.assign(ending, { records: this.#taken, record })
  }

  /** Takes the derived transitions that lead to the state in which the record came in. */
  #reach(entry: JournalEntry): void {
    while (this.#standing.state !== entry.in || this.#standing.status === 'done') {
      if (this.#derived !== null)
        throw new Parted(`follows, but the machine ends the turn first, as ${this.#derived.status}.`)
      if (!this.#advance())
        throw new Parted(`was recorded in ${entry.in}, but the machine is in ${this.#standing.state}.`)
    }
  }

  /** Takes the one transition that needs no record. @returns false where the state waits for one */
  #advance(): boolean {
    const event = derivedEvent(this.#standing)
    if (event === null || this.#derived !== null) return false
    this.#feed(event, this.#at)
    return true
  }

  /**
   * What the process did by itself after its last record. An end of the turn that is not in the journal was not
   * reached, or it would have been written.
   */
  #settle(): void {
    for (;;) {
      const event = derivedEvent(this.#standing)
      if (event === null || this.#standing.context.conversation.turn.status === 'none') return
      const { standing } = this.#stepper.step(this.#standing, event)
      if (standing.context.unsaved.length > 0) return
      this.#feed(event, this.#at)
    }
  }

  #feed(event: MachineEvent, at: string, record?: JournalRecord, call?: ToolUseBlock): void {
    const { standing, microsteps } = this.#stepper.step(this.#standing, event)
    if (microsteps.length === 0)
      throw new Parted(`is not what the machine waits for in ${this.#standing.state} (${event.type}).`)
    let ms = at === this.#at ? 0 : this.#elapse(at)
    this.#standing = standing
    for (const { from, event: name, to, transition } of microsteps) {
      const line: Transition = { n: 0, at, from, event: name, to, ms, transition, records: this.#taken }
      if (record !== undefined) line.record = record
      if (call !== undefined) line.call = call
      this.#push(line)
      // What follows by itself takes no time and is about nothing of its own.
      ms = 0
      record = undefined
      call = undefined
    }
    const last = standing.context.unsaved.at(-1)?.record
    if (last?.type === 'turnEnded') this.#derived = last
  }

  /** @returns the milliseconds since the last event of this process, 0 for its first; clocks may have been set back */
  #elapse(at: string): number {
    const now = Date.parse(at)
    const ms = this.#at === '' ? 0 : Math.max(0, now - this.#time)
    this.#at = at
    this.#time = now
    return ms
  }

  #push(line: Transition): void {
    line.n = this.#transitions.length + 1
    this.#transitions.push(line)
  }
}

function isSameEnd(a: TurnEndedRecord, b: TurnEndedRecord): boolean {
  return a.status === b.status && a.subtype === b.subtype && a.message === b.message
}
