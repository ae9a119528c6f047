/** What the editor held before each change, so that a change can be taken back. A word typed is one change. */
import type { Editor } from './editor.ts'

export interface Undo {
  /** To be called with each change, before it holds. */
  note(before: Editor, after: Editor): void
  /** @returns the editor as it was before the last change; null where there is none */
  back(now: Editor): Editor | null
  clear(): void
}

const MOST = 500

export function createUndo(): Undo {
  let past: Editor[] = []
  /** Where the word ends that is being typed; null where none is. */
  let typedTo: number | null = null
  return {
    note(before, after) {
      if (before.text === after.text) return
      const isLetter = after.text.length === before.text.length + 1 && /\S/.test(after.text[before.cursor] ?? ' ')
      if (!(isLetter && typedTo === before.cursor)) past = [...past, before].slice(-MOST)
      typedTo = isLetter ? after.cursor : null
    },
    back(now) {
      const last = past.at(-1)
      past = past.slice(0, -1)
      typedTo = null
      return last === undefined ? null : { ...last, killed: now.killed }
    },
    clear() {
      past = []
      typedTo = null
    },
  }
}
