/**
 * What a prompt becomes: the text as typed, and what it mentions with `@<path>` attached behind it
 * (contract.md, section 5; docs/decisions/0006-instructions-and-mentions.md).
 */
import { resolve } from 'node:path'
import type { ImageBlock, TextBlock } from '../../machines/messages.ts'
import type { ContextPort } from '../ports.ts'
import { type Attachment, attach, type Subject } from './attach.ts'
import { expandHome } from './boundary.ts'
import { type Found, look, sizeInWords } from './files.ts'
import { findTokens, type LineRange, type Token } from './mentionTokens.ts'
import { showPath } from './show.ts'

export interface MentionOptions {
  /** Relative paths start here. */
  cwd: string
  /** The user's home, for `~`. */
  home: string
  warn: (message: string) => void
}

/** What one prompt may attach. The rest stays as typed and is counted on stderr. */
export const MENTION_LIMITS = { files: 100, textBytes: 512 * 1024, images: 20, imageBytes: 15 * 1024 * 1024 }

/**
 * @returns a function from a prompt (and what was piped in beside it, or null) to the blocks of its message: the
 *   prompt byte for byte, the attached files in one text block, what was piped in, images
 */
export function createMentionExpander(options: MentionOptions): ContextPort['expandPrompt'] {
  return async (prompt, extra) => {
    const { texts, images } = attachAll(findSubjects(findTokens(prompt), options), options.warn)
    const blocks = [prompt, texts.join('\n\n'), extra ?? ''].filter((text) => text.trim() !== '')
    return [...blocks.map((text): TextBlock => ({ type: 'text', text })), ...images]
  }
}

/** @returns what the tokens mention, each file once, in the order of the first mention. */
function findSubjects(tokens: Token[], options: MentionOptions): Subject[] {
  const subjects = new Map<string, Subject>()
  const tried = new Set<string>()
  for (const token of tokens) {
    if (tried.has(token.typed)) continue
    tried.add(token.typed)
    const mention = resolveToken(token, options)
    if (mention === null) continue
    const { name, path, found, range } = mention
    const known = subjects.get(found.real)
    if (known === undefined) subjects.set(found.real, { name, path, what: subjectOf(found, range) })
    else if (known.what.kind === 'file') known.what.ranges = widened(known.what.ranges, range)
  }
  return [...subjects.values()]
}

function subjectOf(found: Mention['found'], range: LineRange | null): Subject['what'] {
  if (found.kind === 'directory') return { kind: 'directory' }
  return { kind: 'file', size: found.size, ranges: range === null ? [] : [range] }
}

/** No range stands for the whole file, which no further range adds to. */
function widened(ranges: LineRange[], range: LineRange | null): LineRange[] {
  return range === null || ranges.length === 0 ? [] : [...ranges, range]
}

interface Mention {
  name: string
  path: string
  found: Found & { kind: 'file' | 'directory' }
  range: LineRange | null
}

/** @returns the first reading of the token that names something; null where it is no mention and stays as typed. */
function resolveToken(token: Token, { cwd, home, warn }: MentionOptions): Mention | null {
  for (const { path: name, range } of token.readings) {
    const path = resolve(cwd, expandHome(name, home))
    const found = look(path)
    switch (found.kind) {
      case 'file':
        return { name, path, found, range }
      case 'directory':
        if (range === null) return { name, path, found, range }
        break
      case 'special':
        warn(`@${showPath(name)} was not attached: it is not a regular file.`)
        return null
      case 'dangling':
        warn(`@${showPath(name)} was not attached: it is a link to nothing.`)
        return null
      case 'missing':
        break
    }
  }
  return null
}

function attachAll(subjects: Subject[], warn: (message: string) => void): { texts: string[]; images: ImageBlock[] } {
  const texts: string[] = []
  const images: ImageBlock[] = []
  const left = { ...MENTION_LIMITS }
  const leftOut: string[] = []
  for (const subject of subjects) {
    if (left.files === 0) {
      leftOut.push(subject.name)
      continue
    }
    // Also for what does not fit in the end: reading it takes time.
    left.files -= 1
    const result = attach(subject)
    if (result.kind === 'failed') {
      warn(`@${showPath(subject.name)} was not attached: ${result.reason}.`)
      continue
    }
    if (!takeFrom(left, result)) {
      leftOut.push(subject.name)
      continue
    }
    texts.push(result.text)
    if (result.image !== null) images.push(result.image)
    if (result.warning !== null) warn(`@${showPath(subject.name)}: ${result.warning}.`)
  }
  if (leftOut.length > 0) warn(tooMuch(leftOut))
  return { texts, images }
}

/** Takes an attachment's size from what is left. @returns false, and takes nothing, where it does not fit. */
function takeFrom(left: typeof MENTION_LIMITS, { text, image }: Attachment & { kind: 'attached' }): boolean {
  const textBytes = left.textBytes - Buffer.byteLength(text)
  const imageBytes = left.imageBytes - (image?.source.data.length ?? 0)
  const images = left.images - (image === null ? 0 : 1)
  if (textBytes < 0 || imageBytes < 0 || images < 0) return false
  Object.assign(left, { textBytes, imageBytes, images })
  return true
}

function tooMuch(names: string[]): string {
  const { files, textBytes } = MENTION_LIMITS
  const few = names.slice(0, 3).map((name) => `@${showPath(name)}`)
  const list = names.length > few.length ? `${few.join(', ')} and ${names.length - few.length} more` : few.join(', ')
  return `Not attached, since one prompt takes ${files} files and ${sizeInWords(textBytes)} of text: ${list}. They stay as typed.`
}
