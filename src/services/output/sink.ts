/**
 * Writing so that nothing is lost: a sink counts what was handed over and knows when the kernel has taken it all,
 * through slow pipes, full disks and readers that go away.
 */
import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'

/** Why nothing can be written any more. A reader that left is no fault; anything else is told to the user. */
export type Gone = { kind: 'reader' } | { kind: 'failed'; message: string }

export interface Sink {
  /** Hands text over, in order; dropped without a word once the sink is gone. */
  write(text: string): void
  /** Resolves when the kernel has taken everything written so far, or nothing can be written any more. */
  flush(): Promise<void>
  /** Why nothing can be written any more, null while it can. */
  gone(): Gone | null
}

/** What a closed pipe, socket or terminal answers with on the systems Node runs on. */
const READER_LEFT: ReadonlySet<string> = new Set([
  'EPIPE',
  'EOF',
  'EIO',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
])

/** How long to wait where the other end takes nothing just now (EAGAIN on a shared non-blocking descriptor), in ms. */
const AGAIN_MS = 5

/**
 * @param stream a stream of the process or any other; errors of it are caught for good
 * @param onGone called once, when the stream turns out closed or broken
 */
export function createSink(stream: Writable, onGone: (why: Gone) => void): Sink {
  let gone: Gone | null = null
  let open = 0
  let waiting: Array<() => void> = []

  const settle = () => {
    if (open > 0 && gone === null) return
    const ready = waiting
    waiting = []
    for (const resolve of ready) resolve()
  }
  const fail = (error: NodeJS.ErrnoException) => {
    if (gone !== null) return
    gone = READER_LEFT.has(error.code ?? '') ? { kind: 'reader' } : { kind: 'failed', message: error.message }
    settle()
    onGone(gone)
  }
  // Without a listener a closed pipe would end the process with a stack trace.
  stream.on('error', fail)
  // A stream that is closed while its writes are under way may never call back for them.
  stream.on('close', () => fail(Object.assign(new Error('The stream was closed.'), { code: 'ERR_STREAM_DESTROYED' })))

  const fd = ownFile(stream)
  const send = fd === null ? streamSender(stream) : fileSender(fd)
  return {
    write(text) {
      if (text === '' || gone !== null) return
      open++
      send(text, (error) => {
        open--
        if (error) fail(error)
        settle()
      })
    },
    flush: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        settle()
      }),
    gone: () => gone,
  }
}

type Sender = (text: string, done: (error?: NodeJS.ErrnoException | null) => void) => void

function streamSender(stream: Writable): Sender {
  return (text, done) => void stream.write(text, done)
}

/**
 * Writes to a file whole or fails. Node's own stream for files takes a short write (a disk that fills up) for
 * success, and fails for good where the descriptor says EAGAIN.
 */
function fileSender(fd: number): Sender {
  const queue: Array<{ bytes: Buffer; done: Parameters<Sender>[1] }> = []
  let busy = false
  const pump = () => {
    busy = false
    for (let item = queue[0]; item !== undefined; item = queue[0]) {
      try {
        while (item.bytes.length > 0) item.bytes = item.bytes.subarray(writeSync(fd, item.bytes))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
          busy = true
          setTimeout(pump, AGAIN_MS)
          return
        }
        queue.shift()
        item.done(error as NodeJS.ErrnoException)
        continue
      }
      queue.shift()
      item.done()
    }
  }
  return (text, done) => {
    queue.push({ bytes: Buffer.from(text), done })
    if (!busy) pump()
  }
}

/** @returns the descriptor where the stream is this process's stdout or stderr and leads to a file or a device. */
function ownFile(stream: Writable): number | null {
  const { fd, isTTY } = stream as { fd?: unknown; isTTY?: unknown }
  if ((fd !== 1 && fd !== 2) || isTTY === true) return null
  try {
    const stats = fstatSync(fd)
    return stats.isFile() || stats.isCharacterDevice() ? fd : null
  } catch {
    return null
  }
}
