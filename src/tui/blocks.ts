/** Small parts of what stands on the screen: a prompt, long text with its middle left out, a result as text. */
import type { Colors } from 'picocolors/types.js'
import type { ToolResultBlock } from '../machines/messages.ts'
import { printable } from '../services/text.ts'
import type { Block } from './screen.ts'
import { wrap } from './wrap.ts'

/**
 * Characters that are seen nowhere: of no width, joiners between ASCII, fillers, and the tags and selectors in which
 * whole sentences can be hidden.
 */
const HIDDEN =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028\u2029\u2060-\u2064\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<=[!-~])[\u200c\u200d]|[\u200c\u200d](?=[!-~])/gu

/** @returns the text, printable, with what is hidden in it in sight too: for what a person is to judge */
export function revealed(text: string): string {
  return printable(text).replace(
    HIDDEN,
    (character) => `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
  )
}

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
