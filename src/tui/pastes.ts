/** Long pastes stand in the editor as a few words, and are put in whole when the text is sent. */
import type { Editor } from './editor.ts'

export interface Pastes {
  /** @returns what stands for it in the editor: itself where it is short */
  take(text: string, long?: Long): string
  expand(text: string): string
  /** @returns the editor after an edit that leaves the words for a paste whole or takes them out, the cursor beside them */
  keepWhole(before: Editor, after: Editor): Editor
  clear(): void
}

export interface Long {
  characters: number
  lines: number
}

const LONG: Long = { characters: 2_000, lines: 12 }
const WORDS = /\[pasted text \d+: \d+ (?:lines|characters)\]/g

export function createPastes(): Pastes {
  let kept = new Map<string, string>()
  /** @returns the words for a paste that the place is within */
  const around = (text: string, at: number): { from: number; to: number } | null => {
    if (kept.size === 0) return null
    for (const { 0: words, index } of text.matchAll(WORDS)) {
      const to = index + words.length
      if (index < at && at < to && kept.has(words)) return { from: index, to }
    }
    return null
  }
  return {
    take(text, long = LONG) {
      const lines = text.split('\n').length
      if (text.length <= long.characters && lines <= long.lines) return text
      const size = lines > 1 ? `${lines} lines` : `${text.length} characters`
      const words = `[pasted text ${kept.size + 1}: ${size}]`
      kept.set(words, text)
      return words
    },
    // At once: what was pasted may itself hold such words.
    expand: (text) => text.replace(WORDS, (words) => kept.get(words) ?? words),
    keepWhole(before, after) {
      const removed = before.text.length - after.text.length
      if (removed <= 0) {
        const within = around(after.text, after.cursor)
        if (within === null) return after
        return { ...after, cursor: after.cursor < before.cursor ? within.from : within.to }
      }
      const from = around(before.text, after.cursor)?.from ?? after.cursor
      const to = around(before.text, after.cursor + removed)?.to ?? after.cursor + removed
      const killed = after.killed === before.killed ? before.killed : before.text.slice(from, to)
      return { text: before.text.slice(0, from) + before.text.slice(to), cursor: from, killed }
    },
    clear: () => {
      kept = new Map()
    },
  }
}
