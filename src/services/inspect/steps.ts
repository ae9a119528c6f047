/** All there is to say of one step: conversation, numbers, record, request. */
import { nextInput } from '../../machines/budget.ts'
import type { Conversation } from '../../machines/conversation.ts'
import { requestMessages } from '../../machines/request.ts'
import type { Numbering } from './numbering.ts'
import { requestAt } from './requests.ts'
import { type Veil, veiled, veiledText } from './veil.ts'
import type { SessionView } from './view.ts'
import type { RequestParts, StepJson } from './wire.ts'

/** @param n a transition of the session, 0 for before the first */
export function stepOf(view: SessionView, n: number, numbering: Numbering, veil: Veil): StepJson {
  const conversation = view.conversationAt(n)
  return {
    n,
    state: view.stateAt(n),
    messages: numbering.numbersOf(requestMessages(conversation)),
    facts: factsOf(conversation, veil),
    record: veiled(view.transition(n)?.record ?? null, veil),
    request: requestOf(view, n, numbering, veil),
    context: view.contextAt(n)?.hash ?? null,
  }
}

function requestOf(view: SessionView, n: number, numbering: Numbering, veil: Veil): RequestParts | null {
  const request = requestAt(view, n)
  if (request === null) return null
  return {
    ...request,
    system: veiledText(request.system, veil),
    messages: numbering.numbersOf(request.messages),
  }
}

/** What guards and routes look at, in the order in which a person wants to read it. */
function factsOf(c: Conversation, veil: Veil): StepJson['facts'] {
  const { turn } = c
  return {
    turn: c.prompts,
    'turn status': turn.status,
    'model calls in the turn': turn.calls,
    'most calls': turn.limits.max_turns === Number.MAX_SAFE_INTEGER ? null : turn.limits.max_turns,
    'last input in tokens': c.gauge,
    'next input in tokens, estimated': nextInput(c),
    'budget in tokens': turn.limits.input_tokens === Number.MAX_SAFE_INTEGER ? null : turn.limits.input_tokens,
    'settled messages': c.messages.length,
    'open calls': c.round.filter((one) => one.state !== 'finished').length,
    'calls of the round': c.round.length,
    'words not yet answered': c.pending.length,
    'stop reason': turn.stop_reason,
    compactions: c.compactions,
    'compaction due': turn.compaction.due?.trigger ?? null,
    'results put on disk': c.saved.length,
    'memories recalled': turn.memory.recalled?.length ?? null,
    'refused calls': turn.denials.length,
    'input of the turn':
      turn.usage.input_tokens + turn.usage.cache_creation_input_tokens + turn.usage.cache_read_input_tokens,
    'output of the turn': turn.usage.output_tokens,
    interrupted: turn.interrupted,
    failure: turn.failure === null ? null : veiledText(turn.failure.message, veil),
  }
}
