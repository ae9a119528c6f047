/** What happens in a session as blocks for the screen: answers, a line a call, differences, notices. */
import type { Colors } from 'picocolors/types.js'
import { type ToolResultBlock, type ToolUseBlock, textOf } from '../machines/messages.ts'
import { type Round, roundOf } from '../machines/round.ts'
import { createCalls } from '../services/output/calls.ts'
import { compactedLine, notice } from '../services/output/notices.ts'
import type { Progress } from '../services/ports.ts'
import { printable } from '../services/text.ts'
import { type Answer, createAnswer } from './answer.ts'
import { blank, textOfResult } from './blocks.ts'
import type { renderDiff } from './diff.ts'
import { type Change, changeOf } from './edits.ts'
import type { Block } from './screen.ts'
import { wrap } from './wrap.ts'

/** The heavy parts, once they are loaded. */
export interface Renderers {
  markdown: typeof import('./markdown.ts')
  renderDiff: typeof renderDiff
}

export interface Transcript {
  /** Shows what happens now. */
  observe(event: Progress): void
  /** Shows what happened, now or in an older session: one rendering for both. */
  show(event: Progress): void
  /** What a call makes of a file; shown when the call has ended well. */
  changes(call_id: string, change: Change | null): void
  answer: Answer
  /** The turn is over. @returns what was shown of a reply in the live region, and the calls that were cut off */
  cutOff(round: Round): Block[]
  /** Another session is opened: the calls of the last one cannot be opened any more. */
  forget(): void
  /** What runs now in words and since when. */
  running(): { words: string; since: number } | null
  /** The last calls with their results, the newest first. */
  lastCalls(): ReadonlyArray<{ call: ToolUseBlock; result: string }>
  /** A change was shown to the person already, with the question whether it may be made. */
  wasShown(call_id: string): void
  /** The person said no to this call: they need not be told why it failed. */
  wasRefused(call_id: string): void
}

export interface TranscriptOptions {
  colors: Colors
  columns: () => number
  now: () => number
  cwd: () => string
  renderers: () => Renderers | undefined
  print(...blocks: Block[]): void
}

const ERROR_LINES = 3
/** Calls whose output can still be opened. */
const KEPT_CALLS = 30
const LONGEST_ERROR = 2_000
/** After a person's no: what the model is told beside their words. */
const TO_THE_MODEL = / Nothing was run\. Do not try to reach the same in another way;.*$/s

export function createTranscript(options: TranscriptOptions): Transcript {
  const { colors, print, columns, now } = options
  const answer = createAnswer(colors, () => options.renderers()?.markdown)
  const calls = createCalls(colors, columns, now)
  const changes = new Map<string, Change>()
  const known = new Map<string, ToolUseBlock>()
  const shown = new Set<string>()
  const refused = new Set<string>()
  let last: Array<{ call: ToolUseBlock; result: string }> = []
  let compacting = false
  let afterAnswer = false

  const line = (text: string, indent = ''): void =>
    print((width) => text.split('\n').flatMap((one) => wrap(one, width, indent)))
  const answered = (blocks: Block[]): void => {
    if (blocks.length === 0) return
    // A blank line before an answer, as between its blocks.
    print(...(afterAnswer ? [] : [blank]), ...blocks)
    afterAnswer = true
  }
  const endAnswer = (): void => {
    const wasShown = answer.isShown()
    answered(answer.end())
    if (wasShown) print(blank)
    afterAnswer = false
  }
  const observe = (event: Progress): void => {
    if (event.type === 'toolStarted') recordChange(event.call.id, changeOf(event.call, options.cwd()))
    show(event)
  }
  const recordChange = (id: string, change: Change | null): void => {
    if (change !== null) changes.set(id, change)
  }
  const show = (event: Progress): void => {
    switch (event.type) {
      case 'started':
        return
      case 'state':
        compacting = event.state === 'compacting'
        return
      case 'text':
        if (!compacting) answered(answer.push(event.text))
        return
      case 'textDiscarded': {
        const wasShown = answer.isShown()
        endAnswer()
        if (wasShown) line(colors.yellow('The reply broke off here and is asked for again: its text above is void.'))
        return
      }
      case 'reply': {
        if (event.parent_tool_use_id !== null) return
        const whole = textOf(event.record.content)
        const received = answer.received()
        // A server that answers in one piece streams nothing.
        if (!compacting && whole.startsWith(received)) answered(answer.push(whole.slice(received.length)))
        endAnswer()
        for (const one of roundOf(event.record.content, event.record.incomplete)) {
          if (one.state !== 'finished') continue
          line(calls.unrun(one.call, 'not run'), '  ')
          known.set(one.call.id, one.call)
          takeResult(one.result)
        }
        return
      }
      case 'toolStarted': {
        const text = calls.start(event)
        if (text !== null) line(text)
        return
      }
      case 'toolFinished': {
        const { call } = event
        known.set(call.id, call)
        const ended = calls.finish(event)
        if (!refused.has(call.id)) line(ended, '  ')
        const change = changes.get(call.id)
        changes.delete(call.id)
        if (change !== undefined && !event.is_error && !shown.has(call.id)) print(diffBlock(change))
        return
      }
      case 'toolResults': {
        const results = event.message.content.filter((block) => block.type === 'tool_result')
        // Results come in call order; what ended last is what a person saw last.
        const ended = [...known.keys()]
        const place = ({ tool_use_id }: ToolResultBlock): number => ended.indexOf(tool_use_id)
        for (const block of results.toSorted((a, b) => place(a) - place(b))) takeResult(block)
        return
      }
      case 'compacted':
        line(compactedLine(event, colors))
        return
      case 'retry':
      case 'remembered':
      case 'warning': {
        const text = notice(event, colors)
        if (text !== null) line(text, '  ')
        return
      }
      default:
        event satisfies never
    }
  }
  const takeResult = (block: ToolResultBlock): void => {
    const call = known.get(block.tool_use_id)
    if (call === undefined) return
    known.delete(block.tool_use_id)
    const result = textOfResult(block)
    last = [{ call, result }, ...last].slice(0, KEPT_CALLS)
    if (block.is_error !== true || refused.delete(call.id)) return
    line(colors.dim(`  ${errorLines(call.name, result).join('\n  ')}`), '  ')
  }
  const diffBlock = (change: Change): Block => {
    return (width) => {
      const render = options.renderers()?.renderDiff
      return render === undefined ? [] : render(change, width - 4, colors).lines.map((row) => `    ${row}`)
    }
  }
  return {
    observe,
    show,
    changes: recordChange,
    answer,
    cutOff(round) {
      afterAnswer = false
      const waiting = round.flatMap(({ state, call }) =>
        state === 'waiting' ? [calls.unrun(call, 'never started')] : [],
      )
      const cut = [...calls.interrupt(), ...waiting].map(
        (text): Block =>
          (width) =>
            wrap(text, width, '  '),
      )
      return [...answer.end(), ...cut]
    },
    forget() {
      last = []
      shown.clear()
      refused.clear()
    },
    running: () => calls.running(),
    lastCalls: () => last,
    wasShown: (id) => shown.add(id),
    wasRefused: (id) => refused.add(id),
  }
}

/** @returns what of an error is shown at once: its beginning, of a command the end, where it says what went wrong */
function errorLines(tool: string, result: string): string[] {
  const isCommand = tool === 'bash'
  const part = isCommand ? result.slice(-LONGEST_ERROR) : result.slice(0, LONGEST_ERROR)
  const said = printable(part).replace(TO_THE_MODEL, '').trim().split('\n')
  if (said.length <= ERROR_LINES) return said
  if (isCommand) return ['… (Ctrl-O shows all)', ...said.slice(-ERROR_LINES)]
  const shown = said.slice(0, ERROR_LINES)
  return [...shown.slice(0, -1), `${shown.at(-1)} … (Ctrl-O shows all)`]
}
