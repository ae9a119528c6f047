/** What a thrown value says. Pure, so everything may use it. */

/** @returns the message of an error; anything else that was thrown, as text */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** @returns the part that tells what failed: the system's name (`EACCES`) or a library's (`SQLITE_BUSY`); '' where there is none */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
