/** One writer at a time in `.memory`, among all agents that work in the project. */
import { join } from 'node:path'
import { waitForLock } from '../lock.ts'

const LOCK = '.lock'
/** Writing a folder of notes takes milliseconds. */
const WAIT_MS = 5_000
/** Of another machine, or a container that shares the project and is gone: a lock this old belongs to nobody. */
const FORGOTTEN_MS = 30_000

/**
 * Runs `work` while no other agent writes.
 * @param folder real path of `.memory`, which is there and stays as open as its project made it
 * @throws a sentence where another agent holds the folder for too long, and whatever `work` throws
 */
export async function whileLocked<T>(folder: string, work: () => T | Promise<T>): Promise<T> {
  const outcome = await waitForLock(join(folder, LOCK), WAIT_MS, { forgottenAfter_ms: FORGOTTEN_MS })
  switch (outcome.kind) {
    case 'refused':
      throw new Error(`another agent is writing to ${folder}; try again`)
    case 'impossible':
      throw outcome.error
    case 'held':
      try {
        return await work()
      } finally {
        outcome.lock.release()
      }
  }
}
