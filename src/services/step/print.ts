/** A request, or the conversation where no request is next, whole and readable: what `p` prints. */
import type { AssistantBlock, Message, UserBlock } from '../../machines/messages.ts'
import { textOf } from '../../machines/messages.ts'
import type { ModelRequest } from '../ports.ts'
import type { Plan } from '../stepPorts.ts'
import { printable, printableLine } from '../text.ts'

/** @returns the request that the service sends; null for one that sends none */
export function requestIn(plan: Plan): ModelRequest | null {
  return plan.service === 'callModel' || plan.service === 'compact' ? plan.request : null
}

/** @returns printable lines; nothing is cut */
export function requestLines({ model, max_tokens, system, tools, messages }: ModelRequest): string[] {
  return [
    `model: ${printableLine(model)}, at most ${max_tokens} tokens`,
    `tools: ${tools.map(({ name }) => printableLine(name)).join(', ')}`,
    'system:',
    ...indented(system),
    ...messageLines(messages),
  ]
}

/** @returns printable lines; nothing is cut */
export function messageLines(messages: readonly Message[]): string[] {
  return messages.flatMap(({ role, content }) => [`${role}:`, ...content.flatMap(blockLines)])
}

function blockLines(block: UserBlock | AssistantBlock): string[] {
  switch (block.type) {
    case 'text':
      return indented(block.text)
    case 'image':
      return [`  [image ${printableLine(block.source.media_type)}]`]
    case 'thinking':
      return ['  [thinking]', ...indented(block.thinking)]
    case 'redacted_thinking':
      return ['  [thinking that the server keeps to itself]']
    case 'tool_use':
      return [
        `  → ${printableLine(block.name)} (${printableLine(block.id)})`,
        ...indented(JSON.stringify(block.input, null, 2)),
      ]
    case 'tool_result': {
      const text = typeof block.content === 'string' ? block.content : textOf(block.content)
      return [`  ← ${block.is_error ? 'error' : 'result'} (${printableLine(block.tool_use_id)})`, ...indented(text)]
    }
    default:
      return block satisfies never
  }
}

function indented(text: string): string[] {
  return printable(text)
    .split('\n')
    .map((line) => `  | ${line}`)
}
