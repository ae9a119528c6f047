/** `--step` as a run has it: commands from stdin, stops on stderr, and where the session stood before. */
import picocolors from 'picocolors'
import type { JournalEntry } from '../machines/journal.ts'
import { replay } from '../machines/replay.ts'
import { type Output, wantsColor } from '../services/output/index.ts'
import { createStepper, type Stepper } from '../services/step/index.ts'
import { createLines } from '../services/step/lines.ts'

/** The stepper of a run, over stdin and stderr. */
export interface RunStepper extends Stepper {
  /** @param quit ends the run in order */
  whenQuit(quit: (reason: string) => void): void
}

/** @param output gives its status line away while a stop is shown */
export function openStepper(output: Output): RunStepper {
  let quit: (reason: string) => void = () => {}
  const { stderr, env } = process
  const isTty = stderr.isTTY === true
  const stepper = createStepper({
    lines: createLines(() => process.stdin),
    write: (text) => stderr.write(text),
    colors: picocolors.createColors(wantsColor(isTty, env)),
    columns: () => (isTty && stderr.columns) || 100,
    echoes: process.stdin.isTTY === true,
    pause: () => output.pause(),
    quit: () => quit('quit at a step'),
  })
  return {
    ...stepper,
    whenQuit: (toQuit) => {
      quit = toQuit
    },
  }
}

/** @returns how many transitions the session has by now, as trace and replay count them */
export function transitionsBefore(entries: readonly JournalEntry[]): number {
  // A run on top of what was there begins with a transition of its own.
  return entries.length === 0 ? 0 : replay(entries).transitions.length + 1
}
