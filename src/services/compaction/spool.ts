/** A file that takes an output while it comes, piece by piece and at once, so that nothing of it waits in memory. */
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenSpool } from '../ports.ts'

/** What one output may take on disk, in bytes: far more than a model can read, far less than a disk. */
const MOST_SPOOLED = 64 * 1024 * 1024

export interface SpoolOptions {
  /** Makes the directory; throws where that is not possible. */
  directory(): string
  /** Tried in turn until one is free. */
  names: Iterable<string>
  /** @returns the path as the model is told it */
  shown(name: string): string
  most?: number
}

type State =
  | { kind: 'unused' }
  | { kind: 'open'; fd: number; path: string; name: string; bytes: number; leftOut: number }
  | { kind: 'closed' }

/** @returns a spool whose file is made with the first text; what cannot be written closes it, and nobody is told */
export function createSpool(options: SpoolOptions): OpenSpool {
  const most = options.most ?? MOST_SPOOLED
  let state: State = { kind: 'unused' }
  const fail = (): void => {
    if (state.kind === 'open') discard(state.fd, state.path)
    state = { kind: 'closed' }
  }
  return {
    write(text) {
      if (text === '' || state.kind === 'closed') return
      try {
        if (state.kind === 'unused') state = openFirst(options)
        const bytes = Buffer.from(text)
        const taken = state.leftOut > 0 || state.bytes + bytes.length > most ? 0 : bytes.length
        if (taken > 0) writeAll(state.fd, bytes)
        state.bytes += taken
        state.leftOut += bytes.length - taken
      } catch {
        fail()
      }
    },
    end() {
      if (state.kind !== 'open') return null
      const { fd, name, bytes, leftOut } = state
      closeSync(fd)
      state = { kind: 'closed' }
      return { path: options.shown(name), bytes, leftOut }
    },
  }
}

function openFirst({ directory, names }: SpoolOptions): Extract<State, { kind: 'open' }> {
  const folder = directory()
  for (const name of names) {
    const path = join(folder, name)
    try {
      return { kind: 'open', fd: openSync(path, 'wx', 0o600), path, name, bytes: 0, leftOut: 0 }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  throw new Error('there was no free name')
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
}

/** A full disk gets its room back. */
function discard(fd: number, path: string): void {
  try {
    closeSync(fd)
    unlinkSync(path)
  } catch {
    // What cannot be removed stays; nobody is told its name.
  }
}
