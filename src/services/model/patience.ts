/** How long a call is tried again, and how long it waits between two tries. */
import type { Failure } from './failure.ts'

/** All of a call's retries together, in milliseconds (contract.md, 4: "at most about two minutes in all"). */
export const RETRY_MS = 120_000
/** Of the total where nobody answers at all: a refused connection, an unknown host. */
const SHORT_SHARE = 1 / 4
/** The first wait and the longest, as shares of the total: 0.5 s and 15 s. */
const FIRST_SHARE = 1 / 240
const LONGEST_SHARE = 1 / 8

export type Verdict = { kind: 'wait'; ms: number } | { kind: 'giveUp'; because: 'time' | 'retryAfter'; ms: number }

export interface Patience {
  /**
   * @param failure of the try that just ended
   * @param silentMs how long that try had waited for a byte when it ended
   * @param now a clock in milliseconds
   */
  judge(failure: Extract<Failure, { kind: 'passing' }>, silentMs: number, now: number): Verdict
}

/**
 * The time counts from the first failure (with the silence that led to it), so that a long stream that breaks is
 * asked for again.
 * @param totalMs all retries together; the waits scale with it
 * @param random in [0, 1), for the jitter that keeps many agents from coming back at once
 */
export function createPatience(totalMs: number, random: () => number): Patience {
  let since: number | null = null
  let tries = 0
  return {
    judge(failure, silentMs, now) {
      since ??= now - silentMs
      tries += 1
      const growing = Math.min(totalMs * LONGEST_SHARE, totalMs * FIRST_SHARE * 2 ** (tries - 1))
      const ours = growing * (1 - random() / 4)
      // Never sooner than the server says; a server that says 0 again and again still gets a growing pause.
      const ms = Math.ceil(Math.max(failure.waitMs ?? 0, ours))
      const limit = failure.patience === 'short' ? totalMs * SHORT_SHARE : totalMs
      if (now - since + ms <= limit && totalMs > 0) return { kind: 'wait', ms }
      return { kind: 'giveUp', because: (failure.waitMs ?? 0) > ours ? 'retryAfter' : 'time', ms }
    },
  }
}
