/** `--step`: a run that stops before each service and does what a person says (contract.md, section 10). */
import type { Colors } from 'picocolors/types.js'
import type { NextEvent, Plan, StepPort, Stop } from '../stepPorts.ts'
import { clip, printableLine } from '../text.ts'
import { HELP, parseCommand, type StepCommand } from './command.ts'
import type { Lines } from './lines.ts'
import { planLines } from './plan.ts'
import { messageLines, requestIn, requestLines } from './print.ts'

export interface StepOptions {
  lines: Lines
  /** Writes to stderr. */
  write: (text: string) => void
  colors: Colors
  /** The terminal's width now, in columns. */
  columns: () => number
  /** A terminal shows what is typed; a pipe does not, so it is written behind the prompt. */
  echoes: boolean
  /** Takes the status line away. @returns gives it back */
  pause: () => () => void
  /** Ends the run in order. */
  quit: () => void
}

export interface Stepper extends StepPort {
  /** Whether the person quit. */
  hasQuit(): boolean
}

/** How the run goes on: it stops at each service, at the first one after transition `k`, or nowhere. */
type Mode = { kind: 'each' } | { kind: 'after'; k: number } | { kind: 'never' }

export function createStepper(options: StepOptions): Stepper {
  let mode: Mode = { kind: 'each' }
  let quit: 'no' | 'atNext' | 'yes' = 'no'
  let shownHelp = false
  let last: Promise<void> = Promise.resolve()

  const say = (lines: string[]): void => options.write(lines.map((line) => `${line}\n`).join(''))
  const isDue = ({ taken, parent_tool_use_id }: Stop): boolean => {
    if (mode.kind === 'after') return parent_tool_use_id === null && taken >= mode.k
    return mode.kind === 'each'
  }

  const stop = async (at: Stop, signal: AbortSignal): Promise<void> => {
    if (quit === 'atNext') endNow()
    if (signal.aborted || !isDue(at)) return
    const unpause = options.pause()
    try {
      const plan = await at.plan()
      const width = Math.max(20, options.columns())
      say(stopLines(at, plan, width, options.colors))
      if (!shownHelp) say([options.colors.dim(clip(SHORT_HELP, width))])
      shownHelp = true
      await ask(at, plan, signal)
    } finally {
      unpause()
    }
  }

  const ask = async (at: Stop, plan: Plan, signal: AbortSignal): Promise<void> => {
    for (;;) {
      options.write('step> ')
      const line = await options.lines.next(signal)
      if (signal.aborted || mode.kind === 'never') return options.write('\n')
      if (!options.echoes) options.write(`${line === null ? '(end of input: continue)' : printableLine(line)}\n`)
      const command: StepCommand = line === null ? { kind: 'continue' } : parseCommand(line)
      if (follow(command, at, plan)) return
    }
  }

  /** @returns whether the run goes on */
  const follow = (command: StepCommand, at: Stop, plan: Plan): boolean => {
    switch (command.kind) {
      case 'next':
        mode = { kind: 'each' }
        return true
      case 'continue':
        mode = { kind: 'never' }
        return true
      case 'go':
        if (command.k > at.taken) mode = { kind: 'after', k: command.k }
        else say([`Transition ${command.k} was taken already; the last one is ${at.taken}.`])
        return command.k > at.taken
      case 'print':
        say(printed(at, plan, command.as))
        return false
      case 'help':
        say(HELP)
        return false
      case 'unknown':
        say([printableLine(command.message)])
        return false
      case 'quit':
        mode = { kind: 'never' }
        // Nothing is recorded yet: the prompt is read and written first, so that the session can go on with it.
        if (at.service === 'loadContext' && at.parent_tool_use_id === null) quit = 'atNext'
        else endNow()
        return true
      default:
        return command satisfies never
    }
  }

  const endNow = (): void => {
    quit = 'yes'
    options.quit()
  }

  return {
    before(at, signal) {
      // Subagents side by side stop one after the other.
      const turn = last.then(() => stop(at, signal))
      last = turn.catch(() => {})
      return turn
    },
    release: () => {
      mode = { kind: 'never' }
    },
    hasQuit: () => quit !== 'no',
  }
}

const SHORT_HELP = 'n next, c continue, g <k> go on until transition k, p print, q quit, h help'

function stopLines(at: Stop, plan: Plan, columns: number, { bold, dim }: Colors): string[] {
  const who = at.parent_tool_use_id === null ? '' : `subagent ${printableLine(at.parent_tool_use_id)}, `
  const head = `${who}after transition ${at.taken}: ${bold(at.state)}, before ${bold(at.service)}`
  return [
    '',
    head,
    ...planLines(plan, columns - 2).map((line) => `  ${line}`),
    ...nextLines(at.next, columns).map((line) => dim(line)),
  ]
}

/** The events in which a service ends or is interrupted, and those that are only recorded. */
function nextLines(next: NextEvent[], columns: number): string[] {
  const isRecorded = ({ event }: NextEvent): boolean => /^(contextRead|toolStarted|toolFinished)$/.test(event)
  const moves = next
    .filter((one) => !isRecorded(one))
    .flatMap(({ event, to }) => wrapped(`  next: ${event} -> `, to, columns))
  const recorded = next.filter(isRecorded).map(({ event }) => event)
  return recorded.length === 0 ? moves : [...moves, ...wrapped('  recorded meanwhile: ', recorded, columns)]
}

/** A list behind its head, on as many lines as it needs: no state may be missing. */
function wrapped(head: string, words: string[], columns: number): string[] {
  const lines = [head]
  for (const [i, word] of words.entries()) {
    const piece = i === words.length - 1 ? word : `${word}, `
    const last = lines.at(-1) ?? ''
    if (last.length + piece.trimEnd().length > columns && last !== head) lines.push(`      ${piece}`)
    else lines[lines.length - 1] = last + piece
  }
  return lines.map((line) => line.trimEnd())
}

function printed(at: Stop, plan: Plan, as: 'text' | 'json'): string[] {
  const request = requestIn(plan)
  // Safe on a terminal: JSON leaves some of what one acts on as it is.
  if (as === 'json') return [JSON.stringify(request ?? at.messages()).replace(RAW_IN_JSON, escaped)]
  if (request !== null) return requestLines(request)
  const messages = at.messages()
  return messages.length === 0 ? ['The conversation is empty by now.'] : messageLines(messages)
}

const RAW_IN_JSON = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
