/** Directories and files that only their owner can read, whatever the umask. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../machines/errorText.ts'

const PRIVATE_DIR = 0o700
const PRIVATE_FILE = 0o600
const OTHERS = 0o077
const STICKY = 0o1000

/** What the agent itself keeps in its home. */
const OURS =
  /^(settings\.json|trust\.json|\.(settings|trust)\.json\.(lock.*|new)|sessions\.sqlite.*|locks|history|skills|agents|commands|AGENTS\.md|CLAUDE\.md|\.memory|\.task_outputs)$/

/**
 * Makes a directory (and its parents) that only its owner can read. One that is there and open to others is
 * closed if it is ours alone: `AGENT_HOME` may name a directory that serves other things too.
 */
export function ensurePrivateDir(path: string): void {
  try {
    const found = statSync(path)
    if (isOpenToOthers(found) && readdirSync(path).every((name) => OURS.test(name))) chmodSync(path, PRIVATE_DIR)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    makeDir(path)
  }
}

/** `mkdirSync` with `recursive` leaves the directories in between to the umask, which may lock out their owner. */
function makeDir(path: string): void {
  try {
    makeOne(path)
  } catch (error) {
    // Where the parent is there and nothing can be made in it (/proc), it is no use to make it.
    if (errorCode(error) !== 'ENOENT' || existsSync(dirname(path))) throw error
    makeDir(dirname(path))
    // Once: below a link that leads nowhere it would be in vain for ever.
    makeOne(path)
  }
}

/** Another process may be quicker, at each step of the way. */
function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE_DIR })
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return
    throw error
  }
  chmodSync(path, PRIVATE_DIR)
}

function isOpenToOthers({ mode, uid }: { mode: number; uid: number }): boolean {
  return (mode & OTHERS) !== 0 && (mode & STICKY) === 0 && uid === process.getuid?.()
}

/** Closes a file to others if it is there and ours. */
export function tightenFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found !== undefined && isOpenToOthers(found)) chmodSync(path, found.mode & ~OTHERS & 0o777)
}

/**
 * Creates a file that only its owner can read.
 * @returns false where there is one already
 */
export function createPrivateFile(path: string, text: string): boolean {
  let fd: number
  try {
    fd = openSync(path, 'wx', PRIVATE_FILE)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
  try {
    fchmodSync(fd, PRIVATE_FILE)
    if (text !== '') writeSync(fd, text)
  } catch (error) {
    unlinkSync(path)
    throw error
  } finally {
    closeSync(fd)
  }
  return true
}
