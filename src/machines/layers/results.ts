/** The two layers that put results on disk: large ones at once, old ones when the model has moved on. Pure. */
import { KEPT_WHOLE } from '../carried.ts'
import type { Conversation, Shown } from '../conversation.ts'
import { imagesOfResult, textOfResult } from '../cut.ts'
import { tokensOfBlocks } from '../estimate.ts'
import type { SavedResult } from '../journal.ts'
import type { Message, ToolResultBlock, UserBlock } from '../messages.ts'
import type { Policy } from './policy.ts'
import { placeholderOf, previewOf } from './words.ts'

/** A result whose whole content must be on disk before it is replaced; `paths` where it is there already. */
export interface Wanted {
  id: string
  content: ToolResultBlock['content']
  paths: string[] | null
}

/** @returns the results that are too long to stand in the conversation, those not yet answered too. */
export function findLarge(c: Conversation, { largeResult }: Policy): Wanted[] {
  const shown = new Set(c.saved.map((one) => one.id))
  return [...settledResults(c.messages), ...unansweredResults(c)].flatMap(({ tool_use_id: id, content }) =>
    textOfResult(content).length > largeResult && !shown.has(id) ? [{ id, content, paths: null }] : [],
  )
}

/**
 * @returns the long results of all but the last rounds. Errors stay, and so do skills: they are read again and again.
 * Only what the model has seen is among them, for the round it has not answered counts as the last.
 */
export function findOld(c: Conversation, { old }: Policy): Wanted[] {
  const saved = new Map(c.saved.map((one) => [one.id, one]))
  const kept = callsOfKeptTools(c.messages)
  let rounds = c.round.length > 0 ? 1 : 0
  const wanted: Wanted[][] = []
  for (let at = c.messages.length - 1; at >= 0; at--) {
    const results = resultsIn(c.messages[at])
    if (results.length === 0) continue
    rounds++
    if (rounds <= old.rounds) continue
    wanted.push(
      results.flatMap(({ tool_use_id: id, content, is_error }) => {
        const known = saved.get(id)
        if (is_error === true || kept.has(id) || known?.shown === 'placeholder') return []
        const isLong = textOfResult(content).length > old.result || imagesOfResult(content).length > 0
        return isLong ? [{ id, content, paths: known?.paths ?? null }] : []
      }),
    )
  }
  return wanted.reverse().flat()
}

function callsOfKeptTools(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>()
  for (const { role, content } of messages) {
    if (role === 'user') continue
    for (const block of content) if (block.type === 'tool_use' && KEPT_WHOLE.has(block.name)) ids.add(block.id)
  }
  return ids
}

function settledResults(messages: readonly Message[]): ToolResultBlock[] {
  return messages.flatMap(resultsIn)
}

/** @returns the tool results in a message, in their order. */
export function resultsIn(message: Message | undefined): ToolResultBlock[] {
  return message?.role === 'user' ? message.content.filter((block) => block.type === 'tool_result') : []
}

function unansweredResults(c: Conversation): ToolResultBlock[] {
  return c.round.flatMap((one) => (one.state === 'finished' ? [one.result] : []))
}

/** @returns the conversation with these results shown as a preview or a placeholder; the others are not touched. */
export function replaceResults(c: Conversation, results: SavedResult[], shown: Shown): Conversation {
  const paths = new Map(results.map((one) => [one.id, one.paths]))
  let freed = 0
  const replaced = (block: ToolResultBlock): ToolResultBlock => {
    const at = paths.get(block.tool_use_id)
    if (at === undefined) return block
    const content = shown === 'preview' ? previewOf(block.content, at) : placeholderOf(block.content, at)
    const next = { ...block, content }
    freed += tokensOfBlocks([block]) - tokensOfBlocks([next])
    return next
  }
  const inBlock = (block: UserBlock): UserBlock => (block.type === 'tool_result' ? replaced(block) : block)
  const messages = c.messages.map((message): Message => {
    const touched = resultsIn(message).some((block) => paths.has(block.tool_use_id))
    return message.role === 'user' && touched ? { role: 'user', content: message.content.map(inBlock) } : message
  })
  const round = c.round.map((one) => (one.state === 'finished' ? { ...one, result: replaced(one.result) } : one))
  const others = c.saved.filter((one) => !paths.has(one.id))
  return {
    ...c,
    messages,
    round,
    saved: [...others, ...results.map((one) => ({ ...one, shown }))],
    weight: { ...c.weight, added: c.weight.added - freed },
  }
}
