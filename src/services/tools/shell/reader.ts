/** The reading end of a command's output. */
import { readSync } from 'node:fs'
import { Socket } from 'node:net'
import type { OutputSink } from './headTail.ts'

const CHUNK = 64 * 1024
/** The largest capacity an unprivileged pipe can have: more than this was not in it when the shell ended. */
const MOST_IN_PIPE = 1024 * 1024
/** Pause between two chunks nobody looks at: a server's log flows, an endless writer costs nothing. */
const DISCARD_PAUSE_MS = 10

type State = 'reading' | 'discarding' | 'ended'

/** Reads a pipe into a sink as it comes, one buffer for all of it. */
export class PipeReader {
  readonly #fd: number
  #sink: OutputSink | null
  readonly #buffer = Buffer.allocUnsafe(CHUNK)
  readonly #socket: Socket
  readonly #ended: Promise<void>
  #state: State = 'reading'

  /** Takes the descriptor over and closes it at the end. */
  constructor(fd: number, sink: OutputSink) {
    this.#fd = fd
    this.#sink = sink
    const onread = { buffer: this.#buffer, callback: (length: number) => this.#take(length) }
    // A constant of its own, since the types of Node 20 leave `onread` out here.
    const options = { fd, readable: true, writable: false, onread }
    this.#socket = new Socket(options)
    this.#ended = new Promise((resolve) => {
      const end = () => {
        this.#state = 'ended'
        resolve()
      }
      this.#socket.once('end', end).once('close', end).once('error', end)
    })
    this.#socket.resume()
  }

  /** Takes what is in the pipe at this moment, without waiting. */
  drain(): void {
    if (this.#state !== 'reading') return
    for (let taken = 0; taken < MOST_IN_PIPE; ) {
      const length = this.#readNow()
      if (length === 0) return
      this.#sink?.write(this.#buffer.subarray(0, length))
      taken += length
    }
  }

  /** Waits until the last writer has closed the pipe, or `ms` have gone by. */
  async settle(ms: number): Promise<void> {
    if (this.#state === 'ended') return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms)
    })
    await Promise.race([this.#ended, late])
    clearTimeout(timer)
  }

  /**
   * From now on what comes is read and thrown away, so that a process in the background is neither blocked by a
   * full pipe nor killed by a closed one. Does not keep the agent alive.
   */
  discard(): void {
    if (this.#state !== 'reading') return
    this.#state = 'discarding'
    this.#sink = null
    this.#socket.unref()
  }

  #take(length: number): boolean {
    if (this.#state === 'reading') {
      this.#sink?.write(this.#buffer.subarray(0, length))
      return true
    }
    setTimeout(() => this.#socket.resume(), DISCARD_PAUSE_MS).unref()
    return false
  }

  #readNow(): number {
    try {
      return readSync(this.#fd, this.#buffer, 0, CHUNK, null)
    } catch {
      // EAGAIN: nothing there now.
      return 0
    }
  }
}
