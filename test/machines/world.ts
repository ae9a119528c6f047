/** A session seen from outside: the pure machine, the journal on disk, and what was sent so far. Immutable. */
import { type Conversation, EMPTY } from '../../src/machines/conversation.ts'
import { fold, step as foldStep } from '../../src/machines/fold.ts'
import type { JournalRecord, NewEntry } from '../../src/machines/journal.ts'
import type { Message } from '../../src/machines/messages.ts'
import { requestMessages } from '../../src/machines/request.ts'
import type { MachineEvent, Microstep, Standing, Stepper } from '../../src/machines/stepper.ts'
import type { View } from './alphabet.ts'

export interface World extends View {
  standing: Standing
  /** Everything that was recorded, in the journal's order, whether or not the store could keep it. */
  recorded: NewEntry[]
  /** The fold of `recorded`. */
  folded: Conversation
  /** How many of `recorded` are on disk; the store stays broken for the rest of a run once it is. */
  kept: number
  storeBroken: boolean
  /** What was last sent to the model in this run; null before the first request and where history was put away. */
  sent: Message[] | null
}

/** @returns a run that begins on top of a journal, as a process does that is started with it */
export function begin(stepper: Stepper, recorded: NewEntry[] = []): World {
  const folded = fold(recorded.map((entry) => entry.record))
  return beginOn(stepper, recorded, recorded.length === 0 ? EMPTY : folded)
}

function beginOn(stepper: Stepper, recorded: NewEntry[], folded: Conversation): World {
  const standing = stepper.start({ conversation: folded })
  const { state, context } = standing
  const kept = recorded.length
  return { standing, state, context, handed: 0, recorded, folded, kept, storeBroken: false, sent: null }
}

/** @returns the next run after this one was killed: what is on disk is all it knows */
export function crash(stepper: Stepper, world: World): World {
  return begin(stepper, world.recorded.slice(0, world.kept))
}

export interface Advance {
  world: World
  microsteps: Microstep[]
}

/** @returns the world after one event; records are written as `runTools` and `persist` write them */
export function advance(stepper: Stepper, before: World, event: MachineEvent): Advance {
  const { standing, microsteps } = stepper.step(before.standing, event)
  const { state, context } = standing
  const fresh = writtenBy(before, event)
  const storeBroken = before.storeBroken || isUnsaved(event)
  const recorded = fresh.length === 0 ? before.recorded : [...before.recorded, ...fresh]
  const world: World = {
    standing,
    state,
    context,
    handed: entersPersisting(microsteps) ? context.unsaved.length : before.handed,
    recorded,
    folded: fresh.reduce((folded, entry) => foldStep(folded, entry.record), before.folded),
    kept: storeBroken ? before.kept : recorded.length,
    storeBroken,
    sent: sentBy(before, event, state, context.conversation),
  }
  return { world, microsteps }
}

function writtenBy(before: World, event: MachineEvent): NewEntry[] {
  if (event.type === 'xstate.done.actor.persist') return before.context.unsaved.slice(0, before.handed)
  const record = event.record as JournalRecord | undefined
  // A record of a service at work is written in the state that started the service.
  const last = before.context.unsaved.at(-1)
  const late = before.state === 'persisting' && last?.record.type === 'interrupted'
  return record === undefined ? [] : [{ in: late ? last.in : before.state, record }]
}

function isUnsaved({ type, output }: MachineEvent): boolean {
  return type === 'xstate.done.actor.persist' && (output as { kind: string }).kind === 'unsaved'
}

/** An event that is only recorded does not start the service again. */
function entersPersisting(microsteps: Microstep[]): boolean {
  return microsteps.some(({ from, event, to }) => to === 'persisting' && (from !== to || event.startsWith('xstate.')))
}

function sentBy(before: World, event: MachineEvent, state: string, after: Conversation): Message[] | null {
  const outcome = event.output as { kind?: string } | undefined
  if (outcome?.kind === 'compacted' || outcome?.kind === 'trimmed') return null
  return state === 'calling' && before.state !== 'calling' ? requestMessages(after) : before.sent
}
