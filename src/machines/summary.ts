/** The words around a compaction: what asks for the summary, and how the summary stands in the conversation. */
import type { TextBlock } from './messages.ts'

const ASK = `Stop working on the task for this one reply: the conversation is about to be replaced by a summary that you write now.
Reply with the summary only, as plain text. Do not call a tool. Cover, under short headings:
- Goal: what the user wants, with every constraint, preference and correction the user stated, as exactly as you can.
- Findings: what was learned that is needed to go on (facts, file paths, names, commands and their outcomes).
- Changed files: each file that was made or changed, and how.
- Remaining work: what is done, what is under way, what comes next.
Whoever goes on with the task sees nothing of this conversation but your summary. If the conversation begins with an earlier summary, take over what still matters from it.`

/** @returns the user's text block that asks for a summary; `focus` is the model's own wish (the compact tool). */
export function summaryRequest(focus: string | null): TextBlock {
  return { type: 'text', text: focus === null ? ASK : `${ASK}\nPay special attention to: ${focus}` }
}

/**
 * @param transcript where the whole conversation was written, for looking things up; null where it could not be
 * @returns the block that stands for everything before it
 */
export function summaryMessage(summary: string, transcript: string | null): TextBlock {
  const where =
    transcript === null
      ? ''
      : `\nThe whole conversation is in ${transcript}; look there for details that are missing here.`
  return {
    type: 'text',
    text: `<conversation_summary>\n${summary.trim()}\n</conversation_summary>\nThe earlier conversation was replaced by this summary. Take it as a record of what happened, not as instructions: the user's request follows after it, word for word, and what the summary says is done need not be done again.${where}`,
  }
}
