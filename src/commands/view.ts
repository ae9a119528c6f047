/** What the views of sessions share: where they write and how they look. */
import type { Colors } from 'picocolors/types.js'

export interface View {
  print(line: string): void
  colors: Colors
  /** Width of a line. */
  columns: number
  /** Milliseconds since 1970. */
  now: number
}
