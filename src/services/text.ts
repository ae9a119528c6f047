/**
 * Text that came from outside (a model, a tool, a file name, an error) made fit to be shown: control characters
 * neutralised, widths counted in terminal columns, long values cut. Pure, so every folder that shows something
 * may use it.
 */
import type { ToolUseBlock } from '../machines/messages.ts'

/**
 * Characters that a terminal acts on or that hide what stands around them: C0 without tab and line feed, DEL, C1,
 * the bidirectional overrides and isolates, lone surrogates. With the `u` flag a whole pair never matches.
 */
const UNSAFE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu

/**
 * Makes text harmless for a terminal, readable still. Each dangerous character becomes a visible one (ESC is shown
 * as ␛), so `ESC[2J` is left as the words `␛[2J`; nothing is dropped, so that nothing can hide. Line ends become
 * `\n`: a lone carriage return would let a line overwrite itself. Half a surrogate pair becomes U+FFFD.
 * @returns the same text where there is nothing to change; never contains ESC, BEL, CR or a C1 character
 */
export function printable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSAFE, visible)
}

function visible(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd'
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

/** `printable` on one line: runs of white space, line ends among them, become one space. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim()
}

export interface Printer {
  /** @returns the harmless form of what can be shown by now. */
  push(chunk: string): string
  /** @returns what was held back for a next chunk that did not come. */
  end(): string
}

/**
 * `printable` for text that comes in chunks: what it prints in all is `printable` of the whole, wherever the
 * chunks were cut. Holds back a carriage return or half a surrogate pair at a chunk's end.
 */
export function createPrinter(): Printer {
  let held = ''
  return {
    push(chunk) {
      const text = held + chunk
      held = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? ''
      return printable(text.slice(0, text.length - held.length))
    },
    end() {
      const rest = printable(held)
      held = ''
      return rest
    },
  }
}

/** Combining marks (variation selectors among them) and joiners: they take no column of their own. */
const NO_WIDTH = /[\p{M}\u200b-\u200f\u2060-\u2064\ufeff]/u
/** East Asian wide and full-width forms, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

function characterWidth(character: string): number {
  if (character < '\u0300') return 1
  if (NO_WIDTH.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

/**
 * @returns how many terminal columns a printable line takes. Joined emoji count each part, as older terminals
 * show them: rather too much than too little, so that a line never wraps.
 */
export function displayWidth(line: string): number {
  let width = 0
  for (const character of line) width += characterWidth(character)
  return width
}

/** Cuts a printable line to at most `columns` columns, with an ellipsis at its end where something is missing. */
export function clip(line: string, columns: number): string {
  if (displayWidth(line) <= columns) return line
  let width = 0
  let kept = ''
  for (const character of line) {
    width += characterWidth(character)
    if (width > columns - 1) break
    kept += character
  }
  return columns < 1 ? '' : `${kept}…`
}

/** Fills a printable line with spaces to `columns` columns; longer ones are cut. */
export function padTo(line: string, columns: number): string {
  const cut = clip(line, columns)
  return cut + ' '.repeat(Math.max(0, columns - displayWidth(cut)))
}

/** The inputs that tell a person what a call is about, in the order in which they read well. */
const TELLING = ['command', 'pattern', 'path', 'name', 'description', 'focus', 'url', 'query']

/**
 * @returns a call's arguments on one printable line, long ones cut: the command, the path, the pattern, or else
 * the input as JSON.
 */
export function describeCall(call: Pick<ToolUseBlock, 'input'>, columns = 200): string {
  const todos = describeTodos(call.input?.todos)
  if (todos !== null) return clip(printableLine(todos), columns)
  const telling = TELLING.flatMap((key) => {
    const value = call.input?.[key]
    return typeof value === 'string' && value !== '' ? [value] : []
  })
  // A huge input is cut before it is cleaned: a whole file may stand in it.
  const whole = telling.length > 0 ? telling.join(' ') : (JSON.stringify(call.input ?? {}) ?? '')
  return clip(printableLine(whole.slice(0, 4 * columns)), columns)
}

/** @returns how far a todo list has got and what is under way; null where there is none */
function describeTodos(todos: unknown): string | null {
  if (!Array.isArray(todos)) return null
  const items = todos as Array<{ content?: unknown; status?: unknown } | null>
  const done = items.filter((item) => item?.status === 'completed').length
  const current = items.find((item) => item?.status === 'in_progress')?.content
  return `${done} of ${items.length} done${typeof current === 'string' ? `: ${current.slice(0, 400)}` : ''}`
}

/** @returns a duration in words: `0.3s`, `12s`, `2m 05s`, `1h 02m`. */
export function duration(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`
}

/** @returns a number of tokens in short: `950`, `12.3k`, `1.2M`. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 999_950) return `${(count / 1_000).toFixed(1)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}
