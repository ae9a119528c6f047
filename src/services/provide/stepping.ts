/** Stops before services: where a machine stands, and what the service it is about to start will do. */
import { type AnyMachineSnapshot, getNextTransitions, type InspectionEvent } from 'xstate'
import { POLICY } from '../../machines/layers/policy.ts'
import { trim } from '../../machines/layers/trim.ts'
import type { ServiceName, Services, ToolsInput } from '../../machines/outcomes.ts'
import { requestMessages } from '../../machines/request.ts'
import type { NextEvent, Plan, PlannedCall } from '../stepPorts.ts'
import { baseOf, requestOf } from './callModel.ts'
import { subjectOf } from './compact.ts'
import type { Position, RunDeps } from './deps.ts'
import { firstMessages } from './summarise.ts'

/** A service with the input it is started with. */
export type Start = { [Name in ServiceName]: { service: Name; input: Services[Name]['input'] } }[ServiceName]

/**
 * @param before transitions that the session had before this machine began
 * @param snapshot of the machine, now
 * @returns its position, kept up by what its actor tells `inspect`
 */
export function createPosition(
  before: number,
  snapshot: () => AnyMachineSnapshot,
): Position & { inspect(event: InspectionEvent): void } {
  let count = before
  return {
    taken: () => count,
    next: () => nextEvents(snapshot()),
    inspect: (event) => {
      if (event.type === '@xstate.microstep') count += event._transitions.length
    },
  }
}

function nextEvents(snapshot: AnyMachineSnapshot): NextEvent[] {
  const events = new Map<string, Set<string>>()
  for (const { eventType, target } of getNextTransitions(snapshot)) {
    const to = events.get(eventType) ?? new Set()
    events.set(eventType, to.add(target?.[0]?.key ?? String(snapshot.value)))
  }
  return [...events].map(([event, to]) => ({ event, to: [...to] }))
}

/** Waits until the service may begin. Rejects where the machine has left the state meanwhile: nothing is run then. */
export async function stopBefore(deps: RunDeps, start: Start, signal: AbortSignal): Promise<void> {
  const { step, position, session } = deps
  if (step === undefined || position === undefined) return
  // The service is started in the middle of a transition; what is asked is asked when it is over.
  await null
  signal.throwIfAborted()
  const { conversation } = start.input
  await step.before(
    {
      taken: position.taken(),
      state: deps.state(),
      service: start.service,
      parent_tool_use_id: session.parent?.tool_use_id ?? null,
      next: position.next(),
      plan: () => planOf(deps, start),
      messages: () => requestMessages(conversation),
    },
    signal,
  )
  signal.throwIfAborted()
}

async function planOf(deps: RunDeps, { service, input }: Start): Promise<Plan> {
  switch (service) {
    case 'loadContext':
      return { service, begin: deps.begin }
    case 'persist':
      return { service, entries: input.entries }
    case 'recall':
      return { service, prompts: input.conversation.lastPrompts }
    case 'remember':
      return { service, replies: input.conversation.turn.calls }
    case 'trim':
      return { service, steps: trim(input.conversation, POLICY).done }
    case 'compact': {
      const base = baseOf(deps, await deps.context.read())
      return {
        service,
        trigger: input.trigger,
        request: { ...base, messages: firstMessages(subjectOf(input, deps.session.model).subject) },
      }
    }
    case 'callModel':
      return { service, request: requestOf(deps, await deps.context.read(), input.conversation) }
    case 'runTools':
      return { service, calls: await Promise.all(input.calls.map((call) => plannedCall(deps, call))) }
  }
}

async function plannedCall(deps: RunDeps, call: ToolsInput['calls'][number]): Promise<PlannedCall> {
  const checked = await deps.tools.check(call, deps.session.cwd)
  if (checked.kind === 'invalid') return { call, answer: checked }
  return { call, answer: await deps.permissions.decide(call, checked.effect) }
}
