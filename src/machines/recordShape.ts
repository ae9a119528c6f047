/** Whether a record read back has what the fold takes from it: a damaged one must not end a run. Pure. */
import type { JournalRecord } from './journal.ts'

type Kind = 'string' | 'number' | 'object' | 'objects' | 'strings' | 'text or null' | 'text or objects'

/** The fields that must be there, by type. */
const SHAPES: Record<JournalRecord['type'], Record<string, Kind>> = {
  opened: { session_id: 'string', cwd: 'string', model: 'string' },
  prompt: { text: 'string', blocks: 'objects', cwd: 'string', limits: 'object' },
  resumed: { cwd: 'string', limits: 'object' },
  context: { hash: 'string', model: 'string', system: 'string', tools: 'objects' },
  reply: { content: 'objects', stop_reason: 'text or null', usage: 'object', ms: 'number' },
  toolStarted: { id: 'string' },
  toolFinished: { id: 'string', content: 'text or objects', ms: 'number' },
  callFailed: { reason: 'string', message: 'string', ms: 'number' },
  trimmed: { done: 'objects' },
  compacted: { trigger: 'string', summary: 'string', kept: 'number', usage: 'object', ms: 'number' },
  compactionFailed: { trigger: 'string', message: 'string', usage: 'object', ms: 'number' },
  recalled: { memories: 'objects', calls: 'objects' },
  remembered: { files: 'strings', calls: 'objects' },
  interrupted: { reason: 'string' },
  fault: { service: 'string', message: 'string' },
  turnEnded: { status: 'string', subtype: 'string' },
}

/** As lists: a long session has thousands of records to look at before its first request. */
const FIELDS = Object.fromEntries(
  Object.entries(SHAPES).map(([type, fields]) => [type, Object.entries(fields)]),
) as Record<JournalRecord['type'], Array<[name: string, kind: Kind]>>

/** @returns the name of the first field that is missing or of another kind; null where the record is whole */
export function brokenField(record: JournalRecord): string | null {
  const fields = record as unknown as Record<string, unknown>
  for (const [name, kind] of FIELDS[record.type]) if (!isOfKind(fields[name], kind)) return name
  return null
}

function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'string':
    case 'number':
      return typeof value === kind
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'objects':
      return Array.isArray(value) && value.every((one) => isOfKind(one, 'object'))
    case 'strings':
      return Array.isArray(value) && value.every((one) => typeof one === 'string')
    case 'text or null':
      return typeof value === 'string' || value === null
    case 'text or objects':
      return typeof value === 'string' || isOfKind(value, 'objects')
  }
}
