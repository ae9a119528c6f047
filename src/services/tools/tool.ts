/**
 * What a tool is. One file a tool exports one of these; `registry.ts` lists them. The zod schema is the one
 * source of both what is sent to the model and what its input is checked by.
 */
import type { ZodType } from 'zod'
import type { CallEffect, CallPlan, ToolEnv, ToolResult } from '../ports.ts'

export interface Tool<Input> {
  name: string
  description: string
  input: ZodType<Input>
  /** What this call would touch; permissions are decided on it before `run`. */
  effect(input: Input, cwd: string): CallEffect
  /** Which calls of one reply must wait for each other; by default none. */
  plan?(input: Input, cwd: string): CallPlan
  /** Does the work. Expected failures are `error` results; it throws only for bugs. */
  run(input: Input, env: ToolEnv): Promise<ToolResult>
}

export type AnyTool = Tool<never>

/** Fixes a tool's input type from its schema. */
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool
}
