/**
 * What leaves the conversation goes on disk: long results, the messages before a compaction, those left out of the
 * middle. Nothing there is ever overwritten, and what cannot be written is a value, never an exception.
 */
import { randomBytes } from 'node:crypto'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { imagesOfResult, messageWithoutImages, textOfResult } from '../../machines/cut.ts'
import type { ImageBlock, Message, ToolResultBlock } from '../../machines/messages.ts'
import type { Result, TaskOutputsPort } from '../ports.ts'
import { appendLines } from './append.ts'
import { ensureDirectory, makeFile, TASK_OUTPUTS } from './directory.ts'
import { safeName } from './fileName.ts'

const RESULTS = 'tool-results'
const TRANSCRIPTS = 'transcripts'

/** Names tried in turn; then a random one. Servers that count their ids anew in each session need some. */
const NAMES_TRIED = 20

/** @param cwd the working directory; paths that are returned are relative to it, with `/` */
export function createTaskOutputs(cwd: string): TaskOutputsPort {
  return {
    saveResult: (id, content) => attempt(() => saveResult(cwd, id, content)),
    writeTranscript: (session_id, n, messages) =>
      attempt(async () => {
        const directory = await ensureDirectory(cwd, TRANSCRIPTS)
        const base = safeName(session_id)
        const names = function* (): Generator<string> {
          for (let at = n; ; at++) yield `${base}-${at}.jsonl`
        }
        return `${TASK_OUTPUTS}/${TRANSCRIPTS}/${await makeFirst(directory, names(), linesOf(messages))}`
      }),
    appendSnipped: (session_id, messages) =>
      attempt(async () => {
        const directory = await ensureDirectory(cwd, TRANSCRIPTS)
        const name = `${safeName(session_id)}-snipped.jsonl`
        await appendLines(join(directory, name), linesOf(messages))
        return `${TASK_OUTPUTS}/${TRANSCRIPTS}/${name}`
      }),
  }
}

async function attempt<T>(write: () => Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await write() }
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) }
  }
}

async function saveResult(cwd: string, id: string, content: ToolResultBlock['content']): Promise<string[]> {
  const directory = await ensureDirectory(cwd, RESULTS)
  const base = safeName(id)
  const text = textOfResult(content)
  const names: string[] = []
  try {
    if (text !== '') names.push(await makeFirst(directory, namesOf(base, 'txt'), text))
    for (const image of imagesOfResult(content)) names.push(await saveImage(directory, base, image))
  } catch (error) {
    for (const name of names) await unlink(join(directory, name)).catch(() => undefined)
    throw error
  }
  return names.map((name) => `${TASK_OUTPUTS}/${RESULTS}/${name}`)
}

function saveImage(directory: string, base: string, { source }: ImageBlock): Promise<string> {
  const extension = safeName(source.media_type.split('/')[1] ?? 'image')
  return makeFirst(directory, namesOf(base, extension), Buffer.from(source.data, 'base64'))
}

function* namesOf(base: string, extension: string): Generator<string> {
  yield `${base}.${extension}`
  for (let n = 2; n <= NAMES_TRIED; n++) yield `${base}-${n}.${extension}`
  for (;;) yield `${base}-${randomBytes(6).toString('hex')}.${extension}`
}

/** Makes a file under the first name that is free, on file systems that take upper and lower case for one too. */
async function makeFirst(directory: string, names: Iterable<string>, content: string | Uint8Array): Promise<string> {
  for (const name of names) {
    try {
      await makeFile(join(directory, name), content)
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        // A full disk leaves a part of it behind.
        await unlink(join(directory, name)).catch(() => undefined)
        throw error
      }
    }
  }
  throw new Error('there was no free name')
}

/** A message a line. Image data is of no use to who reads it as text. */
function linesOf(messages: Message[]): string {
  return messages.map((message) => `${JSON.stringify(messageWithoutImages(message))}\n`).join('')
}
