/** File names from names that a model made up: one plain name in `.memory`, whatever the text was. Pure. */
import { createHash } from 'node:crypto'

/** The index, and what file systems without upper case take for it. */
const INDEX_SLUG = 'memory'
/** Names that Windows keeps for devices, whatever their extension. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)$/
/** A file name has at most 255 bytes in UTF-8 almost everywhere; `.md`, a hash and room for a suffix come on top. */
const LONGEST_BYTES = 120

/**
 * @param name any text
 * @returns lower-case letters and digits of any script with single hyphens between them: never a path, a hidden file,
 *   a device or the index. Where nothing is left of the name, or not all of it, a hash of the whole name tells it
 *   from others
 */
export function slugOf(name: string): string {
  const words =
    name
      .normalize('NFC')
      .toLowerCase()
      .normalize('NFC')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  const whole = words.join('-')
  const slug = firstBytes(whole, LONGEST_BYTES)
  if (slug === '') return `memory-${shortHash(name)}`
  if (slug !== whole) return `${slug}-${shortHash(name)}`
  return slug === INDEX_SLUG || RESERVED.test(slug) ? `memory-${slug}` : slug
}

/** @returns what two file names have in common where a file system takes them for one: case and composition. */
export function foldedName(file: string): string {
  return file.normalize('NFC').toLowerCase()
}

/**
 * @param taken folded names of files that are there
 * @returns the file for a name, with a hash of the content where another file has it already
 */
export function freeFile(name: string, content: string, taken: ReadonlySet<string>): string {
  const slug = slugOf(name)
  if (!taken.has(foldedName(`${slug}.md`))) return `${slug}.md`
  for (let n = 1; ; n++) {
    const file = `${slug}-${shortHash(`${content}${n === 1 ? '' : n}`)}.md`
    if (!taken.has(foldedName(file))) return file
  }
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/** @returns as much of a slug as fits into so many bytes of UTF-8, whole characters, no hyphen at the end. */
function firstBytes(text: string, bytes: number): string {
  let left = bytes
  let kept = ''
  for (const character of text) {
    left -= Buffer.byteLength(character)
    if (left < 0) break
    kept += character
  }
  return kept.replace(/-+$/, '')
}
