/** Appending to a file of our own. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/** Adds text at a file's end, made where it is missing; a link in its place is refused. */
export async function appendLines(path: string, text: string): Promise<void> {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants
  const file = await open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600)
  try {
    await file.appendFile(text)
  } finally {
    await file.close()
  }
}
