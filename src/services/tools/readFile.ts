/** `read_file`: a file as the model should see it. */
import type { FileHandle } from 'node:fs/promises'
import * as z from 'zod/mini'
import { count } from '../../machines/words.ts'
import { IMAGE_BYTES, IMAGE_SIDE, imageSize, imageType } from '../image.ts'
import type { SeenFiles, ToolResult } from '../ports.ts'
import { LINE_LENGTH, LineReader, type LineWindow } from './files/lines.ts'
import { whatIsThere } from './files/nearNames.ts'
import { openRegular, pieces } from './files/opened.ts'
import { absolutePath, pathField, realTarget } from './files/paths.ts'
import { failure } from './files/reasons.ts'
import { HASHED_SIZE, newHash } from './files/seen.ts'
import { defineTool } from './tool.ts'

/** Lines shown where the call names no limit. */
const DEFAULT_LINES = 2000
/** UTF-16 units shown at most: with its notes the result stays under the 30,000 beyond which only a preview is sent. */
const MOST_UNITS = 28_000

const input = z.strictObject({
  path: pathField('Relative, absolute or ~/…'),
  offset: z.optional(z.int().check(z.gte(0), z.describe('First line, counted from 1'))),
  limit: z.optional(z.int().check(z.gte(1), z.describe(`Most lines; default ${DEFAULT_LINES}`))),
})

type Input = z.infer<typeof input>

/**
 * Whole files are shown as they are, without byte-order mark and CR; with `offset` or `limit` lines are numbered as
 * `cat -n` does. Memory is bounded whatever the file's size, and nothing but a regular file is opened.
 */
export const readFileTool = defineTool<Input>({
  name: 'read_file',
  description:
    'Read a text file or look at an image (PNG, JPEG, GIF, WebP). With offset or limit lines come numbered (number, ' +
    'tab, text). Long files are shown in parts; the end says how to read on.',
  input,
  effect: ({ path }, cwd) => ({ kind: 'read', paths: [absolutePath(path, cwd)] }),
  // In call order with writes to the same file.
  plan: ({ path }, cwd) => ({ key: realTarget(absolutePath(path, cwd)) }),
  async run(call, { cwd, seen, signal, approved }) {
    const path = absolutePath(call.path, cwd)
    const opened = await openRegular(path, approved?.get(path))
    switch (opened.kind) {
      case 'missing':
        return failure(`${call.path} does not exist. ${await whatIsThere(path)}`.trimEnd())
      case 'refused':
        return failure(`${call.path} cannot be read because ${opened.reason}.${adviceFor(opened.reason)}`)
      case 'file':
        try {
          return await show(call, { ...opened, real: realTarget(path) }, seen, signal)
        } finally {
          await opened.handle.close()
        }
    }
  },
})

function adviceFor(reason: string): string {
  return reason === 'it is a directory' ? ' List it with glob or bash (ls).' : ''
}

interface OpenFile {
  handle: FileHandle
  size: number
  version: string
  real: string
}

async function show(call: Input, file: OpenFile, seen: SeenFiles, signal: AbortSignal): Promise<ToolResult> {
  const stream = pieces(file.handle, signal)
  const first = await stream.next()
  if (first.done) {
    note(file, seen, await newHash())
    return { kind: 'ok', content: `${call.path} is empty.` }
  }
  const head = first.value
  const media = imageType(head)
  if (media !== null) return showImage(call.path, file, media, head, stream)
  const unreadable = whyNoText(head)
  if (unreadable !== null) return failure(`${call.path} cannot be shown as text because ${unreadable}`)
  return showText(call, file, seen, head, stream)
}

function whyNoText(head: Buffer): string | null {
  const mark = head.toString('latin1', 0, 2)
  if (mark === '\xff\xfe' || mark === '\xfe\xff') {
    return 'it is UTF-16; convert it with bash: iconv -f UTF-16 -t UTF-8.'
  }
  return head.includes(0) ? 'it is binary; look into it with bash (file, xxd, strings).' : null
}

async function showImage(
  path: string,
  file: OpenFile,
  media_type: string,
  head: Buffer,
  rest: AsyncIterable<Buffer>,
): Promise<ToolResult> {
  const parts = [head]
  let size = head.length
  for await (const part of rest) {
    parts.push(part)
    size += part.length
    if (size > IMAGE_BYTES) break
  }
  if (size > IMAGE_BYTES) {
    const bytes = Math.max(size, file.size).toLocaleString('en')
    return failure(
      `${path} is too large an image (${bytes} bytes, at most ${IMAGE_BYTES.toLocaleString('en')}). Scale a copy down with bash and read that.`,
    )
  }
  const image = Buffer.concat(parts)
  const sides = imageSize(image)
  if (sides !== null && Math.max(sides.width, sides.height) > IMAGE_SIDE) {
    return failure(
      `${path} is too large an image (${sides.width}×${sides.height} pixels, at most ${IMAGE_SIDE} a side). Scale a copy down with bash and read that.`,
    )
  }
  return {
    kind: 'ok',
    content: [{ type: 'image', source: { type: 'base64', media_type, data: image.toString('base64') } }],
  }
}

async function showText(
  call: Input,
  file: OpenFile,
  seen: SeenFiles,
  head: Buffer,
  rest: AsyncIterable<Buffer>,
): Promise<ToolResult> {
  const hash = await newHash()
  const reader = new LineReader(head, {
    first: Math.max(1, call.offset ?? 1),
    count: call.limit ?? DEFAULT_LINES,
    prefix: call.offset === undefined && call.limit === undefined ? () => '' : numbered,
    units: MOST_UNITS,
  })
  reader.push(withoutMark(head))
  hash.update(head)
  let size = head.length
  let atEnd = true
  for await (const piece of rest) {
    size += piece.length
    // A small file is read to its end for its hash, a large one as far as is shown.
    if (reader.full && Math.max(size, file.size) > HASHED_SIZE) {
      atEnd = false
      break
    }
    reader.push(piece)
    if (size <= HASHED_SIZE) hash.update(piece)
  }
  if (atEnd) reader.end()
  note(file, seen, size <= HASHED_SIZE && atEnd ? hash : null)
  return present(call, reader.window, atEnd)
}

function note(file: OpenFile, seen: SeenFiles, hash: { digest(as: 'hex'): string } | null): void {
  if (hash === null) seen.set(file.real, { kind: 'version', version: file.version })
  else seen.set(file.real, { kind: 'content', hash: hash.digest('hex') })
}

function withoutMark(head: Buffer): Buffer {
  return head.toString('latin1', 0, 3) === '\xef\xbb\xbf' ? head.subarray(3) : head
}

function numbered(line: number): string {
  return `${String(line).padStart(6)}\t`
}

/** @param atEnd whether the file was read to its end, so that the number of its lines is known */
function present(call: Input, window: LineWindow, atEnd: boolean): ToolResult {
  const first = Math.max(1, call.offset ?? 1)
  const last = first + window.lines.length - 1
  if (atEnd && window.total === 0) return { kind: 'ok', content: `${call.path} is empty.` }
  if (window.lines.length === 0) {
    return failure(`${call.path} has ${count(window.total, 'line')}; offset ${first} is beyond its end.`)
  }
  const more = !atEnd || last < window.total
  const notes = [
    ...(more
      ? [`Lines ${first}-${last}${atEnd ? ` of ${window.total}` : ''} shown; read on with offset ${last + 1}.`]
      : []),
    ...cutNote(window.cut),
    ...(window.valid
      ? []
      : ['Not valid UTF-8: bytes that do not decode are shown as \uFFFD, and edit_file refuses the file.']),
  ]
  const text = window.lines.join('\n') + (window.ended ? '\n' : '')
  // Blank text would reach the model as no output at all.
  if (text.trim() === '') notes.unshift(`${count(window.lines.length, 'line')} of nothing but white space.`)
  return { kind: 'ok', content: notes.length === 0 ? text : `${text}${window.ended ? '' : '\n'}\n[${notes.join(' ')}]` }
}

function cutNote(cut: number[]): string[] {
  const [first] = cut
  if (first === undefined) return []
  const which = cut.length === 1 ? `Line ${first} is` : `${cut.length} lines (the first is line ${first}) are`
  const how = `sed -n ${first}p <file> | cut -c ${LINE_LENGTH + 1}-`
  return [`${which} cut after ${LINE_LENGTH} characters; see the rest with bash: ${how}.`]
}
