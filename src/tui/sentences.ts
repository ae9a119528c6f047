/** What is told of a turn's end, and of the call that a person wants to see. */
import type { Colors } from 'picocolors/types.js'
import { type Conversation, type Failure, isUnfinished, type Turn } from '../machines/conversation.ts'
import type { ToolUseBlock } from '../machines/messages.ts'
import { clip, describeCall, printable, printableLine } from '../services/text.ts'
import { folded } from './blocks.ts'
import type { TurnEnd } from './desk.ts'
import type { Block } from './screen.ts'
import { wrap } from './wrap.ts'

/** How a turn ended, as far as a person is told. */
export interface Ending extends Pick<TurnEnd, 'storeFault' | 'unloadable'> {
  turn: { status: Turn['status']; stop_reason: string | null; failure: Pick<Failure, 'message'> | null }
}

/** @returns what went wrong, what is missing, and what can be done now */
export function endLines({ turn, storeFault, unloadable }: Ending, colors: Colors): string[] {
  // Nothing was begun: how the turn before it ended has been told.
  if (unloadable !== null) return [`${colors.red('error:')} ${printable(unloadable)}`]
  const problems = [
    turn.status === 'failed' ? (turn.failure?.message ?? null) : null,
    storeFault === null ? null : `The session could not be saved: ${storeFault}`,
  ]
  const lines = problems.flatMap((problem) =>
    problem === null ? [] : [`${colors.red('error:')} ${printable(problem)}`],
  )
  if (turn.status === 'done' && turn.stop_reason === 'max_tokens')
    lines.push(colors.yellow("The answer was cut at the model's output limit; “go on” asks for the rest."))
  if (turn.status === 'cancelled') lines.push(colors.yellow('Interrupted. What is to be done instead?'))
  return lines
}

/** @returns how a turn that failed is tried again; nothing where there is nothing to try */
export function againLines(conversation: Conversation): string[] {
  const canTry = conversation.turn.status === 'failed' && isUnfinished(conversation)
  return canTry ? ['Enter on an empty line tries again.'] : []
}

/** @returns the last call with its output, the middle of a long one left out; a bar stands before each of its rows */
export function lastCallBlock({ call, result }: { call: ToolUseBlock; result: string }, colors: Colors): Block {
  const title = clip(`${printableLine(call.name)} ${describeCall(call, 400)}`, 400)
  const rows = folded(result, colors, { head: 200, tail: 50 })
  return (columns) => [
    '',
    ...wrap(colors.bold(title), columns - 2).map((row, i) => `${colors.dim(i === 0 ? '┌' : '│')} ${row}`),
    ...rows.flatMap((row) => wrap(row, columns - 2).map((part) => `${colors.dim('│')} ${part}`)),
  ]
}
