/** Paths as the model gives them. Where they lead is for `services/paths.ts`. */
import * as z from 'zod/mini'
import { absolutePath, realTarget } from '../../paths.ts'
import type { ToolEnv } from '../../ports.ts'

export { absolutePath, realTarget }

/** The `path` field of a file tool. @param description what the model is told of it */
export function pathField(description: string) {
  return z.string().check(
    z.minLength(1),
    z.refine((path) => !path.includes('\0'), 'must not contain a NUL character'),
    z.describe(description),
  )
}

/**
 * @param absolute a path of a call  @param real where it leads now
 * @returns a clause that completes "because …" where it led elsewhere when the call was allowed, else null
 */
export function movedSince(absolute: string, real: string, approved: ToolEnv['approved']): string | null {
  const before = approved?.get(absolute)
  return before === undefined || before === real ? null : 'it leads elsewhere than when it was allowed'
}

/** The same for a path that is to be used at once. */
export function movedNow(absolute: string, approved: ToolEnv['approved']): string | null {
  return movedSince(absolute, realTarget(absolute), approved)
}
