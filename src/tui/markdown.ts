/** Markdown as lines for a terminal, in colours. The text is printable already. */
import { marked, type Token, type Tokens } from 'marked'
import type { Colors } from 'picocolors/types.js'
import { highlight } from './highlight.ts'
import { widthOf, wrap } from './wrap.ts'

/** @returns the blocks of the text; those but the last are whole, whatever follows */
export function blocksOf(text: string): Token[] {
  return marked.lexer(text)
}

/** @returns the lines of one block, `columns` wide at most */
function renderBlock(token: Token, columns: number, colors: Colors): string[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return []
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading
      const text = inline(tokens, colors)
      return wrap(colors.bold(depth === 1 ? colors.underline(text) : text), columns)
    }
    case 'code': {
      const { text, lang } = token as Tokens.Code
      return highlight(text, lang ?? '', colors).flatMap((line) => wrap(`  ${line}`, columns, '  '))
    }
    case 'blockquote': {
      const { tokens } = token as Tokens.Blockquote
      return renderBlocks(tokens, columns - 2, colors).map((line) => `${colors.dim('│')} ${line}`)
    }
    case 'list':
      return renderList(token as Tokens.List, columns, colors)
    case 'table':
      return renderTable(token as Tokens.Table, columns, colors)
    case 'hr':
      return [colors.dim('─'.repeat(Math.max(1, Math.min(columns, 40))))]
    case 'paragraph':
    case 'text': {
      const { tokens, text } = token as Tokens.Paragraph
      return linesOf(tokens === undefined ? text : inline(tokens, colors), columns)
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
    const parts = item.tokens.flatMap((token) => renderBlock(token, Math.max(8, columns - indent.length), colors))
    const lines = parts.length === 0 ? [''] : parts
    return lines.map((line, n) => (n === 0 ? `${colors.dim(mark)} ${box}${line}` : `${indent}${line}`))
  })
}

function renderTable({ header, rows }: Tokens.Table, columns: number, colors: Colors): string[] {
  const cells = [header, ...rows].map((row) => row.map((cell) => inline(cell.tokens, colors)))
  const widths = header.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))))
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

function inlineOne(token: Token, colors: Colors): string {
  switch (token.type) {
    case 'strong':
      return colors.bold(inline((token as Tokens.Strong).tokens, colors))
    case 'em':
      return colors.italic(inline((token as Tokens.Em).tokens, colors))
    case 'del':
      return colors.strikethrough(inline((token as Tokens.Del).tokens, colors))
    case 'codespan':
      return colors.cyan((token as Tokens.Codespan).text)
    case 'br':
      return '\n'
    case 'link': {
      const { text, href, tokens: inner } = token as Tokens.Link
      const shown = colors.underline(inline(inner, colors))
      return text === href || href === `mailto:${text}` ? shown : `${shown} ${colors.dim(`(${href})`)}`
    }
    case 'image': {
      const { text, href } = token as Tokens.Image
      return `${text} ${colors.dim(`(${href})`)}`
    }
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens === undefined ? text : inline(tokens, colors)
    }
    default:
      return token.raw
  }
}
