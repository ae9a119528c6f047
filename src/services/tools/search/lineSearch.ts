/** What is searched for lines. */
import type { Filter } from './filter.ts'

export interface LineSearch {
  pattern: string
  /** Absolute. */
  place: string
  kind: 'file' | 'directory'
  filter: Filter
  /** What the filter was made of. */
  glob: string | undefined
}
