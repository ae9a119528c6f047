/** One turn of a session whose process goes on: the machine from a prompt to its end, on the parts of a run. */
import { createActor, waitFor } from 'xstate'
import type { Conversation } from '../machines/conversation.ts'
import type { StateName } from '../machines/journal.ts'
import type { RunDeps, RunParts } from '../services/provide/deps.ts'
import { createPosition } from '../services/provide/stepping.ts'
import { provideServices } from '../services/provide.ts'

export interface Turn {
  /** As far as it has come. */
  conversation(): Conversation
  /** Ends the turn in order: what runs is stopped, and the conversation stays valid. */
  interrupt(reason: string): void
  ended: Promise<TurnEnded>
}

export interface TurnEnded {
  conversation: Conversation
  /** Why the session could not be written any more; null while it can. */
  storeFault: string | null
  /** Why nothing was begun; null where it was. */
  unloadable: string | null
}

export interface TurnOptions {
  deps: RunParts
  recorder: RunDeps['recorder']
  before: Conversation
  begin: RunDeps['begin']
  /** Transitions that the session had before. */
  taken: number
}

/** Starts a turn. The conversation that it ends with is what the next one begins with. */
export function startTurn({ deps, recorder, before, begin, taken }: TurnOptions): Turn {
  const position = createPosition(taken, () => actor.getSnapshot())
  const machine = provideServices({
    ...deps,
    position,
    recorder,
    begin,
    state: () => actor.getSnapshot().value as StateName,
    now: () => performance.now(),
  })
  const actor = createActor(machine, {
    input: { conversation: before },
    ...(deps.step && { inspect: position.inspect }),
  })
  let last: unknown = null
  actor.subscribe(({ value }) => {
    if (value === last) return
    last = value
    deps.observe({ type: 'state', state: String(value) })
  })
  actor.start()
  const over = waitFor(actor, (snapshot) => snapshot.status !== 'active', { timeout: Number.POSITIVE_INFINITY })
  return {
    conversation: () => actor.getSnapshot().context.conversation,
    interrupt(reason) {
      deps.step?.release()
      actor.send({ type: 'interrupt', reason })
    },
    ended: over.then(({ context: { conversation, storeFault, unloadable } }) => ({
      conversation,
      storeFault: storeFault ?? recorder.fault(),
      unloadable,
    })),
  }
}
