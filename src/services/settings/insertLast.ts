/** A last item more in a list of a text that people keep by hand: every comment stays with what it speaks of. */
import { createScanner, type Node, type SyntaxKind } from 'jsonc-parser'

// The library's enumeration exists for the compiler only.
const COMMA: SyntaxKind.CommaToken = 5
const LINE_COMMENT: SyntaxKind.LineCommentTrivia = 12
const BLOCK_COMMENT: SyntaxKind.BlockCommentTrivia = 13
const LINE_BREAK: SyntaxKind.LineBreakTrivia = 14
const BLANK: SyntaxKind.Trivia = 15

/** Where the new item is to be written: on a line of its own, begun by line end and indentation, or on the last one's. */
export type Layout = { kind: 'ownLine'; newLine: string } | { kind: 'sameLine' }

/**
 * Inserts an item after the last one of an array or object, in its layout, with a comma at its end where that had one.
 * @param last the last item's node in `text`
 * @param render the item, for a layout
 */
export function insertLast(text: string, last: Node, render: (layout: Layout) => string): string {
  const lastEnd = last.offset + last.length
  const { comma, lineEnd } = whatFollows(text, lastEnd)
  const layout = layoutOf(text, last)
  const gap = layout.kind === 'ownLine' ? layout.newLine : ' '
  const item = `${gap}${render(layout)}${comma === null ? '' : ','}`
  const at = layout.kind === 'ownLine' ? lineEnd : (comma ?? lastEnd)
  const between = `${comma === null ? ',' : ''}${text.slice(lastEnd, at)}`
  return text.slice(0, lastEnd) + between + item + text.slice(at)
}

/** @returns the line end that the text uses */
export function lineEndOf(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function layoutOf(text: string, { offset }: Node): Layout {
  const before = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  if (!/^[ \t]*$/.test(before)) return { kind: 'sameLine' }
  return { kind: 'ownLine', newLine: lineEndOf(text) + before }
}

/**
 * @returns where the comma after an item ends, null where it has none; and where what belongs to the item ends: its
 *   comma, and the comments on the line
 */
function whatFollows(text: string, from: number): { comma: number | null; lineEnd: number } {
  const scanner = createScanner(text, false)
  scanner.setPosition(from)
  let comma: number | null = null
  let lineEnd = from
  let isOnLine = true
  for (;;) {
    const token = scanner.scan()
    const end = scanner.getTokenOffset() + scanner.getTokenLength()
    if (token === COMMA) {
      comma = end
      isOnLine = true
    } else if (token === LINE_BREAK) isOnLine = false
    else if (token !== LINE_COMMENT && token !== BLOCK_COMMENT && token !== BLANK) return { comma, lineEnd }
    if (isOnLine && token !== BLANK) lineEnd = end
  }
}
