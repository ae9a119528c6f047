/** Tool_use ids that are unique in the whole conversation, as the API demands. Pure. */
import type { ReplyRecord } from './journal.ts'
import type { Message } from './messages.ts'

/**
 * Some servers count their ids anew in each reply. A call whose id was used before gets a suffix; the record is
 * returned as it is where none was.
 */
export function withUniqueIds(record: ReplyRecord, messages: Message[]): ReplyRecord {
  if (!record.content.some(({ type }) => type === 'tool_use')) return record
  const used = new Set<string>()
  for (const { content } of messages) for (const block of content) if (block.type === 'tool_use') used.add(block.id)
  const renamed = new Map<string, string>()
  const content = record.content.map((block) => {
    if (block.type !== 'tool_use') return block
    const id = freeId(block.id, used)
    used.add(id)
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

function freeId(id: string, used: ReadonlySet<string>): string {
  if (!used.has(id)) return id
  for (let n = 2; ; n++) {
    const candidate = `${id}_${n}`
    if (!used.has(candidate)) return candidate
  }
}
