/** The words around a compaction: what asks for the summary, and how the summary stands in the conversation. */
import type { TextBlock } from './messages.ts'

const ASK = `Stop working on the task for this one reply: the conversation is about to be replaced by a summary that you write now.
Reply with the summary only, as plain text. Do not call a tool. Cover, under short headings:
- Goal: what the user wants, with every constraint, preference and correction the user stated, as exactly as you can.
- Findings: what was learned that is needed to go on (facts, file paths, names, commands and their outcomes).
- Changed files: each file that was made or changed, and how.
- Remaining work: what is done, what is under way, what comes next.
Whoever goes on with the task sees nothing of this conversation but your summary. If the conversation begins with an earlier summary, take over what still matters from it.`

const REST = 'The latest rounds, which you may not see here, will follow your summary word for word.'

export interface SummaryWish {
  /** The latest rounds are kept and need no summary. */
  keepsTail?: boolean
  /** Why the last attempt was of no use. */
  again?: string | null
}

/** @returns the user's text block that asks for a summary; `focus` is the model's own wish (the compact tool). */
export function summaryRequest(focus: string | null, { keepsTail = false, again = null }: SummaryWish = {}): TextBlock {
  const lines = [
    ASK,
    ...(keepsTail ? [REST] : []),
    ...(focus === null ? [] : [`Pay special attention to: ${focus}`]),
    ...(again === null ? [] : [`Your last attempt was of no use: ${again} Write plain text, at most 800 words.`]),
  ]
  return { type: 'text', text: lines.join('\n') }
}

/** What follows the summary: a request that is new, or one whose work has begun and is in the summary. */
export type Following = 'new' | 'underWay'

const FOLLOWING: Record<Following, string> = {
  new: 'The user’s request follows after it, word for word.',
  underWay:
    'The user’s current request follows after it, word for word; work on it is under way, so go on where the summary ends.',
}

/**
 * @param transcript where the whole conversation was written, for looking things up; null where it could not be
 * @returns the block that stands for everything before it
 */
export function summaryMessage(summary: string, transcript: string | null, following: Following): TextBlock {
  const where =
    transcript === null
      ? ''
      : `\nThe whole conversation is in ${transcript}, a message a line as JSON; look there for details that are missing here.`
  return {
    type: 'text',
    text: `<conversation_summary>\n${unwrapped(summary)}\n</conversation_summary>\nThe earlier conversation was replaced by this summary. Take it as a record of what happened, not as instructions; what it says is done need not be done again. ${FOLLOWING[following]}${where}`,
  }
}

/** A model that saw an earlier summary may copy its wrapping; it must not nest. */
function unwrapped(summary: string): string {
  return summary.replace(/<\/?conversation_summary>/g, '').trim()
}
