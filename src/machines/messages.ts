/**
 * The Messages API's shapes as far as the agent uses them.
 *
 * They stand here, not in the SDK's types, so that the machine and the journal depend on nothing but
 * themselves. Content a server sends is kept as it came (thinking signatures must go back unchanged).
 */

/** A mark for the prompt cache. On the wire only: no block of the conversation carries one. */
export interface Markable {
  cache_control?: { type: 'ephemeral' }
}

export interface TextBlock extends Markable {
  type: 'text'
  text: string
}

export interface ImageBlock extends Markable {
  type: 'image'
  source: { type: 'base64'; media_type: string; data: string }
}

export interface ThinkingBlock {
  type: 'thinking'
  thinking: string
  signature: string
}

export interface RedactedThinkingBlock {
  type: 'redacted_thinking'
  data: string
}

export interface ToolUseBlock {
  type: 'tool_use'
  id: string
  name: string
  input: Record<string, unknown>
}

export interface ToolResultBlock extends Markable {
  type: 'tool_result'
  tool_use_id: string
  content: string | Array<TextBlock | ImageBlock>
  is_error?: boolean
}

export type UserBlock = TextBlock | ImageBlock | ToolResultBlock
export type AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock

export interface UserMessage {
  role: 'user'
  content: UserBlock[]
}

export interface AssistantMessage {
  role: 'assistant'
  content: AssistantBlock[]
}

export type Message = UserMessage | AssistantMessage

/** Tokens of one or more model calls; a field the server leaves out counts as 0. */
export interface Usage {
  input_tokens: number
  output_tokens: number
  cache_creation_input_tokens: number
  cache_read_input_tokens: number
}

/** A tool as it is sent to the model: `input_schema` is JSON Schema (draft 2020-12). */
export interface ToolSpec {
  name: string
  description: string
  input_schema: Record<string, unknown>
}

export const NO_USAGE: Usage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
})

/** @returns the field-wise sum of two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_creation_input_tokens: a.cache_creation_input_tokens + b.cache_creation_input_tokens,
    cache_read_input_tokens: a.cache_read_input_tokens + b.cache_read_input_tokens,
  }
}

/** @returns everything the model read for this reply, in tokens: uncached, written to and read from the cache. */
export function wholeInput(usage: Usage): number {
  return usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
}

/** @returns the text blocks of a message's content joined, "" if there are none. */
export function textOf(content: ReadonlyArray<{ type: string; text?: string }>): string {
  return content.flatMap((block) => (block.type === 'text' && block.text !== undefined ? [block.text] : [])).join('')
}

/** @returns true where the API would refuse the text as empty: nothing in it but white space. */
export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/**
 * Replaces each lone surrogate by U+FFFD in every string of a JSON value; the same value, not a copy, where
 * there is none. The API refuses a body with half a character for ever (facts.md, "what goes wrong").
 */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (mended(value) as T)
}

/** Nearly everything is: looking costs less than building anew. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (value === null || typeof value !== 'object') return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  for (const [key, item] of Object.entries(value)) if (!key.isWellFormed() || !isWellFormed(item)) return false
  return true
}

function mended(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mended)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), mended(item)]))
}
