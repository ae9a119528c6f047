/** The journal's records about long-term memory and the side calls it makes. */
import type { Usage } from './messages.ts'

/** A question to the model beside the conversation: what for, what it cost, and why it was of no use where it was. */
export interface SideCallNote {
  purpose: 'recall' | 'extract' | 'consolidate'
  ok: boolean
  usage: Usage
  ms: number
  problem?: string
}

/** A memory as it goes along with a turn. */
export interface RecalledMemory {
  /** Its name in `.memory`. */
  file: string
  name: string
  type: string
  text: string
}

/** The memories of a turn were chosen, perhaps none. `by`: who chose; `nobody` where there was nothing to choose. */
export interface RecalledRecord {
  type: 'recalled'
  memories: RecalledMemory[]
  by: 'model' | 'keywords' | 'nobody'
  calls: SideCallNote[]
  /** Why none could be chosen. */
  problem?: string
}

/** What was kept of an answered turn: the new files in `.memory`, and whether all of them were put in order. */
export interface RememberedRecord {
  type: 'remembered'
  files: string[]
  /** How many memories there were before a consolidation and are after it. */
  consolidated?: { before: number; after: number }
  calls: SideCallNote[]
  /** Why nothing could be kept. */
  problem?: string
}
