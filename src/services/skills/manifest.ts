/** From the text of a SKILL.md to what the catalog says of it. */
import { readFrontMatter } from '../frontMatter.ts'
import { printableLine } from '../text.ts'
import type { ReadText } from './readText.ts'

export type Manifest =
  /** `remarks`: what its author may want to mend; the skill works all the same. */
  | { kind: 'skill'; name: string; description: string; remarks: string[] }
  /** Left out, and why, as a clause. */
  | { kind: 'useless'; reason: string }

/** By the Agent Skills format (agentskills.io/specification). */
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/
const NAME_LENGTH = 64
export const DESCRIPTION_LENGTH = 1024
/** A name longer than this is no name; UTF-16 units. */
const LONGEST_NAME = 128

/** How YAML writes that there is no value. */
const NOTHING = /^(null|~)$/i

/** The fields that matter here; the others (license, allowed-tools, …) stand in the text for the model to read. */
const FIELDS = ['name', 'description'] as const

/**
 * Lenient: what the format asks for is remarked upon, and only a skill that says nothing of itself is left out.
 * @param directory the name of the skill's directory, which stands in for a missing name
 */
export async function readManifest(read: ReadText, directory: string): Promise<Manifest> {
  if (read.kind === 'unreadable') return { kind: 'useless', reason: read.reason }
  const { kind, fields, broken, body } = await readFrontMatter(read.text, FIELDS)
  const remarks: string[] = []
  if (!read.valid) remarks.push('It is not valid UTF-8; save it as UTF-8.')
  if (kind === 'absent') remarks.push('It has no front matter: begin it with ---, name, description, ---.')
  if (kind === 'unclosed') remarks.push('Its front matter is not closed: end it with a line ---.')
  if (broken) remarks.push('Its front matter is not valid YAML: put values that hold a colon in quotes.')
  const described = NOTHING.test(fields.description ?? '') ? '' : lineOf(fields.description)
  // A file that only begins with a rule, or whose block holds no fields, is all text.
  const isAllText = Object.keys(fields).length === 0
  const description = described || firstLine(body) || (isAllText ? firstLine(read.text) : '')
  if (description === '') return { kind: 'useless', reason: 'it has no description and no text' }
  if (described === '') remarks.push('It has no description: its first line stands in.')
  if (description.length > DESCRIPTION_LENGTH) {
    remarks.push(`Its description has ${description.length} characters and is cut: ${DESCRIPTION_LENGTH} are the most.`)
  }
  const name = nameOf(lineOf(fields.name), printableLine(directory), remarks)
  return { kind: 'skill', name, description, remarks }
}

function nameOf(given: string, directory: string, remarks: string[]): string {
  if (given.length > LONGEST_NAME) {
    remarks.push(`Its name has ${given.length} characters: its directory's name stands in.`)
    return directory
  }
  if (given === '') remarks.push("It has no name: its directory's name stands in.")
  const name = given || directory
  if (!NAME.test(name) || name.length > NAME_LENGTH) {
    remarks.push(`Its name is not of ${NAME_LENGTH} lower-case letters, digits and single hyphens at most.`)
  }
  if (given !== '' && given !== directory) remarks.push(`Its directory is called ${directory}; call it as the skill.`)
  return name
}

function lineOf(text: string | undefined): string {
  return text === undefined ? '' : printableLine(text)
}

/** The first line that says something, without the marks of a heading. */
function firstLine(body: string): string {
  for (const line of body.split(/\r\n?|\n/)) {
    const words = printableLine(line.replace(/^[\s#]*|[\s#]*$/g, ''))
    if (/[\p{L}\p{N}]/u.test(words)) return words
  }
  return ''
}
