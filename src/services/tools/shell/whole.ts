/** The whole of an output that is too long to be held in memory: its ends are kept, all of it goes to a spool. */
import { StringDecoder } from 'node:string_decoder'
import type { Spool } from '../../ports.ts'
import type { HeadTail, OutputSink } from './headTail.ts'
import { plain } from './plain.ts'

/** A line longer than this is written in parts, in UTF-16 units. */
const LONGEST_LINE = 256 * 1024

/** Nothing is spooled while the ends are the whole. */
export class SpoolingSink implements OutputSink {
  readonly #kept: HeadTail
  readonly #spool: Spool
  readonly #decoder = new StringDecoder('utf8')
  #isSpooling = false
  /** Not yet written: a line is made plain as a whole, for it may have been redrawn. */
  #line = ''

  constructor(kept: HeadTail, spool: Spool) {
    this.#kept = kept
    this.#spool = spool
  }

  write(chunk: Uint8Array): void {
    if (!this.#isSpooling && !this.#kept.hasRoomFor(chunk.length)) {
      this.#isSpooling = true
      for (const bytes of this.#kept.whole()) this.#take(bytes)
    }
    this.#kept.write(chunk)
    if (this.#isSpooling) this.#take(chunk)
  }

  /** No more comes. */
  end(): void {
    if (!this.#isSpooling) return
    this.#spool.write(plain(this.#line + this.#decoder.end()))
    this.#line = ''
  }

  #take(bytes: Uint8Array): void {
    const text = this.#line + this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    const end = text.length > LONGEST_LINE ? text.length : text.lastIndexOf('\n') + 1
    if (end > 0) this.#spool.write(plain(text.slice(0, end)))
    this.#line = text.slice(end)
  }
}
