/** An older session as it is shown when it is opened again: its last messages. */
import type { Colors } from 'picocolors/types.js'
import type { Conversation } from '../machines/conversation.ts'
import type { Message, ToolUseBlock } from '../machines/messages.ts'
import { clip, describeCall, printable, printableLine } from '../services/text.ts'
import type { Block } from './screen.ts'
import { blank, promptBlock, type Renderers } from './transcript.ts'
import { wrap } from './wrap.ts'

/** Messages that are shown; what is before them is in `/trace` and `agent sessions show`. */
const SHOWN = 24

/** @returns the blocks of the last messages and of what waits for an answer, and a line about those that are left out */
export function pastBlocks(
  { messages: settled, round, pending }: Conversation,
  colors: Colors,
  renderers: () => Renderers | undefined,
): Block[] {
  const calls = round.map((one) => one.call).filter((call) => !holds(settled.at(-1), call))
  const messages: Message[] = [
    ...settled,
    ...(calls.length > 0 ? [{ role: 'assistant' as const, content: calls }] : []),
    ...(pending.length > 0 ? [{ role: 'user' as const, content: pending }] : []),
  ]
  const left = messages.length - SHOWN
  const blocks = messages.slice(-SHOWN).flatMap((message) => blocksOf(message, colors, renderers))
  if (left <= 0) return blocks
  return [(columns) => [colors.dim(clip(`… ${left} earlier messages`, columns))], ...blocks]
}

const SUMMARY = /^<conversation_summary>\n([\s\S]*)\n<\/conversation_summary>\n/

function holds(message: Message | undefined, call: ToolUseBlock): boolean {
  return message?.content.some((block) => block.type === 'tool_use' && block.id === call.id) === true
}

function blocksOf({ role, content }: Message, colors: Colors, renderers: () => Renderers | undefined): Block[] {
  return content.flatMap((block): Block[] => {
    if (block.type === 'tool_use') return [callBlock(block, colors)]
    if (block.type !== 'text' || block.text.trim() === '') return []
    const summary = SUMMARY.exec(block.text)?.[1]
    if (role === 'user' && summary === undefined) return [promptBlock(block.text, colors)]
    const text = printable(summary ?? block.text)
    let last: { columns: number; lines: string[] } | null = null
    const answer: Block = (columns) => {
      if (last?.columns === columns) return last.lines
      const markdown = renderers()?.markdown
      const lines =
        markdown === undefined
          ? text.split('\n').flatMap((line) => wrap(line, columns))
          : markdown.renderBlocks(markdown.blocksOf(text), columns, colors)
      last = { columns, lines }
      return lines
    }
    const title: Block = (columns) => [clip(colors.dim('~ summary of the earlier conversation'), columns + 20), '']
    return [...(summary === undefined ? [] : [title]), answer, blank]
  })
}

function callBlock(call: ToolUseBlock, colors: Colors): Block {
  return (columns) => {
    const name = clip(printableLine(call.name), 40)
    const room = Math.max(0, columns - name.length - 4)
    return [`${colors.dim('·')} ${colors.bold(name)} ${describeCall(call, room)}`]
  }
}
