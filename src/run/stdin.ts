/** Piped standard input: read where something is really piped, never waited for where nothing comes. */
import { isUtf8 } from 'node:buffer'
import { fstatSync } from 'node:fs'
import { decodeText, sizeInWords } from '../services/context/files.ts'
import type { Result } from '../services/ports.ts'

/** A stdin that says nothing for this long holds no prompt: it was inherited (contract.md, 2). */
const FIRST_BYTE_MS = 1000
const LATE =
  'stdin is a pipe that said nothing for a second, so the run goes on without it. To wait for it, leave the prompt to it: -p -. To say that there is nothing: < /dev/null.'
/** More than any model reads; a bound, so that an endless pipe cannot fill the memory. */
const MAX_BYTES = 32 * 1024 * 1024

/** @returns whether stdin is a pipe, a socket or a file: something a user can have put text into. */
export function stdinIsPiped(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isFile() || stat.isSocket()
  } catch {
    return false
  }
}

/**
 * Reads stdin to its end.
 * @param wait `forText`: the prompt itself comes from there, so however long it takes; `briefly`: it is an addition,
 *   given up where no first byte comes
 * @param warn told where it was given up, since what comes later is lost
 * @returns the text, null where nothing came
 */
export async function readStdin(
  wait: 'forText' | 'briefly',
  warn: (message: string) => void,
): Promise<Result<string | null>> {
  const { stdin } = process
  const chunks: Buffer[] = []
  let size = 0
  let timer: NodeJS.Timeout | undefined
  return new Promise((resolve) => {
    const end = (result: Result<string | null>): void => {
      clearTimeout(timer)
      stdin.removeAllListeners()
      // A handle left open would hold the process.
      stdin.destroy()
      resolve(result)
    }
    const giveUp = (): void => {
      warn(LATE)
      end({ ok: true, value: null })
    }
    if (wait === 'briefly') timer = setTimeout(giveUp, FIRST_BYTE_MS)
    stdin.on('data', (chunk: Buffer) => {
      clearTimeout(timer)
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_BYTES) {
        end({
          ok: false,
          message: `stdin holds more than ${MAX_BYTES / 1024 / 1024} MB; put it into a file and name the file in the prompt.`,
        })
      }
    })
    const endWithText = (): void => end(textOf(Buffer.concat(chunks), warn))
    stdin.on('end', endWithText)
    stdin.on('error', endWithText)
  })
}

/** UTF-8 as it came, UTF-16 with a byte-order mark too; what is neither must not reach the model as mangled text. */
function textOf(bytes: Buffer, warn: (message: string) => void): Result<string | null> {
  if (bytes.length === 0) return { ok: true, value: null }
  if (isUtf8(bytes)) return { ok: true, value: bytes.toString('utf8') }
  const text = decodeText(bytes)
  if (text === null) {
    return {
      ok: false,
      message: `stdin is no UTF-8 text (${sizeInWords(bytes.length)}): convert it, or put it into a file and name that in the prompt, as in @picture.png.`,
    }
  }
  if (text.includes('\ufffd')) warn('stdin is not all UTF-8: the bytes of it that are not came through as \ufffd.')
  return { ok: true, value: text }
}
