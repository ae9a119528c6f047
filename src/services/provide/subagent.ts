/**
 * Subagents: the same machine with another input (contract.md, section 9). Each has its own session, linked to the
 * call it works for; the parent's conversation gets only its last words. Why it is so: docs/decisions/0008.
 */
import { randomUUID } from 'node:crypto'
import { type Conversation, EMPTY } from '../../machines/conversation.ts'
import { addUsage, NO_USAGE } from '../../machines/messages.ts'
import { once } from '../once.ts'
import { observeSubagent } from '../output/index.ts'
import type { ContextPort, Delegated, Journal, RunTask, StorePort, Task, ToolResult, ToolsPort } from '../ports.ts'
import { limitConcurrency } from './concurrency.ts'
import type { RunParts } from './deps.ts'
import { createRecorder } from './recorder.ts'
import { answerOf, INTERRUPTED, unfinished } from './subagentAnswer.ts'
import { prepareTurn } from './turn.ts'

/** Model calls of one subagent. */
const MAX_TURNS = 30
/** Subagents that work concurrently; more wait for their turn, so that a server is not overrun. */
const MOST_AT_ONCE = 10

export interface SubagentOptions {
  parent: RunParts
  /** A subagent's own system prompt and tools. */
  context: ContextPort
  tools: ToolsPort
  hold: StorePort['hold']
}

export interface Subagents {
  run: RunTask
  /** Waits until none is at work and their sessions are written: before the store is closed. */
  settled(): Promise<void>
  /** What those came to whose result the conversation never got, since the run was interrupted. */
  lost(): Delegated
}

/** @returns what does the tasks of one run. */
export function createSubagents(options: SubagentOptions): Subagents {
  const limited = limitConcurrency(MOST_AT_ONCE)
  const working = new Set<Promise<unknown>>()
  // Subagents share a store: what one of them has said of it, the others need not say again.
  const warn = once((message) => options.parent.observe({ type: 'warning', message }))
  let lost: Delegated = { usage: NO_USAGE, api_ms: 0, denials: [] }

  const work = async (task: Task): Promise<ToolResult> => {
    if (task.signal.aborted) return unfinished(INTERRUPTED, '')
    const session_id = randomUUID()
    const held = await options.hold(session_id)
    if (!held.ok) return unfinished(`its session could not be opened (${held.message})`, '')
    try {
      const result = await runOne(options, task, session_id, held.value, warn)
      if (task.signal.aborted && result.delegated !== undefined) lost = sum(lost, result.delegated)
      return result
    } finally {
      await held.value.release()
    }
  }

  return {
    run: (task) => {
      const done = limited(() => work(task))
      working.add(done)
      return done.finally(() => working.delete(done))
    },
    settled: async () => {
      await Promise.allSettled(working)
    },
    lost: () => lost,
  }
}

async function runOne(
  { parent, context, tools }: SubagentOptions,
  { description, id, signal }: Task,
  session_id: string,
  journal: Journal,
  warn: (message: string) => void,
): Promise<ToolResult> {
  // Notes for later sessions are the parent's to make: a subagent sees only its task.
  const { memory: _, ...shared } = parent
  const turn = prepareTurn({
    deps: {
      ...shared,
      session: { ...parent.session, session_id, parent: { session_id: parent.session.session_id, tool_use_id: id } },
      limits: { ...parent.limits, max_turns: MAX_TURNS },
      // The model wrote the description: an @ in it is no wish of the user's to attach a file.
      context: { read: context.read, expandPrompt: async (text) => [{ type: 'text', text }] },
      tools,
      toolEnv: { ...parent.toolEnv, seen: new Map() },
      observe: observeSubagent(parent.observe, id),
    },
    recorder: createRecorder(journal, warn),
    before: EMPTY,
    begin: { kind: 'prompt', text: description, extra: null },
    taken: 0,
  })
  const interrupt = (): void => turn.interrupt('the run that gave the task was interrupted')
  signal.addEventListener('abort', interrupt, { once: true })
  try {
    const ended = turn.start()
    if (signal.aborted) interrupt()
    const { conversation, unloadable } = await ended
    const answer =
      unloadable === null
        ? answerOf(conversation)
        : unfinished(`it could not begin (${unloadable.replace(/\.$/, '')})`, '')
    return { ...answer, delegated: costOf(conversation) }
  } finally {
    signal.removeEventListener('abort', interrupt)
  }
}

function costOf({ turn: { usage, api_ms, denials } }: Conversation): Delegated {
  return { usage, api_ms, denials }
}

function sum(a: Delegated, b: Delegated): Delegated {
  return {
    usage: addUsage(a.usage, b.usage),
    api_ms: a.api_ms + b.api_ms,
    denials: [...a.denials, ...b.denials],
  }
}
