/** How much the cheap layers leave, and when they run (contract.md, 9; the constants are the notes' own). */
export interface Policy {
  /** A result with more characters than this is put on disk. */
  largeResult: number
  /** Characters of it that stay in sight. */
  preview: number
  /** Messages of a request beyond which the middle is snipped, how many stay at the head, how many at the tail. */
  messages: { most: number; head: number; tail: number }
  /** Rounds whose results stay whole, and how long an older result may be to stay. */
  old: { rounds: number; result: number }
  /** Share of the budget over which the layers run. */
  pressure: number
  /** A pass must free this share of the budget, or it is not worth the broken prompt cache. */
  worth: number
  /** Replies between two passes, unless `urgent` of the budget is reached. */
  pause: number
  urgent: number
}

export const POLICY: Policy = {
  largeResult: 30_000,
  preview: 2_000,
  messages: { most: 50, head: 3, tail: 47 },
  old: { rounds: 3, result: 120 },
  pressure: 0.5,
  worth: 0.1,
  pause: 10,
  urgent: 0.9,
}
