/**
 * What the model has loaded or noted and must not lose with the messages it came in: skills it was given, and its
 * todo list. The fold keeps them beside the messages; whatever replaces messages carries them on. Pure.
 */
import { firstUnits, textOfResult } from './cut.ts'
import type { Message, TextBlock, ToolResultBlock, ToolUseBlock } from './messages.ts'

/** `call` is the id of the call whose result has the text; as long as that stands there, nothing needs carrying. */
export interface Carried {
  key: 'todos' | `skill ${string}`
  call: string
  text: string
}

/** UTF-16 units: one skill, and all of them, the latest first. About 5,000 and 25,000 tokens. */
const MOST_OF_ONE = 20_000
const MOST_OF_ALL = 100_000

/** The calls whose results no layer replaces: they are there to be read again. */
export const KEPT_WHOLE: ReadonlySet<string> = new Set(['load_skill'])

/** @returns the list after one more result: a skill or a todo list takes the place of its earlier self, at the end. */
export function noteCarried(carried: Carried[], call: ToolUseBlock, result: ToolResultBlock): Carried[] {
  const key = result.is_error === true ? null : keyOf(call)
  if (key === null) return carried
  const text = textOfResult(result.content)
  const others = carried.filter((one) => one.key !== key)
  const isEmptied = key === 'todos' && Array.isArray(call.input.todos) && call.input.todos.length === 0
  return isEmptied ? others : [...others, { key, call: call.id, text }]
}

function keyOf(call: ToolUseBlock): Carried['key'] | null {
  if (call.name === 'todo_write') return 'todos'
  return call.name === 'load_skill' && typeof call.input.name === 'string' ? `skill ${call.input.name}` : null
}

/** @returns the blocks that bring back what no longer stands in these messages, in the order it came. */
export function carriedBlocks(carried: Carried[], messages: readonly Message[]): TextBlock[] {
  if (carried.length === 0) return []
  const calls = new Set(messages.flatMap(({ content }) => content.flatMap((b) => (b.type === 'tool_use' ? b.id : []))))
  let room = MOST_OF_ALL
  const blocks = carried
    .filter((one) => !calls.has(one.call))
    .reverse()
    .map((one) => {
      const block = blockOf(one, Math.min(room, MOST_OF_ONE))
      room = Math.max(0, room - block.text.length)
      return block
    })
  return blocks.reverse()
}

function blockOf({ key, text }: Carried, room: number): TextBlock {
  if (key === 'todos') return { type: 'text', text: `<todo_list>\n${text}\n</todo_list>\nYour todo list as it stands.` }
  const name = key.slice('skill '.length)
  const shown = firstUnits(text, room)
  const rest = shown.length === text.length ? '' : '\n[The rest is left out here: call load_skill again to have it.]'
  return { type: 'text', text: `<loaded_skill name=${JSON.stringify(name)}>\n${shown}${rest}\n</loaded_skill>` }
}
