/** The folder `.task_outputs` of a working directory: what the model can look up again. */
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const TASK_OUTPUTS = '.task_outputs'

/** Keeps the folder out of the user's commits, itself included. */
const IGNORE_ALL = '*\n'

/**
 * Makes `.task_outputs/<sub>` where it is missing, for this user only.
 * @param sub one name
 * @returns its absolute path; throws where it cannot be made, or where a link would lead the files elsewhere
 */
export function ensureDirectory(cwd: string, sub: string): string {
  const top = join(cwd, TASK_OUTPUTS)
  ensureOne(top)
  unlessThere(() => writeFileSync(join(top, '.gitignore'), IGNORE_ALL, { flag: 'wx', mode: 0o600 }))
  const directory = join(top, sub)
  ensureOne(directory)
  return directory
}

function ensureOne(directory: string): void {
  unlessThere(() => mkdirSync(directory, { mode: 0o700 }))
  // A project may bring the folder as a link to somewhere else.
  if (!lstatSync(directory).isDirectory()) throw new Error(`${directory} is not a directory`)
}

function unlessThere(make: () => void): void {
  try {
    make()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
