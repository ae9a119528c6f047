/** What a thrown value says. Pure, so everything may use it. */

/** @returns the message of an error; anything else that was thrown, as text */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
