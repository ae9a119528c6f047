/** Puts the files that an instruction file imports in place of the lines that name them. */
import { dirname, resolve } from 'node:path'
import { expandHome, type Wanted } from './boundary.ts'
import { type Found, look, realOf } from './files.ts'
import { importPieces, type Piece } from './importLines.ts'
import { oneLine, showPath } from './show.ts'

/** Imports inside imports, counted from the instruction file. */
const DEPTH_LIMIT = 5

/** One reading of all instructions. */
export interface ImportJob {
  home: string
  warn: (message: string) => void
  mayFollow: (wanted: Wanted) => boolean
  /** A file's text, null (and a warning) where it has none. */
  text: (path: string, found: Found & { kind: 'file' }) => string | null
  /** Real paths of the files that have their place already. */
  seen: Set<string>
  /** What may still be imported. */
  left: { files: number; bytes: number }
}

/**
 * @param path the importing file, absolute, as it was found; its imports are relative to the directory it is in
 * @returns the text with each import line replaced: by the file's text, by nothing where that file has its place
 *   elsewhere, by itself (and a warning) where the file cannot be had
 */
export function expandImports(path: string, text: string, job: ImportJob, depth = 0): string {
  return importPieces(text)
    .map((piece) => (piece.kind === 'text' ? piece.text : importFile(path, piece, job, depth)))
    .join('')
}

function importFile(importer: string, piece: Piece & { kind: 'import' }, job: ImportJob, depth: number): string {
  const stays = (reason: string): string => {
    const place = `${showPath(importer)}, line ${piece.line}`
    job.warn(`${place}: @${oneLine(piece.target)} was not imported: ${reason}. The line stays as it is.`)
    return piece.text
  }
  if (depth === DEPTH_LIMIT) return stays(`imports may be nested ${DEPTH_LIMIT} deep`)
  if (job.left.files <= 0 || job.left.bytes <= 0) return stays('the instructions import too much already')
  const path = resolve(dirname(importer), expandHome(piece.target, job.home))
  const found = look(path)
  if (found.kind !== 'file') return stays(WHY_NOT[found.kind])
  if (job.seen.has(found.real)) return ''
  const from = realOf(dirname(importer))
  if (!job.mayFollow({ from, typed: piece.target, path, real: found.real }))
    return stays('it is outside the project, which needs a trusted directory (agent trust)')
  const text = job.text(path, found)
  if (text === null) return piece.text
  job.seen.add(found.real)
  job.left.files -= 1
  job.left.bytes -= Buffer.byteLength(text)
  const inlined = expandImports(path, text, job, depth + 1)
  return piece.end === '' || /[\r\n]$/.test(inlined) ? inlined : inlined + piece.end
}

const WHY_NOT = {
  directory: 'it is a directory',
  special: 'it is not a regular file',
  dangling: 'it is a link to nothing',
  missing: 'there is no such file',
}
