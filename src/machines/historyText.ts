/**
 * A conversation told as text, for a summary of one that is itself too long to be sent: text can be cut anywhere,
 * while calls, results and signed thinking can only go together. Pure.
 */
import { firstUnits, lastUnits, withoutImages } from './cut.ts'
import type { AssistantBlock, Message, TextBlock, UserBlock } from './messages.ts'

/** UTF-16 units that one block is told in. */
const LONGEST_TEXT = 16_000
const LONGEST_RESULT = 2_000
const LONGEST_INPUT = 1_000
/** Of the whole, for its beginning, where the goal is; the rest is for its end, where the work is. */
const HEAD_SHARE = 0.25

/** @returns the conversation as text, long blocks cut, images as marks; at most `units` UTF-16 units and a note. */
export function historyText(messages: readonly Message[], units: number): string {
  const told = messages.flatMap(tell).join('\n\n')
  if (told.length <= units) return told
  const head = firstUnits(told, Math.floor(units * HEAD_SHARE))
  const tail = lastUnits(told, units - head.length)
  return `${head}\n\n[… ${told.length - head.length - tail.length} characters left out here …]\n\n${tail}`
}

/** @returns a request for a summary whose history is text. */
export function textSummaryMessages(history: string, ask: TextBlock): Message[] {
  const block: TextBlock = { type: 'text', text: `<conversation>\n${history}\n</conversation>` }
  return [{ role: 'user', content: [block, ask] }]
}

function tell(message: Message): string[] {
  if (message.role === 'assistant') return message.content.flatMap(tellAssistant)
  return withoutImages(message.content).map(tellUser)
}

function tellAssistant(block: AssistantBlock): string[] {
  switch (block.type) {
    case 'text':
      return [`Assistant: ${short(block.text, LONGEST_TEXT)}`]
    case 'tool_use':
      return [`Assistant calls ${block.name} ${short(JSON.stringify(block.input), LONGEST_INPUT)}`]
    case 'thinking':
    case 'redacted_thinking':
      return []
  }
}

function tellUser(block: UserBlock): string {
  switch (block.type) {
    case 'text':
      return `User: ${short(block.text, LONGEST_TEXT)}`
    case 'image':
      return 'User: [an image]'
    case 'tool_result': {
      const text = typeof block.content === 'string' ? block.content : block.content.map(textOfPart).join('\n')
      return `${block.is_error === true ? 'Error' : 'Result'}: ${short(text, LONGEST_RESULT)}`
    }
  }
}

function textOfPart(part: { type: string; text?: string }): string {
  return part.text ?? '[an image]'
}

function short(text: string, units: number): string {
  const shown = firstUnits(text, units)
  return shown.length === text.length ? text : `${shown} [… ${text.length - shown.length} more characters]`
}
