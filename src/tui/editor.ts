/** The line editor: text, cursor, and what keys do to them. Pure; drawing is elsewhere. */
import type { Key } from './keys.ts'
import { graphemes, widthOf } from './wrap.ts'

export interface Editor {
  text: string
  /** UTF-16 units before the cursor; never within a grapheme. */
  cursor: number
  /** What was cut last, for Ctrl-Y. */
  killed: string
}

export const EMPTY_EDITOR: Editor = { text: '', cursor: 0, killed: '' }

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** @returns the editor with `text` in place of all it held, the cursor at the end */
export function withText(editor: Editor, text: string): Editor {
  return { ...editor, text, cursor: text.length }
}

/** Writes at the cursor. */
export function insert(editor: Editor, text: string): Editor {
  const { text: before, cursor } = editor
  return { ...editor, text: before.slice(0, cursor) + text + before.slice(cursor), cursor: cursor + text.length }
}

/** @returns what the key makes of the editor; null where it is none of the editor's keys */
export function edit(editor: Editor, { name, ctrl, alt }: Key): Editor | null {
  const { text, cursor } = editor
  const to = (at: number): Editor => ({ ...editor, cursor: at })
  if (ctrl && !alt) return control(editor, name)
  if (alt) {
    switch (name) {
      case 'b':
      case 'left':
        return to(wordBack(text, cursor))
      case 'f':
      case 'right':
        return to(wordForward(text, cursor))
      case 'd':
        return kill(editor, cursor, wordForward(text, cursor))
      case 'backspace':
        return kill(editor, wordBack(text, cursor), cursor)
      default:
        return null
    }
  }
  switch (name) {
    case 'left':
      return to(back(text, cursor))
    case 'right':
      return to(forward(text, cursor))
    case 'home':
      return to(lineStart(text, cursor))
    case 'end':
      return to(lineEnd(text, cursor))
    case 'backspace':
      return remove(editor, back(text, cursor), cursor)
    case 'delete':
      return remove(editor, cursor, forward(text, cursor))
    default:
      return null
  }
}

function control(editor: Editor, name: string): Editor | null {
  const { text, cursor } = editor
  switch (name) {
    case 'a':
      return { ...editor, cursor: lineStart(text, cursor) }
    case 'e':
      return { ...editor, cursor: lineEnd(text, cursor) }
    case 'b':
      return { ...editor, cursor: back(text, cursor) }
    case 'f':
      return { ...editor, cursor: forward(text, cursor) }
    case 'left':
      return { ...editor, cursor: wordBack(text, cursor) }
    case 'right':
      return { ...editor, cursor: wordForward(text, cursor) }
    case 'h':
      return remove(editor, back(text, cursor), cursor)
    case 'd':
      return text === '' ? null : remove(editor, cursor, forward(text, cursor))
    case 'k': {
      const end = lineEnd(text, cursor)
      return kill(editor, cursor, end === cursor ? forward(text, cursor) : end)
    }
    case 'u':
      return kill(editor, lineStart(text, cursor), cursor)
    case 'w':
    case 'backspace':
      return kill(editor, blankBack(text, cursor), cursor)
    case 'y':
      return insert(editor, editor.killed)
    default:
      return null
  }
}

function remove(editor: Editor, from: number, to: number): Editor {
  return { ...editor, text: editor.text.slice(0, from) + editor.text.slice(to), cursor: from }
}

function kill(editor: Editor, from: number, to: number): Editor {
  return from === to ? editor : { ...remove(editor, from, to), killed: editor.text.slice(from, to) }
}

/** Graphemes are looked for within a line, and in a window of it: a pasted megabyte must not be segmented whole. */
const WINDOW = 200

function back(text: string, cursor: number): number {
  if (cursor === 0) return 0
  const from = Math.max(0, cursor - WINDOW, text.lastIndexOf('\n', cursor - 2) + 1)
  if (text[cursor - 1] === '\n') return cursor - 1
  let last = from
  for (const { index } of segmenter.segment(text.slice(from, cursor))) last = from + index
  return last
}

function forward(text: string, cursor: number): number {
  if (cursor >= text.length) return text.length
  for (const { segment } of segmenter.segment(text.slice(cursor, cursor + WINDOW))) return cursor + segment.length
  return text.length
}

export function lineStart(text: string, cursor: number): number {
  return cursor === 0 ? 0 : text.lastIndexOf('\n', cursor - 1) + 1
}

export function lineEnd(text: string, cursor: number): number {
  const at = text.indexOf('\n', cursor)
  return at < 0 ? text.length : at
}

/** @returns the place in the line above (-1) or below (1) that stands nearest to the cursor; null where there is no line */
export function vertical({ text, cursor }: Editor, step: -1 | 1): number | null {
  const start = lineStart(text, cursor)
  const end = lineEnd(text, cursor)
  if (step < 0 ? start === 0 : end === text.length) return null
  const from = step < 0 ? lineStart(text, start - 1) : end + 1
  let room = widthOf(text.slice(start, cursor))
  let at = from
  for (const grapheme of graphemes(text.slice(from, lineEnd(text, from)))) {
    room -= widthOf(grapheme)
    if (room < 0) break
    at += grapheme.length
  }
  return at
}

const WORD = /[\p{L}\p{N}\p{M}_]/u

function wordBack(text: string, cursor: number): number {
  let at = cursor
  while (at > 0 && !WORD.test(text[at - 1] ?? '')) at--
  while (at > 0 && WORD.test(text[at - 1] ?? '')) at--
  return at
}

function wordForward(text: string, cursor: number): number {
  let at = cursor
  while (at < text.length && !WORD.test(text[at] ?? '')) at++
  while (at < text.length && WORD.test(text[at] ?? '')) at++
  return at
}

function blankBack(text: string, cursor: number): number {
  let at = cursor
  while (at > 0 && /\s/.test(text[at - 1] ?? '')) at--
  while (at > 0 && !/\s/.test(text[at - 1] ?? '')) at--
  return at
}
