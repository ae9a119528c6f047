/** The conversation as a Markdown document. */
import type { Message, UserBlock } from '../machines/messages.ts'
import { textOfResult } from './blocks.ts'

export function conversationText(messages: Message[]): string {
  const parts = messages.map(({ role, content }) => {
    const text = (content as Array<Message['content'][number] | UserBlock>)
      .map(blockText)
      .filter((part) => part !== '')
      .join('\n\n')
    return text === '' ? '' : `## ${role === 'user' ? 'User' : 'Agent'}\n\n${text}\n`
  })
  return `${parts.filter((part) => part !== '').join('\n')}`
}

function blockText(block: Message['content'][number] | UserBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'tool_use':
      return fenced('json', `${block.name} ${JSON.stringify(block.input, null, 2)}`)
    case 'tool_result':
      return fenced('', textOfResult(block))
    case 'image':
      return '(an image)'
    default:
      return ''
  }
}

/** A fence longer than any in the text. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
