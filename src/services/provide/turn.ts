/**
 * One turn: the machine from a prompt to its end, on the parts of a run. A process may have many, one after the other;
 * a subagent's work is one of its own.
 */
import { createActor, waitFor } from 'xstate'
import type { AgentActor } from '../../machines/agent.ts'
import type { AgentContext } from '../../machines/agentSetup.ts'
import type { Conversation } from '../../machines/conversation.ts'
import { messageOf } from '../../machines/errorText.ts'
import { step } from '../../machines/fold.ts'
import type { StateName } from '../../machines/journal.ts'
import { turnEnded } from '../../machines/turnEnd.ts'
import type { Observe } from '../ports.ts'
import { provideServices } from '../provide.ts'
import type { RunDeps, RunParts } from './deps.ts'
import { createPosition } from './stepping.ts'

export interface Turn {
  /** As far as it has come. */
  conversation(): Conversation
  /** Ends the turn in order: what runs is stopped, and the conversation stays valid. */
  interrupt(reason: string): void
  /** Why the session could not be written; null while it can. */
  storeFault(): string | null
  /** Lets it begin. Resolves with what it ended with, a bug of ours included; never rejects. */
  start(): Promise<TurnEnded>
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

/** @returns a turn that waits for its start; the conversation that it ends with is what the next one begins with */
export function prepareTurn({ deps, recorder, before, begin, taken }: TurnOptions): Turn {
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
  watch(actor, deps.observe)
  const storeFault = (): string | null => actor.getSnapshot().context.storeFault ?? recorder.fault()
  return {
    conversation: () => actor.getSnapshot().context.conversation,
    interrupt(reason) {
      deps.step?.release()
      actor.send({ type: 'interrupt', reason })
    },
    storeFault,
    async start() {
      actor.start()
      const { conversation, unloadable } = await contextAtEnd(actor)
      return { conversation, storeFault: storeFault(), unloadable }
    },
  }
}

/** What the machine ended with; where a bug ended it, as far as it had come. */
async function contextAtEnd(actor: AgentActor): Promise<AgentContext> {
  try {
    const isOver = (snapshot: { status: string }): boolean => snapshot.status !== 'active'
    return (await waitFor(actor, isOver, { timeout: Number.POSITIVE_INFINITY })).context
  } catch (error) {
    const { context } = actor.getSnapshot()
    return { ...context, conversation: brokenHere(context.conversation, error) }
  }
}

/** The conversation of a run that a bug of ours has ended. */
function brokenHere(c: Conversation, error: unknown): Conversation {
  const told = step(c, { type: 'fault', service: 'the machine', message: messageOf(error) })
  return step(told, turnEnded('failed', told))
}

function watch(actor: AgentActor, observe: Observe): void {
  let last: unknown = null
  actor.subscribe({
    next: ({ value }) => {
      if (value === last) return
      last = value
      observe({ type: 'state', state: String(value) })
    },
    // Told by `contextAtEnd`; without a listener it would end the process.
    error: () => {},
  })
}
