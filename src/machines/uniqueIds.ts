/** Tool_use ids that are unique in the whole conversation and of the API's alphabet, as it demands. Pure. */
import type { ReplyRecord } from './journal.ts'
import type { Message } from './messages.ts'

/**
 * Some servers count their ids anew in each reply, or leave them empty.
 * @param messages the conversation so far
 * @returns what gives each id of the next reply, in order, as it may stand: as it came where it can
 */
export function idMaker(messages: readonly Message[]): (given: string) => string {
  const used = new Set<string>()
  for (const { content } of messages) for (const block of content) if (block.type === 'tool_use') used.add(block.id)
  return (given) => {
    const clean = given.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 200) || 'call'
    let id = clean
    for (let n = 2; used.has(id); n++) id = `${clean}_${n}`
    used.add(id)
    return id
  }
}

/** A reply with such ids; the record is returned as it is where it has them. */
export function withUniqueIds(record: ReplyRecord, messages: readonly Message[]): ReplyRecord {
  if (!record.content.some(({ type }) => type === 'tool_use')) return record
  const make = idMaker(messages)
  const renamed = new Map<string, string>()
  const content = record.content.map((block) => {
    if (block.type !== 'tool_use') return block
    const id = make(block.id)
    if (id === block.id) return block
    renamed.set(block.id, id)
    return { ...block, id }
  })
  if (renamed.size === 0) return record
  const broken = record.incomplete?.broken?.map((one) => ({ ...one, id: renamed.get(one.id) ?? one.id }))
  return {
    ...record,
    content,
    ...(record.incomplete && { incomplete: { ...record.incomplete, ...(broken && { broken }) } }),
  }
}
