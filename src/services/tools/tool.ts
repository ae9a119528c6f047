/**
 * What a tool is. One file a tool exports one of these; `registry.ts` lists them. The zod schema is the one
 * source of both what is sent to the model and what its input is checked by.
 *
 * Write schemas with `import * as z from 'zod/mini'`: in the code-cached bundle that costs 3 ms at start-up with all
 * schemas and their JSON Schema made, the same with `from 'zod'` 13 ms. Optional fields are
 * `z.optional(z.string().check(z.describe('…')))`, objects `z.strictObject({…})`.
 */
import type { ZodType } from 'zod'
import type { ZodMiniType } from 'zod/mini'
import type { CallEffect, CallPlan, ToolEnv, ToolResult } from '../ports.ts'

export interface Tool<Input> {
  name: string
  description: string
  input: ZodMiniType<Input> | ZodType<Input>
  /** Whether it is sent to the model now; by default always. A call of it is answered all the same. */
  isOffered?(): boolean
  /** What this call would touch; permissions are decided on it before `run`. */
  effect(input: Input, cwd: string): CallEffect
  /** Which calls of one reply must wait for each other; by default none. */
  plan?(input: Input, cwd: string): CallPlan
  /** Does the work. Expected failures are `error` results; it throws only for bugs. */
  run(input: Input, env: ToolEnv): Promise<ToolResult>
}

/** A tool of whatever input: `run` takes only what `input` has let through. */
export type AnyTool = Omit<Tool<never>, 'input'> & { input: ZodMiniType | ZodType }

/** Fixes a tool's input type from its schema. */
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool
}
