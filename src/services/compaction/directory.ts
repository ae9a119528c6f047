/** The folder `.task_outputs` of a working directory: what the model can look up again. */
import { lstat, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const TASK_OUTPUTS = '.task_outputs'

/** Keeps the folder out of the user's commits, itself included. */
const IGNORE_ALL = '*\n'

/**
 * Makes `.task_outputs/<sub>` where it is missing, for this user only.
 * @param sub one name
 * @returns its absolute path; throws where it cannot be made, or where a link would lead the files elsewhere
 */
export async function ensureDirectory(cwd: string, sub: string): Promise<string> {
  const top = join(cwd, TASK_OUTPUTS)
  await ensureOne(top)
  await writeOnce(join(top, '.gitignore'), IGNORE_ALL)
  const directory = join(top, sub)
  await ensureOne(directory)
  return directory
}

async function ensureOne(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // A project may bring the folder as a link to somewhere else.
    if (!(await lstat(directory)).isDirectory()) throw new Error(`${directory} is not a directory`)
  }
}

async function writeOnce(path: string, text: string): Promise<void> {
  await makeFile(path, text).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/** Makes a new file for this user only; rejects with EEXIST where there is anything of that name. */
export function makeFile(path: string, content: string | Uint8Array): Promise<void> {
  return writeFile(path, content, { flag: 'wx', mode: 0o600 })
}
