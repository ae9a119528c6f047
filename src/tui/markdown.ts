/** Markdown as lines for a terminal, in colours. The text is printable already. */
import { marked, type Token, type Tokens } from 'marked'
import type { Colors } from 'picocolors/types.js'
import { printable } from '../services/text.ts'
import { highlight } from './highlight.ts'
import { widthOf, wrap } from './wrap.ts'

/** Lists and quotations within each other leave at least so many columns for what stands in them. */
const LEAST_COLUMNS = 12

/** @returns the blocks of the text; those but the last are whole, whatever follows */
export function blocksOf(text: string): Token[] {
  try {
    return marked.lexer(text)
  } catch {
    // Nested deeper than the parser can follow, which it does by calling itself: the text as it is.
    return [{ type: 'text', raw: text, text }]
  }
}

/** @returns the lines of one block, `columns` wide at most */
function renderBlock(token: Token, columns: number, colors: Colors): string[] {
  switch (token.type) {
    case 'space':
      return []
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading
      // One that is underlined with `===` or `---` may have several lines.
      const lines = inline(tokens, colors).split('\n')
      return lines.flatMap((line) => wrap(colors.bold(depth === 1 ? colors.underline(line) : line), columns))
    }
    case 'code': {
      const { text, lang } = token as Tokens.Code
      return highlight(text, lang ?? '', colors).flatMap((line) => wrap(`  ${line}`, columns, '  '))
    }
    case 'blockquote': {
      const { tokens, raw } = token as Tokens.Blockquote
      if (columns < LEAST_COLUMNS) return linesOf(raw.trimEnd(), columns)
      return renderBlocks(tokens, columns - 2, colors).map((line) => `${colors.dim('│')} ${line}`)
    }
    case 'list':
      if (columns < LEAST_COLUMNS) return linesOf(token.raw.trimEnd(), columns)
      return renderList(token as Tokens.List, columns, colors)
    case 'table':
      return renderTable(token as Tokens.Table, columns, colors)
    case 'hr':
      return [colors.dim('─'.repeat(Math.max(1, Math.min(columns, 40))))]
    case 'paragraph':
    case 'text': {
      const { tokens, text } = token as Tokens.Paragraph
      return linesOf(tokens === undefined ? leaf(text) : inline(tokens, colors), columns)
    }
    default:
      return linesOf(token.raw.replace(/\n+$/, ''), columns)
  }
}

/** @returns the blocks with a blank line between them */
export function renderBlocks(tokens: Token[], columns: number, colors: Colors): string[] {
  const parts = tokens.map((token) => renderBlock(token, columns, colors)).filter((lines) => lines.length > 0)
  return parts.flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]))
}

function linesOf(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrap(line, columns))
}

function renderList({ items, ordered, start }: Tokens.List, columns: number, colors: Colors): string[] {
  return items.flatMap((item, i) => {
    const mark = ordered ? `${Number(start || 1) + i}.` : '•'
    const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : ''
    const indent = ' '.repeat(mark.length + 1)
    const parts = item.tokens.flatMap((token) => renderBlock(token, columns - indent.length, colors))
    const lines = parts.length === 0 ? [''] : parts
    return lines.map((line, n) => (n === 0 ? `${colors.dim(mark)} ${box}${line}` : `${indent}${line}`))
  })
}

function renderTable({ header, rows }: Tokens.Table, columns: number, colors: Colors): string[] {
  const cells = [header, ...rows].map((row) => row.map((cell) => inline(cell.tokens, colors).replaceAll('\n', ' ')))
  const widths = header.map((_, column) => cells.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0))
  const whole = widths.reduce((sum, width) => sum + width + 2, 0)
  // Too wide for columns: each row as a list of what its cells are.
  if (whole > columns + 2) {
    const names = cells[0] ?? []
    return cells
      .slice(1)
      .flatMap((row) =>
        row.flatMap((cell, column) =>
          wrap(`${column === 0 ? '• ' : '  '}${colors.bold(names[column] ?? '')}: ${cell}`, columns, '    '),
        ),
      )
  }
  const line = (row: string[]): string =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd()
  const [head = [], ...body] = cells
  return [colors.bold(line(head)), colors.dim(widths.map((width) => '─'.repeat(width)).join('  ')), ...body.map(line)]
}

function inline(tokens: Token[], colors: Colors): string {
  return tokens.map((token) => inlineOne(token, colors)).join('')
}

/** The text that a leaf stands for: `&#27;` in the source of a page is a control character in its text. */
function leaf(text: string): string {
  return printable(text).replaceAll('\t', '    ')
}

function inlineOne(token: Token, colors: Colors): string {
  switch (token.type) {
    case 'strong':
      return colors.bold(inline((token as Tokens.Strong).tokens, colors))
    case 'em':
      return colors.italic(inline((token as Tokens.Em).tokens, colors))
    case 'del':
      return colors.strikethrough(inline((token as Tokens.Del).tokens, colors))
    case 'codespan':
      return colors.cyan(leaf((token as Tokens.Codespan).text))
    case 'br':
      return '\n'
    case 'link': {
      const { text, tokens: inner } = token as Tokens.Link
      const href = leaf((token as Tokens.Link).href)
      const shown = colors.underline(inline(inner, colors))
      return text === href || href === `mailto:${text}` ? shown : `${shown} ${colors.dim(`(${href})`)}`
    }
    case 'image': {
      const { text, href } = token as Tokens.Image
      return `${leaf(text)} ${colors.dim(`(${leaf(href)})`)}`
    }
    case 'escape':
      return leaf((token as Tokens.Escape).text)
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens === undefined ? leaf(text) : inline(tokens, colors)
    }
    default:
      return leaf(token.raw)
  }
}
