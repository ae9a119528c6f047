/**
 * What a person at a terminal sees of a run while it goes on: a status line on stderr, and a line for each tool
 * call that has ended. Nothing of it is written where stderr is no terminal.
 */

import type { Colors } from 'picocolors/types.js'
import { addUsage, NO_USAGE, type Usage, wholeInput } from '../../machines/messages.ts'
import type { Progress } from '../ports.ts'
import { STATE_WORDS } from '../stateWords.ts'
import { clip, displayWidth, duration, printableLine, tokens } from '../text.ts'
import { createCalls } from './calls.ts'
import { compactedLine } from './notices.ts'
import type { Screen } from './screen.ts'

export interface ProgressView {
  observe(event: Progress): void
  /** Takes the status line away until the function it returns is called; for a question to the user. */
  pause(): () => void
  /** Takes the status line away for good. */
  stop(): void
}

export interface ProgressOptions {
  screen: Screen
  colors: Colors
  /** The terminal's width now, in columns. */
  columns: () => number
  /** Milliseconds since some fixed time. */
  now: () => number
  /** False for terminals that cannot redraw a line: only ended calls are shown. */
  animated: boolean
}

const TICK_MS = 120
const SPINNER = ['-', '\\', '|', '/']

/** @returns the view of one run; it draws from the first event on, until it is stopped */
export function createProgressView(options: ProgressOptions): ProgressView {
  const { screen, colors, columns, now } = options
  const calls = createCalls(colors, columns, now)
  let what = 'starting'
  let since = now()
  let usage: Usage = NO_USAGE
  let frame = 0
  let pauses = 0
  let timer: NodeJS.Timeout | null = null
  let stopped = false

  const change = (words: string) => {
    if (words === what) return
    what = words
    since = now()
  }
  const draw = () => {
    if (pauses > 0) return
    const { words: doing, since: began } = calls.running() ?? { words: what, since }
    const mark = SPINNER[frame++ % SPINNER.length]
    const rest = ` ${duration(now() - began)}${describeUsage(usage)}`
    const room = Math.max(0, columns() - 1 - displayWidth(rest) - 2)
    // The last column stays free: some terminals wrap as soon as it is written.
    screen.status(clip(`${mark} ${clip(doing, room)}${rest}`, Math.max(0, columns() - 1)), colors.dim)
  }
  const observe = (event: Progress) => {
    switch (event.type) {
      case 'started':
        return
      case 'state':
        return change(STATE_WORDS[event.state] ?? printableLine(event.state))
      case 'text':
        return change('answering')
      case 'textDiscarded':
        return change('thinking')
      case 'reply':
        usage = addUsage(usage, event.record.usage)
        return
      case 'toolStarted': {
        const line = calls.start(event)
        if (line !== null) screen.line(line)
        return
      }
      case 'toolFinished':
        screen.line(calls.finish(event))
        return
      case 'toolResults':
        return
      case 'retry':
        return change('waiting to ask again')
      case 'compacted': {
        screen.line(compactedLine(event, colors))
        return
      }
      case 'remembered':
      case 'warning':
        return
      default:
        event satisfies never
    }
  }
  return {
    observe(event) {
      if (stopped) return
      if (options.animated) timer ??= setInterval(draw, TICK_MS).unref()
      observe(event)
    },
    pause() {
      pauses++
      screen.status(null)
      let over = false
      return () => {
        if (!over) pauses--
        over = true
      }
    },
    stop() {
      stopped = true
      if (timer !== null) clearInterval(timer)
      timer = null
      screen.status(null)
    },
  }
}

function describeUsage(usage: Usage): string {
  const input = wholeInput(usage)
  if (input + usage.output_tokens === 0) return ''
  return ` · ${tokens(input)} tokens in, ${tokens(usage.output_tokens)} out`
}
