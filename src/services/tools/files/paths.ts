/** Paths as the model gives them. Where they lead is for `services/paths.ts`. */
import * as z from 'zod/mini'

export { absolutePath, realTarget } from '../../paths.ts'

/** The `path` field of a file tool. @param description what the model is told of it */
export function pathField(description: string) {
  return z.string().check(
    z.minLength(1),
    z.refine((path) => !path.includes('\0'), 'must not contain a NUL character'),
    z.describe(description),
  )
}
