/** What one run of the machine works with. */
import type { StateName, TurnLimits } from '../../machines/journal.ts'
import type { MemoryPort, SideCallsPort } from '../memoryPorts.ts'
import type {
  Begin,
  ContextPort,
  ModelPort,
  Observe,
  PermissionPort,
  TaskOutputsPort,
  ToolEnv,
  ToolsPort,
} from '../ports.ts'
import type { NextEvent, StepPort } from '../stepPorts.ts'
import type { Recorder } from './recorder.ts'

/** What a run has before its machine is made; its subagents share it. */
export type RunParts = Omit<RunDeps, 'recorder' | 'begin' | 'state' | 'position' | 'now'>

/** Long-term memory and the side calls that it asks. */
export interface RunMemory {
  notes: MemoryPort
  sideCalls: SideCallsPort
}

/** Where a machine that runs stands. */
export interface Position {
  /** Transitions of the session so far. */
  taken(): number
  /** The events that it knows there. */
  next(): NextEvent[]
}

export interface RunDeps {
  session: { session_id: string; cwd: string; model: string; parent?: { session_id: string; tool_use_id: string } }
  begin: Begin
  limits: TurnLimits
  maxOutputTokens: number
  context: ContextPort
  model: ModelPort
  tools: ToolsPort
  toolEnv: Omit<ToolEnv, 'signal'>
  permissions: PermissionPort
  outputs: TaskOutputsPort
  /** Absent where memory is off, and for subagents. */
  memory?: RunMemory
  recorder: Recorder
  observe: Observe
  /** Asked before each service; absent in a run that does not stop. */
  step?: StepPort
  /** Where this machine stands; there where `step` is. */
  position?: Position
  /** The machine's state now, for records that a service writes while it works. */
  state: () => StateName
  now: () => number
}
