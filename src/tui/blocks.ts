/** Small parts of what stands on the screen: a prompt, long text with its middle left out, a result as text. */
import type { Colors } from 'picocolors/types.js'
import type { ToolResultBlock } from '../machines/messages.ts'
import { printable } from '../services/text.ts'
import type { Block } from './screen.ts'
import { wrap } from './wrap.ts'

export const blank: Block = () => ['']

/** @returns what a tool gave back, as text; images in words */
export function textOfResult({ content }: Pick<ToolResultBlock, 'content'>): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : '[image]')).join('\n')
}

/** Rows of a text that are shown where it is not asked for whole. */
const FOLD = { head: 30, tail: 8 }

/** @returns long text with its middle left out, and a line that says so */
export function folded(text: string, colors: Colors, { head, tail } = FOLD): string[] {
  const lines = printable(text)
    .split('\n')
    .map((one) => (one.length > 4_000 ? `${one.slice(0, 2_000)} … (${one.length - 2_000} more characters)` : one))
  const left = lines.length - head - tail
  if (left <= 1) return lines
  return [...lines.slice(0, head), colors.dim(`… ${left} lines folded …`), ...lines.slice(-tail)]
}

/** @returns a person's words as they are shown once they are sent */
export function promptBlock(text: string, colors: Colors): Block {
  return (columns) => {
    const lines = folded(text, colors).flatMap((line) => wrap(line, columns - 2))
    return ['', ...lines.map((line, i) => `${colors.bold(colors.cyan(i === 0 ? '>' : ' '))} ${colors.bold(line)}`), '']
  }
}
