/** The status line: what the machine does, with what, and what it has cost. */
import type { Colors } from 'picocolors/types.js'
import { STATE_WORDS } from '../services/stateWords.ts'
import { clip, displayWidth, duration, printableLine, tokens } from '../services/text.ts'

/** What the conversation is at, from where a person sits. */
export type Activity =
  | { kind: 'opening' }
  | { kind: 'waits' }
  | { kind: 'works'; state: string; words: string | null; since: number }
  | { kind: 'asks' }
  | { kind: 'steps'; state: string }

export interface Figures {
  activity: Activity
  model: string
  /** Input of the next call by estimate, in tokens. */
  used: number
  budget: number
  /** USD; null where a price is not known. */
  cost: number | null
  branch: string | null
  session_id: string
  approvesAll: boolean
}

const SPINNER = ['-', '\\', '|', '/']

/** @param now milliseconds on the clock that `since` is from */
export function statusLine(figures: Figures, columns: number, now: number, colors: Colors): string {
  const { activity, model, used, budget, cost, branch, session_id, approvesAll } = figures
  const [doing, paint] = wordsOf(activity, now, colors)
  const share = budget > 0 ? ` (${Math.min(999, Math.round((100 * used) / budget))}%)` : ''
  /** With how much each matters: what matters least goes first where there is no room. */
  const parts: Array<[text: string, weight: number]> = [
    // Who forgot that nothing asks is to see it wherever there is room for one word.
    [approvesAll ? '--yes' : '', 6],
    [printableLine(model), 1],
    [`${tokens(used)}/${tokens(budget)}${share}`, 5],
    [cost === null ? '' : `$${cost.toFixed(cost < 1 ? 4 : 2)}`, 4],
    [branch === null ? '' : clip(printableLine(branch), 24), 2],
    [session_id.slice(0, 8), 3],
  ]
  const shownFrom = (weight: number): string =>
    parts.flatMap(([text, own]) => (text !== '' && own >= weight ? [text] : [])).join(' · ')
  const fitting = [1, 2, 3, 4, 5].find((weight) => displayWidth(doing) + displayWidth(shownFrom(weight)) + 3 <= columns)
  const shown = shownFrom(fitting ?? (approvesAll ? 6 : 5))
  const left = clip(doing, columns)
  const room = columns - displayWidth(left) - 3
  return room < 8 ? paint(left) : `${paint(left)}${colors.dim(` · ${clip(shown, room)}`)}`
}

function wordsOf(activity: Activity, now: number, colors: Colors): [string, (text: string) => string] {
  switch (activity.kind) {
    case 'opening':
      return ['opening', colors.dim]
    case 'waits':
      return ['ready', colors.green]
    case 'asks':
      return ['asks you', colors.yellow]
    case 'steps':
      return [`stopped before ${activity.state}`, colors.yellow]
    case 'works': {
      const mark = SPINNER[Math.floor(now / 120) % SPINNER.length]
      const words = activity.words ?? STATE_WORDS[activity.state] ?? printableLine(activity.state)
      return [`${mark} ${clip(words, 60)} ${duration(now - activity.since)}`, colors.cyan]
    }
  }
}
