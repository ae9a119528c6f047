/** What the system prompt says of the skills: a line each, all of them within bounds. */
import { firstUnits } from '../../machines/cut.ts'
import { DESCRIPTION_LENGTH } from './manifest.ts'
import type { Skill } from './scan.ts'

export interface Catalog {
  /** In the order of names. */
  entries: Array<{ name: string; description: string }>
  /** What had to be cut, for the model to know; '' where nothing was. */
  note: string
}

/** UTF-16 units of all lines: about 5,000 tokens, paid for in every request. */
export const CATALOG_LENGTH = 20_000
/** A description is not cut below this to make room for others. */
const SHORTEST = 60

/** @returns the catalog: `- name: description` is one line of 1,024 characters at most, all lines fit their bound. */
export function catalogOf(skills: Iterable<Skill>): Catalog {
  const all = [...skills].map(({ name, description }) => ({
    name,
    description: cut(description, DESCRIPTION_LENGTH - `- ${name}: `.length),
  }))
  const most = longestThatFits(all)
  const cutAll = all.map(({ name, description }) => ({ name, description: cut(description, most) }))
  let room = CATALOG_LENGTH
  const entries = cutAll.filter((entry) => {
    room -= lengthOf(entry)
    return room >= 0
  })
  return { entries, note: noteOf(most, all.length - entries.length) }
}

function noteOf(most: number, missing: number): string {
  const notes: string[] = []
  if (most < DESCRIPTION_LENGTH) notes.push(`descriptions are cut to ${most} characters, as there are many skills`)
  if (missing > 0) notes.push(`${missing} more skills are not listed; load_skill names all when it does not know one`)
  return notes.length === 0 ? '' : `(${notes.join('; ')})`
}

/** The most characters of a description with which all lines fit, by halving. */
function longestThatFits(all: Catalog['entries']): number {
  const fits = (most: number) =>
    all.reduce((sum, { name, description }) => sum + lengthOf({ name, description: cut(description, most) }), 0) <=
    CATALOG_LENGTH
  if (fits(DESCRIPTION_LENGTH)) return DESCRIPTION_LENGTH
  let [low, high] = [SHORTEST, DESCRIPTION_LENGTH]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

function lengthOf({ name, description }: Catalog['entries'][number]): number {
  return `- ${name}: ${description}\n`.length
}

/** At most `length` UTF-16 units, never half a character, with an ellipsis where something is missing. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return `${firstUnits(text, length - 1)}…`
}
