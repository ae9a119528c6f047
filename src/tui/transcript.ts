/** What happens in a session as blocks for the screen: answers, a line a call, differences, notices. */
import type { Colors } from 'picocolors/types.js'
import { type ToolResultBlock, type ToolUseBlock, textOf } from '../machines/messages.ts'
import { createCalls } from '../services/output/calls.ts'
import { notice } from '../services/output/notices.ts'
import type { Progress } from '../services/ports.ts'
import { printable, printableLine, tokens } from '../services/text.ts'
import { type Answer, createAnswer } from './answer.ts'
import type { Change, renderDiff } from './diff.ts'
import { changeOf } from './edits.ts'
import type { Block } from './screen.ts'
import { wrap } from './wrap.ts'

/** The heavy parts, once they are loaded. */
export interface Renderers {
  markdown: typeof import('./markdown.ts')
  renderDiff: typeof renderDiff
}

export interface Transcript {
  observe(event: Progress): void
  answer: Answer
  /** The reply was interrupted. @returns what was shown of it in the live region */
  cutOff(): Block[]
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

export function createTranscript(options: TranscriptOptions): Transcript {
  const { colors, print, columns, now } = options
  const answer = createAnswer(colors, () => options.renderers()?.markdown)
  const calls = createCalls(colors, columns, now)
  const changes = new Map<string, Change>()
  const known = new Map<string, ToolUseBlock>()
  const shown = new Set<string>()
  const refused = new Set<string>()
  const began = new Map<string, number>()
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
        return
      }
      case 'toolStarted': {
        const { call } = event
        began.set(call.id, now())
        const text = calls.start(event)
        if (text !== null) line(text)
        const change = changeOf(call, options.cwd())
        if (change !== null) changes.set(call.id, change)
        return
      }
      case 'toolFinished': {
        const { call } = event
        known.set(call.id, call)
        // The time that a question waited for its answer is not the call's.
        const ms = now() - (began.get(call.id) ?? now() - event.ms)
        began.delete(call.id)
        const ended = calls.finish({ ...event, ms })
        if (!refused.has(call.id)) line(ended, '  ')
        const change = changes.get(call.id)
        changes.delete(call.id)
        if (change !== undefined && !event.is_error && !shown.has(call.id)) print(diffBlock(change))
        return
      }
      case 'toolResults': {
        for (const block of event.message.content) if (block.type === 'tool_result') takeResult(block)
        return
      }
      case 'compacted': {
        const size = `${tokens(event.before_tokens)} to ${tokens(event.after_tokens)} tokens`
        line(
          colors.dim(
            `~ conversation summarised: ${size} (${event.trigger === 'tool' ? 'as asked' : printableLine(event.trigger)})`,
          ),
        )
        return
      }
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
    const said = printable(result.slice(0, LONGEST_ERROR)).trim().split('\n')
    const more = said.length > ERROR_LINES ? ' … (Ctrl-O shows all)' : ''
    line(colors.dim(`  ${said.slice(0, ERROR_LINES).join('\n  ')}${more}`), '  ')
  }
  const diffBlock = (change: Change): Block => {
    return (width) => {
      const render = options.renderers()?.renderDiff
      return render === undefined ? [] : render(change, width - 4, colors).lines.map((row) => `    ${row}`)
    }
  }
  return {
    observe,
    answer,
    cutOff() {
      afterAnswer = false
      const cut = calls.interrupt().map(
        (text): Block =>
          (width) =>
            wrap(text, width, '  '),
      )
      return [...answer.end(), ...cut]
    },
    running: () => calls.running(),
    lastCalls: () => last,
    wasShown: (id) => shown.add(id),
    wasRefused: (id) => refused.add(id),
  }
}

export const blank: Block = () => ['']

/** @returns what a tool gave back, as text; images in words */
export function textOfResult({ content }: Pick<ToolResultBlock, 'content'>): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : '[image]')).join('\n')
}

/** Rows of a text that are shown where it is not asked for whole. */
const FOLD = { head: 30, tail: 8 }

/** @returns long text with its middle left out, and a line that says so */
export function folded(text: string, colors: Colors, { head, tail } = FOLD): string[] {
  const lines = printable(text)
    .split('\n')
    .map((one) => (one.length > 4_000 ? `${one.slice(0, 2_000)} … (${one.length - 2_000} more characters)` : one))
  const left = lines.length - head - tail
  if (left <= 1) return lines
  return [...lines.slice(0, head), colors.dim(`… ${left} lines folded …`), ...lines.slice(-tail)]
}

/** @returns a person's words as they are shown once they are sent */
export function promptBlock(text: string, colors: Colors): Block {
  return (columns) => {
    const lines = folded(text, colors).flatMap((line) => wrap(line, columns - 2))
    return ['', ...lines.map((line, i) => `${colors.bold(colors.cyan(i === 0 ? '>' : ' '))} ${colors.bold(line)}`), '']
  }
}
