/**
 * Real pipes for the output of commands. What Node calls a pipe is a socket: `echo x > /dev/stderr` and
 * `tee /dev/stdout` fail on it, and it cannot serve as descriptor 1 and 2 at once, which alone keeps the order of
 * the two. POSIX gives a program without pipe(2) one by a named pipe: opened at both ends, it needs no name any more.
 */
import { execFile } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Both ends are closed on exec, so no other child gets them. Reading never blocks, writing does. */
export interface OutputPipe {
  read: number
  write: number
}

/** Pipes made by one start of mkfifo: the cost of the start is shared by as many calls. */
const BATCH = 16
/** So many left: new ones are made while commands run, and no call waits for them. */
const FEW = 4

const spare: OutputPipe[] = []
let making: Promise<void> | null = null

/** @returns a new pipe, the caller's to close; throws where no temporary directory can be written */
export async function openPipe(): Promise<OutputPipe> {
  for (;;) {
    const pipe = spare.pop()
    if (pipe === undefined) await morePipes()
    else {
      // Where it fails, the call that finds none left tells.
      if (spare.length < FEW) morePipes().catch(() => {})
      return pipe
    }
  }
}

function morePipes(): Promise<void> {
  making ??= makePipes().finally(() => {
    making = null
  })
  return making
}

/** Closes the pipes that nobody has asked for yet. */
export function closeSparePipes(): void {
  for (const pipe of spare.splice(0)) {
    closeSync(pipe.read)
    closeSync(pipe.write)
  }
}

async function makePipes(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'stepwright-'))
  try {
    const paths = Array.from({ length: BATCH }, (_, n) => join(directory, `${n}`))
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths])
    for (const path of paths) spare.push(openBothEnds(path))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function openBothEnds(path: string): OutputPipe {
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return { read, write: openSync(path, constants.O_WRONLY) }
  } catch (error) {
    closeSync(read)
    throw error
  }
}
