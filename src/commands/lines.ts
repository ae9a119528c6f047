/** Long texts as commands show them: their first lines. */
import { isBlank, type ToolResultBlock } from '../machines/messages.ts'
import { count } from '../machines/words.ts'
import { clip, printable } from '../services/text.ts'

/** @returns the first `most` lines, indented and cut to the width in columns, and how many more there are */
export function firstLines(text: string, most: number, columns: number): string[] {
  if (isBlank(text)) return ['  (empty)']
  const lines = text.trimEnd().split(/\r\n?|\n/)
  // A huge line is cut before it is cleaned.
  const cut = (line: string) => clip(printable(line.slice(0, 4 * columns)).replaceAll('\t', '  '), columns - 2)
  const shown = lines.slice(0, most).map((line) => `  ${cut(line)}`.trimEnd())
  const rest = lines.length - shown.length
  return rest > 0 ? [...shown, `  … ${count(rest, 'more line')}`] : shown
}

/** @returns a result as text, an image by its type */
export function contentText(content: ToolResultBlock['content']): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : `[image ${block.source.media_type}]`)).join('\n')
}
