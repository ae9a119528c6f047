/** Long pastes stand in the editor as a few words, and are put in whole when the text is sent. */

export interface Pastes {
  /** @returns what stands for it in the editor: itself where it is short */
  take(text: string): string
  expand(text: string): string
  /** @returns where the words for a paste begin that end here: they are taken out as a whole; null where none do */
  beginning(text: string, end: number): number | null
  clear(): void
}

const LONG = { characters: 2_000, lines: 12 }

export function createPastes(): Pastes {
  let kept = new Map<string, string>()
  return {
    take(text) {
      const lines = text.split('\n').length
      if (text.length <= LONG.characters && lines <= LONG.lines) return text
      const size = lines > 1 ? `${lines} lines` : `${text.length} characters`
      const words = `[pasted text ${kept.size + 1}: ${size}]`
      kept.set(words, text)
      return words
    },
    expand: (text) => [...kept].reduce((whole, [words, paste]) => whole.split(words).join(paste), text),
    beginning(text, end) {
      const words = [...kept.keys()].find((one) => text.endsWith(one, end))
      return words === undefined ? null : end - words.length
    },
    clear: () => {
      kept = new Map()
    },
  }
}
