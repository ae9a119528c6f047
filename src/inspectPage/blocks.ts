/** Messages as a person reads them. */
import type { AssistantBlock, Message, UserBlock } from '../machines/messages.ts'
import { button, h } from './dom.ts'
import { many, number } from './format.ts'

/** Longer texts are folded, in lines and characters. */
const LONG = { lines: 24, units: 4000 }
/** What of a folded text is in sight. */
const SHOWN = { lines: 14, units: 2000 }

export function blocksOf({ content }: Message): HTMLElement[] {
  return (content as Array<UserBlock | AssistantBlock>).map((block) => {
    const element = blockOf(block)
    if ('cache_control' in block && block.cache_control !== undefined) {
      const mark = h('div', 'cache-mark', 'cached up to here')
      mark.title = 'This block carries cache_control: the server keeps everything before it.'
      element.append(mark)
    }
    return element
  })
}

function blockOf(block: UserBlock | AssistantBlock): HTMLElement {
  switch (block.type) {
    case 'text':
      return h('div', 'block text', longText(block.text))
    case 'image':
      return imageOf(block.source)
    case 'thinking':
      return h('div', 'block thinking', h('span', 'label', 'thinking'), longText(block.thinking))
    case 'redacted_thinking':
      return h('div', 'block thinking', h('span', 'label', 'thinking that only the server can read'))
    case 'tool_use':
      return h('div', 'block call', h('span', 'label', block.name), h('span', 'id', block.id), ...inputOf(block.input))
    case 'tool_result': {
      const { content } = block
      const label = h('span', 'label', block.is_error ? 'error' : 'result')
      const parts =
        typeof content === 'string'
          ? [longText(content)]
          : content.map((one) => (one.type === 'text' ? longText(one.text) : imageOf(one.source)))
      return h(
        'div',
        `block result${block.is_error ? ' bad' : ''}`,
        label,
        h('span', 'id', block.tool_use_id),
        ...parts,
      )
    }
    default:
      return block satisfies never
  }
}

function inputOf(input: Record<string, unknown>): HTMLElement[] {
  return Object.entries(input).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
    return h('div', 'argument', h('span', 'key', name), longText(text))
  })
}

function imageOf({ media_type, data }: { media_type: string; data: string }): HTMLElement {
  if (data === '') return h('div', 'block text', h('span', 'label', `image (${media_type})`))
  const image = h('img', '')
  image.src = `data:${media_type};base64,${data}`
  image.alt = `image (${media_type})`
  return h('div', 'block image', image)
}

/** A text as it is, folded where it is long. */
export function longText(text: string): HTMLElement {
  const lines = text.split('\n')
  if (lines.length <= LONG.lines && text.length <= LONG.units) return h('pre', 'content', text)
  const short = lines.slice(0, SHOWN.lines).join('\n').slice(0, SHOWN.units)
  const pre = h('pre', 'content', short)
  const what = lines.length > LONG.lines ? many(lines.length, 'line') : `${number(text.length)} characters`
  const more = button('more', `Show all ${what}`, () => {
    const isShort = pre.textContent === short
    pre.textContent = isShort ? text : short
    more.textContent = isShort ? 'Show less' : `Show all ${what}`
  })
  return h('div', 'long', pre, more)
}
