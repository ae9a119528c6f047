/** From a whole draft to the record of a reply: everything in it can be sent back to any server without an error. */
import { messageOf } from '../../machines/errorText.ts'
import type { Incomplete, ReplyRecord } from '../../machines/journal.ts'
import {
  type AssistantBlock,
  isBlank,
  type Message,
  NO_USAGE,
  type ToolUseBlock,
  type Usage,
  wellFormed,
  wholeInput,
} from '../../machines/messages.ts'
import { idMaker } from '../../machines/uniqueIds.ts'
import { type Draft, type DraftBlock, isObject } from './draft.ts'

/** Levels in the input of a call; no tool has more than three. */
const MAX_DEPTH = 100

/** What the request says that the reply must fit to. */
export interface Asked {
  model: string
  max_tokens: number
  messages: readonly Message[]
}

/**
 * @param draft a whole draft
 * @param ms how long the call took, its retries included
 */
export function replyRecord(draft: Draft, asked: Asked, ms: number): ReplyRecord {
  const newId = idMaker(asked.messages)
  const broken: Array<{ id: string; problem: string }> = []
  const content = draft.blocks.flatMap((block) => keptBlock(block, newId, broken))
  const calls = content.filter((block) => block.type === 'tool_use')
  const usage = usageOf(draft.usage)
  const incomplete = whyIncomplete(draft.stop_reason, asked.max_tokens, calls, broken)
  return {
    type: 'reply',
    id: draft.id,
    model: draft.model === '' ? asked.model : draft.model,
    content,
    stop_reason: draft.stop_reason,
    usage,
    // No request is empty: some servers fill in zeros for what they did not count.
    measured: wholeInput(usage) > 0,
    ms,
    ...(incomplete === null ? {} : { incomplete }),
  }
}

function keptBlock(
  block: DraftBlock,
  newId: (given: string) => string,
  broken: Array<{ id: string; problem: string }>,
): AssistantBlock[] {
  switch (block.type) {
    case 'text': {
      const text = wellFormed(block.text)
      return isBlank(text) ? [] : [{ type: 'text', text }]
    }
    case 'thinking': {
      // It must go back unchanged with its signature. Without one, or with half a character in it, no server takes it.
      const kept = { type: 'thinking' as const, thinking: block.thinking, signature: block.signature }
      return block.signature === '' || wellFormed(kept) !== kept ? [] : [kept]
    }
    case 'redacted_thinking':
      return block.data === '' || wellFormed(block.data) !== block.data
        ? []
        : [{ type: 'redacted_thinking', data: block.data }]
    case 'tool_use': {
      const { input, problem } = inputOf(block)
      const call: ToolUseBlock = { type: 'tool_use', id: newId(block.id), name: nameOf(block.name), input }
      if (problem !== null) broken.push({ id: call.id, problem })
      return [call]
    }
    case 'unknown':
      return []
    default:
      return block satisfies never
  }
}

/** The input as an object; {} where there was none, and where it is broken, which `problem` then says. */
function inputOf(block: Extract<DraftBlock, { type: 'tool_use' }>): {
  input: Record<string, unknown>
  problem: string | null
} {
  const streamed = block.json.trim()
  let value: unknown = block.input ?? {}
  if (value === '') value = {}
  if (streamed !== '') {
    try {
      value = JSON.parse(streamed)
    } catch (error) {
      const why = messageOf(error)
      return { input: {}, problem: `its input is not valid JSON (${why.slice(0, 200)})` }
    }
  }
  if (isDeeper(value, MAX_DEPTH)) return { input: {}, problem: `its input is nested more than ${MAX_DEPTH} deep` }
  if (isObject(value)) return { input: wellFormed(value), problem: null }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`
  return { input: {}, problem: `its input is ${kind}, not a JSON object` }
}

/** `JSON.parse` takes any depth, what walks and writes the value afterwards does not. */
function isDeeper(value: unknown, depth: number): boolean {
  if (value === null || typeof value !== 'object') return false
  return depth === 0 || Object.values(value).some((inner) => isDeeper(inner, depth - 1))
}

/** The API refuses other names in a conversation, also of tools that do not exist. */
function nameOf(name: string): string {
  const clean = wellFormed(name)
    .replace(/[^a-zA-Z0-9_-]/gu, '_')
    .slice(0, 128)
  return clean === '' ? 'unnamed' : clean
}

/** Why no call of the reply may run (contract.md, 4: a reply that is not whole never runs a tool), or null. */
function whyIncomplete(
  stopReason: string | null,
  maxTokens: number,
  calls: ToolUseBlock[],
  broken: Array<{ id: string; problem: string }>,
): Incomplete | null {
  if (calls.length === 0) return null
  switch (stopReason) {
    case 'max_tokens':
      return {
        // It says why a call in it is broken, too.
        reason: `Your reply was cut off by the output limit of ${maxTokens} tokens, so none of its tool calls was run. Send them again in smaller parts, for example a large file in several edits.`,
      }
    case 'refusal':
      return { reason: 'Your reply ended in a refusal, so none of its tool calls was run.' }
    default: {
      if (broken.length === 0) return null
      const nameOfCall = (id: string) => calls.find((call) => call.id === id)?.name ?? 'unnamed'
      const named = broken.map(({ id, problem }) => `${nameOfCall(id)} (${id}): ${problem}`)
      return {
        reason: `None of the tool calls of your reply was run, because not all of them arrived intact. ${named.join('; ')}. Send them again with complete JSON objects as input.`,
        broken: broken.map(({ id, problem }) => ({
          id,
          problem: `${nameOfCall(id)} was not run: ${problem}. Send the call again with one complete JSON object as its input.`,
        })),
      }
    }
  }
}

/** @returns the usage a server reported; what it left out is 0 */
export function usageOf(given: Record<string, number> | null): Usage {
  const usage = { ...NO_USAGE }
  for (const name of Object.keys(usage) as Array<keyof Usage>) usage[name] = Math.max(0, given?.[name] ?? 0)
  return usage
}
