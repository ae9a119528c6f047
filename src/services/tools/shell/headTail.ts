/** Output of any length in bounded memory: its beginning and its end. */

import { count } from '../../../machines/words.ts'
import { plain } from './plain.ts'

/** Bytes kept of each end. Far more than a model reads at once; enough to save the whole of all usual output. */
const KEPT_BYTES = 512 * 1024

/** How far from a cut a line end is looked for, in bytes. */
const LINE_SEARCH = 4096

/** Where a command's output goes, chunk by chunk. */
export interface OutputSink {
  /** `chunk` is only lent: its memory is used again afterwards. */
  write(chunk: Uint8Array): void
}

/** Keeps the first and the last `limit` bytes, and counts what was between them. */
export class HeadTail implements OutputSink {
  readonly #limit: number
  #head: Buffer = Buffer.alloc(0)
  #headLength = 0
  /** A ring, made once the head is full. */
  #tail: Buffer | null = null
  #tailBytes = 0

  constructor(limit: number = KEPT_BYTES) {
    this.#limit = limit
  }

  write(chunk: Uint8Array): void {
    const toHead = Math.min(chunk.length, this.#limit - this.#headLength)
    if (toHead > 0) this.#addToHead(chunk.subarray(0, toHead))
    if (toHead < chunk.length) this.#addToTail(chunk.subarray(toHead))
  }

  /** Whether so many bytes more could be written without leaving any out. */
  hasRoomFor(bytes: number): boolean {
    return this.#headLength + this.#tailBytes + bytes <= 2 * this.#limit
  }

  /** All that was written, in order, as long as none was left out. */
  whole(): Uint8Array[] {
    return [this.#head.subarray(0, this.#headLength), this.#tailInOrder()]
  }

  /** The output as plain text; where bytes were left out a line says how many. Characters are never split. */
  text(): string {
    const head = this.#head.subarray(0, this.#headLength)
    const tail = this.#tailInOrder()
    const leftOut = this.#tailBytes - tail.length
    if (leftOut === 0) return plain(Buffer.concat([head, tail]).toString('utf8'))
    const first = head.subarray(0, endOfHead(head))
    const last = tail.subarray(startOfTail(tail))
    const gap = leftOut + (head.length - first.length) + (tail.length - last.length)
    const note = `[… ${count(gap, 'byte')} of output left out here. To see them, send the output to a file and read its parts …]`
    return `${plain(first.toString('utf8'))}\n${note}\n${plain(last.toString('utf8'))}`
  }

  #addToHead(bytes: Uint8Array): void {
    const length = this.#headLength + bytes.length
    if (length > this.#head.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(length, this.#head.length * 2, 8192)))
      this.#head.copy(grown, 0, 0, this.#headLength)
      this.#head = grown
    }
    this.#head.set(bytes, this.#headLength)
    this.#headLength = length
  }

  #addToTail(bytes: Uint8Array): void {
    this.#tail ??= Buffer.allocUnsafe(this.#limit)
    const skipped = Math.max(0, bytes.length - this.#limit)
    let at = (this.#tailBytes + skipped) % this.#limit
    for (let rest = bytes.subarray(skipped); rest.length > 0; ) {
      const part = rest.subarray(0, this.#limit - at)
      this.#tail.set(part, at)
      rest = rest.subarray(part.length)
      at = (at + part.length) % this.#limit
    }
    this.#tailBytes += bytes.length
  }

  #tailInOrder(): Buffer {
    if (this.#tail === null) return Buffer.alloc(0)
    if (this.#tailBytes <= this.#limit) return this.#tail.subarray(0, this.#tailBytes)
    const start = this.#tailBytes % this.#limit
    return Buffer.concat([this.#tail.subarray(start), this.#tail.subarray(0, start)])
  }
}

/** A line end near the cut, so that no escape sequence is cut either; else the last whole character. */
function endOfHead(head: Buffer): number {
  const newline = head.lastIndexOf(0x0a)
  if (newline >= 0 && newline >= head.length - LINE_SEARCH) return newline
  let lead = head.length - 1
  while (lead > head.length - 4 && isContinuation(head[lead])) lead--
  return lead + sizeOf(head[lead] ?? 0) > head.length ? lead : head.length
}

/** Bytes of the character that this byte begins. */
function sizeOf(lead: number): number {
  if (lead < 0xc0) return 1
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
}

function startOfTail(tail: Buffer): number {
  const newline = tail.indexOf(0x0a)
  if (newline >= 0 && newline < LINE_SEARCH) return newline + 1
  let start = 0
  while (start < 3 && isContinuation(tail[start])) start++
  return start
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
