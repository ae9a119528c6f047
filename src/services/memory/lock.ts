/** One writer at a time in `.memory`, among all agents that work in the project. */
import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './folder.ts'

const LOCK = '.lock'
/** Writing a folder of notes takes milliseconds. */
const WAIT_MS = 5_000
const PAUSE_MS = 20
/** A lock this old belongs to nobody, also where its owner's number was given to another process. */
const STALE_MS = 30_000
/** Between its making and the writing of its owner's number a lock is empty, for no longer than that. */
const EMPTY_MS = 1_000

/**
 * Runs `work` while no other agent writes.
 * @param folder real path of `.memory`
 * @throws a sentence where another agent holds the folder for too long, and whatever `work` throws
 */
export async function whileLocked<T>(folder: string, work: () => T | Promise<T>): Promise<T> {
  const path = join(folder, LOCK)
  const until = Date.now() + WAIT_MS
  while (!take(path)) {
    if (isStale(path)) remove(path)
    else if (Date.now() > until) throw new Error(`another agent is writing to ${folder}; try again`)
    else await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  try {
    return await work()
  } finally {
    remove(path)
  }
}

function take(path: string): boolean {
  try {
    const fd = openSync(path, 'wx', 0o600)
    writeSync(fd, String(process.pid))
    closeSync(fd)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function isStale(path: string): boolean {
  try {
    const text = readFileSync(path, 'utf8')
    const age = Date.now() - statSync(path).mtimeMs
    if (text === '') return age > EMPTY_MS
    return age > STALE_MS || !isAlive(Number(text))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
