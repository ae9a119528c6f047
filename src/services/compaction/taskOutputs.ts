/**
 * What leaves the conversation goes on disk: long results, the messages before a compaction, those left out of the
 * middle. Nothing there is ever overwritten, and what cannot be written is a value, never an exception.
 */
import { unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { imagesOfResult, messageWithoutImages, textOfResult } from '../../machines/cut.ts'
import { messageOf } from '../../machines/errorText.ts'
import type { ImageBlock, Message, ToolResultBlock } from '../../machines/messages.ts'
import type { Result, TaskOutputsPort } from '../ports.ts'
import { appendLines } from './append.ts'
import { ensureDirectory, TASK_OUTPUTS } from './directory.ts'
import { safeName } from './fileName.ts'
import { namesOf, numbered } from './names.ts'
import { createSpool } from './spool.ts'

const RESULTS = 'tool-results'
const TRANSCRIPTS = 'transcripts'

const shownResult = (name: string): string => `${TASK_OUTPUTS}/${RESULTS}/${name}`
const shownTranscript = (name: string): string => `${TASK_OUTPUTS}/${TRANSCRIPTS}/${name}`

/** @param cwd the working directory; paths that are returned are relative to it, with `/` */
export function createTaskOutputs(cwd: string): TaskOutputsPort {
  return {
    saveResult: (id, content) => attempt(() => saveResult(cwd, id, content)),
    writeTranscript: (session_id, n, messages) =>
      attempt(async () => {
        const directory = ensureDirectory(cwd, TRANSCRIPTS)
        return shownTranscript(await makeFirst(directory, numbered(session_id, n), linesOf(messages)))
      }),
    appendSnipped: (session_id, messages) =>
      attempt(async () => {
        const name = `${safeName(session_id)}-snipped.jsonl`
        await appendLines(join(ensureDirectory(cwd, TRANSCRIPTS), name), linesOf(messages))
        return shownTranscript(name)
      }),
    spool: (id) =>
      createSpool({
        directory: () => ensureDirectory(cwd, RESULTS),
        names: namesOf(id, 'txt'),
        shown: shownResult,
      }),
  }
}

async function attempt<T>(write: () => Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await write() }
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
}

/** All of it or nothing: its text first, then its images. */
async function saveResult(cwd: string, id: string, content: ToolResultBlock['content']): Promise<string[]> {
  const directory = ensureDirectory(cwd, RESULTS)
  const text = textOfResult(content)
  const names: string[] = []
  try {
    if (text !== '') names.push(await makeFirst(directory, namesOf(id, 'txt'), text))
    for (const image of imagesOfResult(content)) names.push(await saveImage(directory, id, image))
  } catch (error) {
    for (const name of names) await unlink(join(directory, name)).catch(() => undefined)
    throw error
  }
  return names.map(shownResult)
}

function saveImage(directory: string, id: string, { source }: ImageBlock): Promise<string> {
  const extension = safeName(source.media_type.split('/')[1] ?? 'image')
  return makeFirst(directory, namesOf(id, extension), Buffer.from(source.data, 'base64'))
}

/** Makes a file under the first name that is free, on file systems that take upper and lower case for one too. */
async function makeFirst(directory: string, names: Iterable<string>, content: string | Uint8Array): Promise<string> {
  for (const name of names) {
    const path = join(directory, name)
    try {
      await writeFile(path, content, { flag: 'wx', mode: 0o600 })
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      // A full disk leaves a part of it behind.
      await unlink(path).catch(() => undefined)
      throw error
    }
  }
  throw new Error('there was no free name')
}

/** A message a line. Image data is of no use to who reads it as text. */
function linesOf(messages: Message[]): string {
  return messages.map((message) => `${JSON.stringify(messageWithoutImages(message))}\n`).join('')
}
