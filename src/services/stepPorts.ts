/** step/: a run that stops before each service. The signatures that `provide` and the folder share. */
import type { CompactedRecord, NewEntry, StateName, TrimStep } from '../machines/journal.ts'
import type { Message, ToolUseBlock } from '../machines/messages.ts'
import type { ServiceName } from '../machines/outcomes.ts'
import type { Begin, Decision, ModelRequest } from './ports.ts'

/** What a service is about to do, worked out by the very functions that it then uses. */
export type Plan =
  | { service: 'loadContext'; begin: Begin }
  | { service: 'persist'; entries: NewEntry[] }
  | { service: 'recall'; prompts: string[] }
  | { service: 'trim'; steps: TrimStep[] }
  | { service: 'compact'; trigger: CompactedRecord['trigger']; request: ModelRequest }
  | { service: 'callModel'; request: ModelRequest }
  | { service: 'runTools'; calls: PlannedCall[] }
  | { service: 'remember'; replies: number }

/** A call that is to run, and whether it may. */
export interface PlannedCall {
  call: ToolUseBlock
  /** `invalid`: answered with that error, nothing runs. */
  answer: Decision | { kind: 'invalid'; content: string }
}

/** An event that the state knows, and where it may lead. */
export interface NextEvent {
  event: string
  /** States, each once; the state itself where the event is only recorded. */
  to: string[]
}

/** A place between two services. */
export interface Stop {
  /** Transitions of the session so far, as trace and replay number them. */
  taken: number
  state: StateName
  service: ServiceName
  /** The call whose subagent stops here; null for the run itself. */
  parent_tool_use_id: string | null
  next: NextEvent[]
  plan(): Promise<Plan>
  /** The conversation as the next request will send it. */
  messages(): Message[]
}

export interface StepPort {
  /** Resolves when the service may begin, or when `signal` aborts. */
  before(stop: Stop, signal: AbortSignal): Promise<void>
  /** From now on nothing is asked: the run is to end. */
  release(): void
}
