/**
 * How many tokens something takes, estimated from its length. Only a reply's usage is exact; an estimate says what
 * was added since the last one, and stands in where a server reports no usage at all. Pure.
 */
import type { ContextRecord } from './journal.ts'
import type { AssistantBlock, Message, UserBlock } from './messages.ts'

/** What an image costs at most, in tokens: the API scales larger ones down. */
const IMAGE_TOKENS = 1_600
/** Roles, block types, ids: what each block costs beside its text, in tokens. */
const BLOCK_TOKENS = 8

const ASCII = /^[\0-\x7f]*$/

/**
 * @returns the estimated tokens of a text: four ASCII characters make one, and so do four bytes of other scripts
 * (a Chinese character is about 0.75)
 */
export function tokensOfText(text: string): number {
  if (ASCII.test(text)) return Math.ceil(text.length / 4)
  let wide = 0
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) wide++
  return Math.ceil((text.length + 2 * wide) / 4)
}

/** @returns the estimated tokens of blocks of either role. */
export function tokensOfBlocks(blocks: ReadonlyArray<UserBlock | AssistantBlock>): number {
  return blocks.reduce((sum, block) => sum + tokensOfBlock(block), 0)
}

/** @returns the estimated tokens of messages. */
export function tokensOfMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOfBlocks(message.content), 0)
}

/** @returns the estimated tokens of what a request carries beside the conversation. */
export function tokensOfContext({ system, tools }: Pick<ContextRecord, 'system' | 'tools'>): number {
  return tokensOfText(system) + tokensOfText(JSON.stringify(tools))
}

function tokensOfBlock(block: UserBlock | AssistantBlock): number {
  switch (block.type) {
    case 'text':
      return BLOCK_TOKENS + tokensOfText(block.text)
    case 'image':
      return IMAGE_TOKENS
    case 'thinking':
      return BLOCK_TOKENS + tokensOfText(block.thinking) + tokensOfText(block.signature)
    case 'redacted_thinking':
      return BLOCK_TOKENS + tokensOfText(block.data)
    case 'tool_use':
      return BLOCK_TOKENS + tokensOfText(block.name) + tokensOfText(JSON.stringify(block.input))
    case 'tool_result':
      return typeof block.content === 'string'
        ? BLOCK_TOKENS + tokensOfText(block.content)
        : BLOCK_TOKENS + tokensOfBlocks(block.content)
  }
}
