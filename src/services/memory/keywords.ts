/** Which memories share words with what the user says: the judge where no model is asked. Pure. */
import type { Memory } from '../memoryPorts.ts'

/** Words that say nothing of what a text is about. */
const STOP = new Set(
  (
    'a about all also an and any are as at be been but by can could did do does for from had has have how i if in into is it ' +
    'its just let like make me more my need no not now of on or our out please should so some such than that the their ' +
    'them then there these they this to up us use used user using want was we were what when where which who why will ' +
    'with would you your'
  ).split(' '),
)

/** Unspaced scripts are compared by pairs of characters. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
/** Words that begin alike for so many letters count as one: explain, explanation. */
const ALIKE = 5

/** @returns the words of a text that may tell what it is about, each once, in a form that can be compared */
function keywordsOf(text: string): Set<string> {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return new Set(words.flatMap((word) => (UNSPACED.test(word) ? pairsOf(word) : spacedWord(word))))
}

function spacedWord(word: string): string[] {
  if (word.length < 3 || STOP.has(word)) return []
  return [word.length > 4 ? word.replace(/(?:ies|ings?|ed|es|s|ly)$/, '') : word]
}

function pairsOf(word: string): string[] {
  const characters = [...word]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

/**
 * @param words what the user said
 * @returns the memories that share a word with it, those with the most in common first; a word of the name or the
 *   description counts three times
 */
export function byKeywords(memories: readonly Memory[], words: string): Memory[] {
  const wanted = keywordsOf(words)
  const scored = memories.map((memory) => {
    const head = shared(wanted, keywordsOf(`${memory.name} ${memory.description}`))
    const body = shared(wanted, keywordsOf(memory.body))
    return { memory, score: 3 * head + body }
  })
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ memory }) => memory)
}

function shared(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  const starts = new Set([...words].filter((word) => word.length >= ALIKE).map((word) => word.slice(0, ALIKE)))
  return [...wanted].filter((word) => words.has(word) || (word.length >= ALIKE && starts.has(word.slice(0, ALIKE))))
    .length
}
