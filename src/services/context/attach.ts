/** Turns one mentioned file, range or directory into what the model reads of it. */
import { opendirSync } from 'node:fs'
import type { ImageBlock } from '../../machines/messages.ts'
import { readHead } from '../files.ts'
import { IMAGE_BYTES, IMAGE_SIDE, imageSize, imageType } from '../image.ts'
import { decodeText, FILE_LIMIT, sizeInWords } from './files.ts'
import { readLines } from './lineRange.ts'
import type { LineRange } from './mentionTokens.ts'
import { oneLine } from './show.ts'

export interface Subject {
  /** As the user named it. */
  name: string
  /** Absolute. */
  path: string
  what: { kind: 'directory' } | { kind: 'file'; size: number; ranges: LineRange[] }
}

export type Attachment =
  /** `text`: the file in its frame. `warning`: what of it is missing, for stderr. */
  | { kind: 'attached'; text: string; image: ImageBlock | null; warning: string | null }
  | { kind: 'failed'; reason: string }

/** Names of one listing, and how many are read to choose and sort them. */
const LISTING_LIMIT = 500
const LISTING_READ = 20_000

/** Reads what is to be attached. Nothing a file holds makes it fail; access rights may. */
export function attach(subject: Subject): Attachment {
  const { what } = subject
  if (what.kind === 'directory') return attachListing(subject)
  if (what.ranges.length > 0) return attachRanges(subject, what.ranges)
  return attachFile(subject, what.size)
}

function attachFile({ name, path }: Subject, size: number): Attachment {
  const head = readHead(path, FILE_LIMIT)
  if (head.kind === 'unreadable') return { kind: 'failed', reason: head.reason }
  const type = imageType(head.bytes)
  if (type !== null) return attachImage({ name, path, size, type })
  const text = decodeText(head.bytes, head.more)
  const whole = Math.max(size, head.bytes.length)
  if (text === null) return attached(frame(name, '', `(binary file, ${sizeInWords(whole)}: not shown)`))
  if (head.bytes.length === 0) return attached(frame(name, '', '(empty file)'))
  if (!head.more) return attached(frame(name, '', text))
  const cut = `the first ${sizeInWords(FILE_LIMIT)} of ${sizeInWords(whole)}`
  return attached(frame(name, ` shown="${cut}"`, text), `only ${cut} are attached`)
}

function attachImage(image: { name: string; path: string; size: number; type: string }): Attachment {
  const { name, path, size, type } = image
  const label = `${type}, ${sizeInWords(size)}`
  const onlyNamed = (why: string, limit: string): Attachment =>
    attached(frame(name, '', `(${label}: ${why} to be shown)`), `an image may have ${limit}, so it is only named`)
  const head = readHead(path, IMAGE_BYTES)
  if (head.kind === 'unreadable') return { kind: 'failed', reason: head.reason }
  if (head.more) return onlyNamed('too large', sizeInWords(IMAGE_BYTES))
  const sides = imageSize(head.bytes)
  if (sides !== null && Math.max(sides.width, sides.height) > IMAGE_SIDE)
    return onlyNamed(`${sides.width} × ${sides.height} pixels, too many`, `${IMAGE_SIDE} pixels a side`)
  const source = { type: 'base64' as const, media_type: type, data: head.bytes.toString('base64') }
  const text = frame(name, '', `(${label}: in an image block of this message)`)
  return { kind: 'attached', text, image: { type: 'image', source }, warning: null }
}

function attachRanges({ name, path }: Subject, ranges: LineRange[]): Attachment {
  const parts: string[] = []
  const warnings: string[] = []
  for (const range of joined(ranges)) {
    const lines = `${range.from}-${range.to}`
    const read = readLines(path, range, FILE_LIMIT)
    switch (read.kind) {
      case 'unreadable':
        return { kind: 'failed', reason: read.reason }
      case 'binary':
        return attached(frame(name, '', '(binary file: it has no lines to show)'))
      case 'beyond':
        parts.push(frame(name, ` lines="${lines}"`, `(there is nothing: the file ends with line ${read.lastLine})`))
        break
      case 'tooFar':
        parts.push(frame(name, ` lines="${lines}"`, '(too far down in the file to be attached)'))
        warnings.push(`lines ${lines} are too far down to be attached`)
        break
      case 'read':
        parts.push(frame(name, ` lines="${range.from}-${read.lastLine}"`, read.text))
        if (read.cut) warnings.push(`lines ${lines} are cut at ${sizeInWords(FILE_LIMIT)}`)
        break
    }
  }
  return attached(parts.join('\n'), warnings.length === 0 ? null : warnings.join('; '))
}

/** @returns the ranges in order, overlapping and adjacent ones as one. */
function joined(ranges: LineRange[]): LineRange[] {
  const result: LineRange[] = []
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last !== undefined && range.from <= last.to + 1) last.to = Math.max(last.to, range.to)
    else result.push({ ...range })
  }
  return result
}

function attachListing({ name, path }: Subject): Attachment {
  const names: string[] = []
  let more = false
  try {
    const directory = opendirSync(path)
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        more = names.length === LISTING_READ
        if (more) break
        names.push(oneLine(entry.name) + (entry.isDirectory() ? '/' : ''))
      }
    } finally {
      directory.closeSync()
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { kind: 'failed', reason: code === 'EACCES' ? 'permission denied' : message }
  }
  const shown = names.sort().slice(0, LISTING_LIMIT)
  const all = more ? `more than ${LISTING_READ}` : String(names.length)
  const cut = names.length > shown.length ? `the first ${shown.length} of ${all} names` : null
  const text = frame(name, cut === null ? '' : ` shown="${cut}"`, shown.join('\n') || '(empty directory)', 'directory')
  return attached(text, cut === null ? null : `only ${cut} are attached`)
}

function attached(text: string, warning: string | null = null): Attachment {
  return { kind: 'attached', text, image: null, warning }
}

/** Puts a text between two tags that name the file; the tag is one that the text does not close. */
function frame(name: string, attributes: string, text: string, word = 'file'): string {
  let tag = word
  for (let n = 2; text.includes(`</${tag}>`); n++) tag = `${word}${n}`
  const quoted = oneLine(name).replaceAll('"', '&quot;')
  return `<${tag} path="${quoted}"${attributes}>\n${text}${text.endsWith('\n') ? '' : '\n'}</${tag}>`
}
