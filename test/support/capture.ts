/** A stream that keeps what is written to it. */
import { Writable } from 'node:stream'

export class Capture extends Writable {
  text = ''
  override _write(chunk: Buffer, _encoding: string, done: () => void) {
    this.text += chunk.toString()
    done()
  }
}
