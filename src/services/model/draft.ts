/**
 * A reply while it arrives. Both ways a server answers end in the same draft: the events of a stream, or one JSON
 * object. Nothing of a draft is used before it is whole, so half a reply leaves no trace.
 */

/** A content block as the server gave it, not yet trusted. */
export type DraftBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  /** `json` is the streamed text of the input, "" where none came; `input` is what the block itself carried. */
  | { type: 'tool_use'; id: string; name: string; json: string; input: unknown }
  /** Kinds we do not know are left out of the reply. */
  | { type: 'unknown' }

export interface Draft {
  id: string
  model: string
  blocks: DraftBlock[]
  stop_reason: string | null
  /** The usage fields that were numbers; null where the server gave none. */
  usage: Record<string, number> | null
  /** True once `message_stop` came, or the JSON object was complete. */
  whole: boolean
}

type Json = Record<string, unknown>

/** @returns a draft without content. */
export function emptyDraft(): Draft {
  return { id: '', model: '', blocks: [], stop_reason: null, usage: null, whole: false }
}

/**
 * Adds one event of a stream to the draft.
 * @param event the parsed data of a server-sent event; kinds we do not know change nothing
 * @returns the text the event added, for those who watch
 */
export function takeEvent(draft: Draft, event: unknown): string {
  if (!isObject(event)) return ''
  switch (event.type) {
    case 'message_start':
      takeHead(draft, event.message)
      return ''
    case 'content_block_start': {
      const block = draftBlock(event.content_block)
      draft.blocks[blockIndex(draft, event)] = block
      return block.type === 'text' ? block.text : ''
    }
    case 'content_block_delta':
      beginUnannounced(draft, event)
      return takeDelta(draft.blocks[blockIndex(draft, event) - (hasIndex(event) ? 0 : 1)], event.delta)
    case 'message_delta':
      if (isObject(event.delta)) takeStopReason(draft, event.delta)
      takeUsage(draft, event.usage)
      return ''
    case 'message_stop':
      draft.whole = true
      return ''
    default:
      return ''
  }
}

/**
 * Reads a plain JSON answer.
 * @returns the whole draft, or null where the value is no message
 */
export function draftOf(message: unknown): Draft | null {
  if (!isObject(message) || !Array.isArray(message.content)) return null
  if (message.type !== 'message' && message.role !== 'assistant') return null
  const draft = emptyDraft()
  takeHead(draft, message)
  draft.blocks = message.content.map(draftBlock)
  draft.whole = true
  return draft
}

function takeHead(draft: Draft, message: unknown): void {
  if (!isObject(message)) return
  draft.id = stringOr(message.id, '')
  draft.model = stringOr(message.model, '')
  takeStopReason(draft, message)
  takeUsage(draft, message.usage)
}

function takeStopReason(draft: Draft, from: Json): void {
  if (typeof from.stop_reason === 'string') draft.stop_reason = from.stop_reason
}

/** Events say the sums so far, not what was added; a field that is null, missing or 0 says nothing new. */
function takeUsage(draft: Draft, usage: unknown): void {
  if (!isObject(usage)) return
  for (const [name, count] of Object.entries(usage)) {
    if (typeof count !== 'number' || !Number.isFinite(count)) continue
    draft.usage ??= {}
    draft.usage[name] = Math.max(count, draft.usage[name] ?? 0)
  }
}

function draftBlock(block: unknown): DraftBlock {
  if (!isObject(block)) return { type: 'unknown' }
  switch (block.type) {
    case 'text':
      return { type: 'text', text: stringOr(block.text, '') }
    case 'thinking':
      return { type: 'thinking', thinking: stringOr(block.thinking, ''), signature: stringOr(block.signature, '') }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: stringOr(block.data, '') }
    case 'tool_use':
      return {
        type: 'tool_use',
        id: stringOr(block.id, ''),
        name: stringOr(block.name, ''),
        json: '',
        input: block.input,
      }
    default:
      return { type: 'unknown' }
  }
}

/** Some servers stream text without saying first that a block begins. */
function beginUnannounced(draft: Draft, event: Json): void {
  if (!isObject(event.delta) || event.delta.type !== 'text_delta') return
  const at = hasIndex(event) ? Number(event.index) : Math.max(0, draft.blocks.length - 1)
  draft.blocks[at] ??= { type: 'text', text: '' }
}

function takeDelta(block: DraftBlock | undefined, delta: unknown): string {
  if (block === undefined || !isObject(delta)) return ''
  if (block.type === 'text' && delta.type === 'text_delta') {
    const text = stringOr(delta.text, '')
    block.text += text
    return text
  }
  if (block.type === 'tool_use' && delta.type === 'input_json_delta') block.json += stringOr(delta.partial_json, '')
  if (block.type === 'thinking' && delta.type === 'thinking_delta') block.thinking += stringOr(delta.thinking, '')
  if (block.type === 'thinking' && delta.type === 'signature_delta') block.signature += stringOr(delta.signature, '')
  return ''
}

/** Servers that leave the index out mean the block that comes next. */
function blockIndex(draft: Draft, event: Json): number {
  return hasIndex(event) ? Number(event.index) : draft.blocks.length
}

function hasIndex(event: Json): boolean {
  // An index far beyond the blocks there are would make a huge sparse array of them.
  return typeof event.index === 'number' && Number.isInteger(event.index) && event.index >= 0 && event.index < 10_000
}

function stringOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

/** @returns true for what JSON calls an object. */
export function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
