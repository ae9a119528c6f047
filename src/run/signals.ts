/**
 * What ends a run before its time: SIGINT, SIGTERM and SIGHUP, from the moment a run is asked for, a stdout that
 * nobody reads, and an error that nobody caught. The first asks the run to end in order; a second SIGINT ends it at
 * once, and so does a run that has not ended in order after a while.
 */
import { messageOf } from '../machines/errorText.ts'
import { printable } from '../services/text.ts'
import { startedByNohup } from './nohup.ts'

/** The exit code of a process that a signal has ended (contract.md, 2). */
export const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

export type SignalName = keyof typeof SIGNAL_CODES

/** What a run that was asked to end by a signal may still take, in milliseconds: users and supervisors wait 2 to 3 s. */
const IN_ORDER_MS = 2200
/** How much of it the last words may take where the order was not kept, in milliseconds. */
const LAST_WORDS_MS = 300

export interface Stopping {
  /** Asks the run to end, for a reason that the user reads. Only the first reason counts. */
  ask(reason: string): void
  /** Why the run is to end; null while it is not. */
  reason(): string | null
  /** Tells the listener the reason: at once where there is one, else as soon as there is. */
  whenAsked(listener: (reason: string) => void): void
  /** @returns what the work comes to; null as soon as the run is to end, whatever becomes of the work then */
  unlessAsked<T>(work: Promise<T>): Promise<T | null>
  /** Sets what is done before a process ends that could not end in order: `late` when its time for that is over, `atOnce` at a second SIGINT. */
  lastly(words: { late: () => Promise<void>; atOnce: () => void }): void
  /** 128 + the signal's number where one came (contract.md, 2), 1 after an error that nobody caught, else null. */
  exitCode(): number | null
}

/** Catches the signals from now on. */
export function catchSignals(): Stopping {
  let reason: string | null = null
  let code: number | null = null
  let listeners: Array<(reason: string) => void> = []
  let last: Parameters<Stopping['lastly']>[0] = { late: async () => {}, atOnce: () => {} }

  const ask = (why: string): void => {
    if (reason !== null) return
    reason = why
    const waiting = listeners
    listeners = []
    for (const tell of waiting) tell(why)
  }
  const whenAsked = (listener: (reason: string) => void): void => {
    if (reason === null) listeners.push(listener)
    else listener(reason)
  }
  const onSignal = (name: SignalName): void => {
    if (name === 'SIGHUP' && startedByNohup()) return
    if (code === null) {
      const exitCode = SIGNAL_CODES[name]
      code = exitCode
      endLater(() => last.late(), exitCode)
      ask(name)
    } else if (name === 'SIGINT') {
      last.atOnce()
      process.exit(code)
    }
  }
  for (const name of Object.keys(SIGNAL_CODES) as SignalName[]) process.on(name, () => onSignal(name))
  // Node would end the process at once, with a stack and without a result.
  process.on('uncaughtException', (error: unknown) => {
    if (process.argv.includes('--debug') && error instanceof Error)
      process.stderr.write(`${printable(error.stack ?? '')}\n`)
    if (code !== null) return
    code = 1
    endLater(() => last.late(), 1)
    ask(`internal error: ${messageOf(error)}`)
  })

  return {
    ask,
    reason: () => reason,
    whenAsked,
    unlessAsked: (work) => Promise.race([work, new Promise<null>((resolve) => whenAsked(() => resolve(null)))]),
    lastly: (words) => {
      last = words
    },
    exitCode: () => code,
  }
}

/** Ends the process after a while, whatever holds the run: a locked store, a reader that takes nothing. */
function endLater(say: () => Promise<void>, code: number): void {
  // Not a reason to wait: where everything has ended before, the process ends.
  setTimeout(() => {
    const end = (): never => process.exit(code)
    setTimeout(end, LAST_WORDS_MS)
    say().then(end, end)
  }, IN_ORDER_MS).unref()
}
