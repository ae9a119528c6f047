/** What stands at the bottom of the screen and gets the keys: the editor, a question, a list. */
import type { Input } from './keys.ts'

export interface Panel {
  /** @returns its lines, each within `columns`, and where the cursor stands among them */
  view(columns: number, rows: number): View
  /** @returns false where the input means nothing to it */
  take(input: Input): boolean
  /** Ctrl-C only puts it away; absent where that means more. */
  cancel?(): void
}

export interface View {
  lines: string[]
  cursor: { row: number; column: number }
}
