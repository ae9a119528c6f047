/** Lines on stderr that do not depend on a terminal: warnings, retries, errors, and what to do next at the end. */
import type { Colors } from 'picocolors/types.js'
import { wholeInput } from '../../machines/messages.ts'
import { count } from '../../machines/words.ts'
import type { Progress, RunResult } from '../ports.ts'
import { duration, printable, printableLine, tokens } from '../text.ts'

/** @returns the line for an event that must be seen in every format, null for the others. */
export function notice(event: Progress, colors: Colors): string | null {
  if (event.type === 'warning') return `${colors.yellow('warning:')} ${printable(event.message).trimEnd()}`
  if (event.type === 'remembered') return rememberedLine(event, colors)
  if (event.type !== 'retry') return null
  const status = event.status === null || event.error.includes(String(event.status)) ? '' : `${event.status} `
  const reason = `${status}${printableLine(event.error)}`
  return `${colors.yellow('retry')} ${event.attempt} in ${duration(event.delay_ms)}: ${reason}`
}

/** @returns the line for a compaction, in headless runs and in conversations: how large it was, is now, and why */
export function compactedLine(event: Extract<Progress, { type: 'compacted' }>, colors: Colors): string {
  const why = COMPACTED[event.trigger] ?? printableLine(event.trigger)
  return colors.dim(`~ compacted ${inShort(event.before_tokens)} → ${inShort(event.after_tokens)} tokens (${why})`)
}

/** Over the budget; asked for by the person or the model; an input that the server found too long. */
const COMPACTED: Readonly<Record<string, string | undefined>> = {
  budget: 'auto',
  tool: 'as asked',
  emergency: 'input too long',
}

/** Two figures are enough to see what it was for: `950`, `2.1k`, `6k`, `182k`, `1.2M`. */
function inShort(count: number): string {
  const [size, unit] = count < 999_500 ? [count / 1_000, 'k'] : [count / 1_000_000, 'M']
  if (count < 1_000) return String(count)
  return `${size < 9.95 ? size.toFixed(1).replace('.0', '') : Math.round(size)}${unit}`
}

/** Files were written that nobody asked for in so many words: that is said in every format. */
function rememberedLine({ memories, consolidated }: Progress & { type: 'remembered' }, colors: Colors): string {
  const kept = memories.map(({ file, description }) => `${description} (.memory/${file})`)
  const merged =
    consolidated === undefined
      ? []
      : [`${count(consolidated.before, 'memory', 'memories')} became ${consolidated.after}`]
  return `${colors.cyan('remembered:')} ${printableLine([...kept, ...merged].join('; '))}`
}

/** @returns a line for each error of a failed run. */
export function errorLines(result: RunResult, colors: Colors): string[] {
  return (result.errors ?? []).map((error) => `${colors.red('error:')} ${printable(error).trimEnd()}`)
}

/** @returns what a reader of the text format must know beside the answer: where it is cut, what was refused. */
export function hintLines(result: RunResult, colors: Colors): string[] {
  const lines: string[] = []
  const hint = (text: string) => lines.push(`${colors.yellow('note:')} ${text}`)
  if (result.stop_reason === 'max_tokens') {
    hint('The answer was cut at the model\'s output limit (max_tokens). `agent -c -p "go on"` asks for the rest.')
  }
  // Thought or nothing: without a word about it an empty stdout looks like a fault of the agent.
  if (!result.is_error && result.result === '') hint('The answer has no text.')
  const refused = [...new Set(result.permission_denials.map((denial) => printableLine(denial.tool_name)))]
  if (refused.length > 0) {
    const calls = count(result.permission_denials.length, 'tool call was', 'tool calls were')
    hint(
      `${calls} refused for lack of permission (${refused.join(', ')}). Each of them says in its result what would allow it.`,
    )
  }
  return lines
}

/** @returns the last line of the text format: the session's id, with the run's figures for a person. */
export function sessionLine(result: RunResult, colors: Colors, figures: boolean): string {
  const id = `session ${printableLine(result.session_id)}`
  if (!figures) return id
  const calls = count(result.num_turns, 'model call')
  const used = `${tokens(wholeInput(result.usage))} tokens in, ${tokens(result.usage.output_tokens)} out`
  const cost = result.total_cost_usd === null ? '' : ` · $${result.total_cost_usd.toFixed(4)}`
  return colors.dim(`${id} · ${duration(result.duration_ms)} · ${calls} · ${used}${cost}`)
}
