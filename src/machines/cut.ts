/** Texts made shorter without splitting a character, and images replaced by words. Pure. */
import type { ImageBlock, Message, TextBlock, ToolResultBlock, UserBlock } from './messages.ts'

/** @returns the first `units` UTF-16 units of a text, one less where the cut would split a pair. */
export function firstUnits(text: string, units: number): string {
  if (text.length <= units) return text
  return text.slice(0, isHigh(text.charCodeAt(units - 1)) ? units - 1 : units)
}

/** @returns the last `units` UTF-16 units of a text, one less where the cut would split a pair. */
export function lastUnits(text: string, units: number): string {
  if (text.length <= units) return text
  const start = text.length - units
  return text.slice(isHigh(text.charCodeAt(start - 1)) ? start + 1 : start)
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** @returns the texts of a result joined, "" where it has none. */
export function textOfResult(content: ToolResultBlock['content']): string {
  if (typeof content === 'string') return content
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

/** @returns the images of a result in their order. */
export function imagesOfResult(content: ToolResultBlock['content']): ImageBlock[] {
  return typeof content === 'string' ? [] : content.filter((block) => block.type === 'image')
}

/** @returns the blocks with each image replaced by a mark; the very same list where there is none. */
export function withoutImages<Block extends UserBlock>(blocks: Block[]): Array<Block | TextBlock> {
  if (!blocks.some(hasImage)) return blocks
  return blocks.map((block): Block | TextBlock => {
    if (block.type === 'image') return imageMark(block)
    if (block.type !== 'tool_result' || typeof block.content === 'string' || !hasImage(block)) return block
    return { ...block, content: block.content.map((part) => (part.type === 'image' ? imageMark(part) : part)) }
  })
}

/** @returns the message without image data. */
export function messageWithoutImages(message: Message): Message {
  if (message.role === 'assistant') return message
  const content = withoutImages(message.content)
  return content === message.content ? message : { role: 'user', content }
}

function hasImage(block: UserBlock): boolean {
  if (block.type === 'image') return true
  return block.type === 'tool_result' && imagesOfResult(block.content).length > 0
}

function imageMark({ source }: ImageBlock): TextBlock {
  const bytes = Math.floor((source.data.length * 3) / 4)
  return {
    type: 'text',
    text: `[An image (${source.media_type}, ${bytes} bytes) was here; read its file again to see it.]`,
  }
}
