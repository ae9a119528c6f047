/** What the parent gets of a subagent: its last words, or how far it came. */
import type { Conversation } from '../../machines/conversation.ts'
import { isBlank, textOf } from '../../machines/messages.ts'
import { count } from '../../machines/words.ts'
import type { ToolResult } from '../ports.ts'

export const INTERRUPTED = 'it was interrupted'

const CUT = '[The answer was cut off here at the output limit of the model.]'

/** @returns the answer of a turn that has ended; an error where the work is not known to be finished */
export function answerOf(c: Conversation): ToolResult {
  const { failure, text, stop_reason, calls } = c.turn
  switch (failure?.subtype) {
    case undefined:
      if (isBlank(text)) return unfinished('it ended without an answer', lastWords(c))
      return { kind: 'ok', content: stop_reason === 'max_tokens' ? `${text}\n\n${CUT}` : text }
    case 'error_max_turns':
      return unfinished(`it reached the limit of ${count(calls, 'model call')}`, lastWords(c))
    case 'error_interrupted':
      return unfinished(INTERRUPTED, lastWords(c))
    case 'error_during_execution':
      return unfinished(`it failed (${failure?.message.replace(/\.$/, '')})`, lastWords(c))
  }
}

/**
 * @param why a clause
 * @param words what it said last, '' where it said nothing
 * @returns an error that says the work is unfinished
 */
export function unfinished(why: string, words: string): ToolResult {
  const head = `The subagent's work is unfinished: ${why}. What it did so far stays in effect: check it before you go on, or give what is left as a smaller task.`
  return {
    kind: 'error',
    content: isBlank(words) ? head : `${head}\nIts last words, which are no final answer:\n${words}`,
  }
}

function lastWords({ turn, messages }: Conversation): string {
  if (!isBlank(turn.text)) return turn.text
  for (const message of messages.toReversed()) {
    const text = message.role === 'assistant' ? textOf(message.content) : ''
    if (!isBlank(text)) return text
  }
  return ''
}
