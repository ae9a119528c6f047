/**
 * The project's instructions: `AGENTS.md`, else `CLAUDE.md`, of every directory from the root of the file system
 * down to the working directory, with their imports in place (contract.md, section 5;
 * docs/decisions/0006-instructions-and-mentions.md).
 */
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cachedByState, readHead } from '../files.ts'
import { createBoundary } from './boundary.ts'
import { cutText, decodeText, FILE_LIMIT, type Found, look, sizeInWords } from './files.ts'
import { expandImports, type ImportJob } from './imports.ts'
import type { InstructionText } from './sections.ts'
import { showPath } from './show.ts'

export interface InstructionOptions {
  /** Absolute and real. */
  cwd: string
  /** The user's home, for `~` in imports. */
  home: string
  trusted: boolean
  warn: (message: string) => void
}

/** In a directory the first of them that is a file counts. */
const NAMES = ['AGENTS.md', 'CLAUDE.md']
/** Bytes of all instructions together: about half of a 200,000 token window. The innermost are kept. */
const INSTRUCTIONS_LIMIT = 512 * 1024
const ALL = sizeInWords(INSTRUCTIONS_LIMIT)
/** Imported files of one reading. */
const IMPORTS_LIMIT = 500

/** An instruction file on the way, with what `look` found. */
interface Place {
  path: string
  found: Found & { kind: 'file' }
}

/**
 * @returns a function that reads the instructions as they are now, outermost first, each file once by its real
 *   path. What cannot be read is left out and warned about.
 */
export function createInstructionReader(options: InstructionOptions): () => InstructionText[] {
  const { cwd, warn } = options
  const readText = cachedByState((path) => readInstructionFile(path))
  const text = (path: string, found: Found & { kind: 'file' }): string | null => {
    const read = readText(path, found)
    for (const message of read.warnings) warn(message)
    return read.text
  }
  return () => {
    const mayFollow = options.trusted ? () => true : createBoundary()
    const places = findPlaces(cwd, warn).filter(({ path, found }) => {
      const from = dirname(path)
      if (
        dirname(found.real) === from ||
        mayFollow({ from, typed: path.slice(from.length + 1), path, real: found.real })
      )
        return true
      warn(
        `${showPath(path)} was left out: it is a link to ${showPath(found.real)}, which needs a trusted directory (agent trust).`,
      )
      return false
    })
    const job: ImportJob = {
      home: options.home,
      warn,
      mayFollow,
      text,
      // A file that has its own place on the way is not inlined before it.
      seen: new Set(places.map(({ found }) => found.real)),
      left: { files: IMPORTS_LIMIT, bytes: 2 * INSTRUCTIONS_LIMIT },
    }
    const files = places.flatMap(({ path, found }) => {
      const own = text(path, found)
      return own === null ? [] : [{ path, text: expandImports(path, own, job) }]
    })
    return withinLimit(files, warn)
  }
}

function findPlaces(cwd: string, warn: (message: string) => void): Place[] {
  const seen = new Set<string>()
  return directoriesDownTo(cwd).flatMap((directory) => {
    for (const name of NAMES) {
      const path = join(directory, name)
      const found = look(path)
      if (found.kind === 'missing') continue
      if (found.kind === 'file') {
        if (seen.has(found.real)) return []
        seen.add(found.real)
        return [{ path, found }]
      }
      warn(`${showPath(path)} was left out: ${WHAT_IT_IS[found.kind]}.`)
    }
    return []
  })
}

const WHAT_IT_IS = {
  directory: 'it is a directory',
  special: 'it is not a regular file',
  dangling: 'it is a link to nothing',
}

/** @returns the directory and all above it, outermost first. */
function directoriesDownTo(directory: string): string[] {
  const parent = dirname(directory)
  return parent === directory ? [directory] : [...directoriesDownTo(parent), directory]
}

interface FileText {
  /** null: no text. */
  text: string | null
  warnings: string[]
}

function readInstructionFile(path: string): FileText {
  const head = readHead(path, FILE_LIMIT)
  if (head.kind === 'unreadable')
    return { text: null, warnings: [`${showPath(path)} was left out: ${head.reason}. Check its access rights.`] }
  const text = decodeText(head.bytes, head.more)
  if (text === null) return { text: null, warnings: [`${showPath(path)} was left out: it is not a text file.`] }
  if (!head.more) return { text, warnings: [] }
  const limit = sizeInWords(FILE_LIMIT)
  return {
    text: `${text}\n${cutMark(limit)}`,
    warnings: [
      `${showPath(path)} is too long: only its first ${limit}${ofItsSize(path)} are part of the instructions. Shorten it.`,
    ],
  }
}

/** It may be gone by now: then its size stays unsaid. */
function ofItsSize(path: string): string {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  return size === undefined ? '' : ` of ${sizeInWords(size)}`
}

function cutMark(shown: string): string {
  return `[… cut: only the first ${shown} of this file are shown]`
}

/** Keeps all instructions within their limit: the innermost are taken first, the outermost are cut or left out. */
function withinLimit(files: InstructionText[], warn: (message: string) => void): InstructionText[] {
  let left = INSTRUCTIONS_LIMIT
  const kept: InstructionText[] = []
  for (const file of files.toReversed()) {
    const size = Buffer.byteLength(file.text)
    if (size <= left) {
      kept.push(file)
      left -= size
      continue
    }
    const shown = sizeInWords(left)
    const used = left === 0 ? 'was left out' : `only the first ${shown} of ${sizeInWords(size)} are used`
    warn(`${showPath(file.path)}: ${used}, since all instructions together may have ${ALL}. Shorten them.`)
    if (left > 0) kept.push({ path: file.path, text: `${cutText(file.text, left)}\n${cutMark(shown)}` })
    left = 0
  }
  return kept.reverse()
}
