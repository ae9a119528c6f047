/** A round: the tool calls of one reply, in their order, each with what became of it. Pure. */
import type { Denial, Incomplete } from './journal.ts'
import type { AssistantBlock, ToolResultBlock, ToolUseBlock } from './messages.ts'

export type RoundCall =
  | { state: 'waiting'; call: ToolUseBlock }
  | { state: 'started'; call: ToolUseBlock }
  /** `refused`: what permissions kept it or its subagent from; absent where nothing was. */
  | { state: 'finished'; call: ToolUseBlock; result: ToolResultBlock; refused?: Denial[] }

export type Round = RoundCall[]

/**
 * @param content a whole reply's content
 * @param incomplete why none of its calls may run: each is then answered at once with that reason
 */
export function roundOf(content: AssistantBlock[], incomplete: Incomplete | undefined): Round {
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
  return calls.map((call): RoundCall => {
    if (incomplete === undefined) return { state: 'waiting', call }
    const problem = incomplete.broken?.find((broken) => broken.id === call.id)?.problem
    return { state: 'finished', call, result: errorResult(call, problem ?? incomplete.reason) }
  })
}

/** @returns the calls that have no result yet, in call order. */
export function openCalls(round: Round): ToolUseBlock[] {
  return round.flatMap((one) => (one.state === 'finished' ? [] : [one.call]))
}

/** @returns the results there are, in call order. */
export function resultsOf(round: Round): ToolResultBlock[] {
  return round.flatMap((one) => (one.state === 'finished' ? [one.result] : []))
}

/** @returns the round with this call started: from now on it may have had an effect */
export function startCall(round: Round, id: string): Round {
  return round.map((one) =>
    one.call.id === id && one.state === 'waiting' ? { state: 'started', call: one.call } : one,
  )
}

/** A second result for one call is ignored: what finished first has been seen. */
export function finishCall(round: Round, result: ToolResultBlock, refused: Denial[] = []): Round {
  return round.map((one) =>
    one.call.id === result.tool_use_id && one.state !== 'finished'
      ? { state: 'finished', call: one.call, result, ...(refused.length > 0 && { refused }) }
      : one,
  )
}

/** @returns what permissions refused, in call order */
export function refusedOf(round: Round): Denial[] {
  return round.flatMap((one) => (one.state === 'finished' ? (one.refused ?? []) : []))
}

/**
 * Answers every open call of a run that ended in the middle, telling which may have had an effect. Nothing is
 * run again (contract.md, 6).
 */
export function closeRound(round: Round): Round {
  return round.map((one) =>
    one.state === 'finished'
      ? one
      : { state: 'finished', call: one.call, result: errorResult(one.call, FATE[one.state]) },
  )
}

const FATE = {
  waiting:
    'Never started: the run was interrupted before this call began. Nothing of it ran. Call it again if it is still needed.',
  started:
    'Interrupted: the run ended while this call was running. Its outcome is unknown and it may have taken effect; check before you do it again.',
} as const

function errorResult(call: ToolUseBlock, content: string): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: call.id, content, is_error: true }
}
