/** The input box: editor, history, completion. */
import type { Colors } from 'picocolors/types.js'
import { printable } from '../services/text.ts'
import { type Candidate, fuzzy, mention, type Wanted, wantedAt } from './completion.ts'
import { type Editor, EMPTY_EDITOR, edit, insert, vertical, withText } from './editor.ts'
import { boxOf, type Menu, menuLines } from './editorView.ts'
import type { History } from './history.ts'
import type { Key } from './keys.ts'
import type { Panel } from './panel.ts'
import { createPastes } from './pastes.ts'
import { createUndo } from './undo.ts'

export interface EditorPanel extends Panel {
  text(): string
  setText(text: string): void
  /** Closes the list of candidates. @returns whether it was open */
  closeMenu(): boolean
}

export interface EditorPanelOptions {
  colors: Colors
  history: () => History
  /** Paths below the working directory; loaded when they are first wanted. */
  files: () => Promise<string[]>
  commands: () => Candidate[]
  submit(text: string): void
  /** Takes back what was sent last and still waits. @returns null where nothing does */
  takeBack(): string | null
  /** Something changed without a key: candidates have come. */
  changed(): void
}

const MENU_ROWS = 8
/** A text that comes back is edited as it is up to this. */
const LARGE = { characters: 20_000, lines: 200 }
/** Rows that are neither the box nor the list: the status, a hint, and one that stays free. */
const OTHER_ROWS = 3

export function createEditorPanel(options: EditorPanelOptions): EditorPanel {
  const { colors } = options
  const pastes = createPastes()
  const undo = createUndo()
  let editor: Editor = EMPTY_EDITOR
  let menu: Menu | null = null
  /** Place in the history, from its end; 0 is what is being typed. */
  let back = 0
  let draft = ''
  /** Where completion was put away by Escape: it stays so until the word is another. */
  let refused: number | null = null

  const change = (next: Editor): void => {
    undo.note(editor, next)
    editor = next
  }
  const set = (next: Editor): void => {
    change(next)
    complete()
  }
  const complete = (): void => {
    const wanted = wantedAt(editor.text, editor.cursor)
    if (wanted === null || wanted.from === refused) {
      if (wanted === null) refused = null
      menu = null
      return
    }
    if (wanted.kind === 'command') {
      const starting = options.commands().filter(({ text }) => text.slice(1).startsWith(wanted.query))
      openMenu(wanted, starting)
      return
    }
    void options.files().then((paths) => {
      const now = wantedAt(editor.text, editor.cursor)
      if (now?.kind !== 'file' || now.from !== wanted.from || now.query !== wanted.query) return
      openMenu(
        wanted,
        fuzzy(wanted.query, paths, MENU_ROWS).map((path) => ({ text: mention(path), about: '' })),
      )
      options.changed()
    })
  }
  const openMenu = (wanted: Wanted, candidates: Candidate[]): void => {
    menu = candidates.length === 0 ? null : { wanted, candidates, selected: 0 }
  }
  const accept = ({ wanted, candidates, selected }: Menu, behind: '' | ' '): void => {
    const chosen = candidates[selected]
    menu = null
    if (chosen === undefined) return
    const before = editor.text.slice(0, wanted.from) + chosen.text
    const after = editor.text.slice(editor.cursor)
    const space = /^\s/.test(after) ? '' : behind
    change({ ...editor, text: before + space + after, cursor: before.length + behind.length })
  }
  const submit = (): void => {
    const text = pastes.expand(editor.text)
    editor = { ...EMPTY_EDITOR, killed: editor.killed }
    menu = null
    back = 0
    pastes.clear()
    undo.clear()
    options.submit(text)
  }
  const recall = (step: number): boolean => {
    const lines = options.history().all()
    const to = back + step
    if (to < 0 || to > lines.length) return false
    if (back === 0) draft = editor.text
    back = to
    change(withText(editor, to === 0 ? draft : clean(lines[lines.length - to] ?? '')))
    menu = null
    return true
  }
  const move = (step: -1 | 1): boolean => {
    const to = vertical(editor, step)
    if (to !== null) {
      editor = pastes.keepWhole(editor, { ...editor, cursor: to })
      return true
    }
    const waiting = step < 0 && editor.text === '' ? options.takeBack() : null
    if (waiting === null) return recall(-step)
    set(withText(editor, fitting(clean(waiting))))
    return true
  }
  /** What comes back may be a long paste in full: each key would lay it out anew. */
  const fitting = (text: string): string => {
    const whole = pastes.expand(text)
    const shown = pastes.take(whole, LARGE)
    return shown === whole ? text : shown
  }
  const takeKey = (key: Key): boolean => {
    const { name, ctrl, alt, shift } = key
    if (menu !== null) {
      const { candidates, selected } = menu
      const isEnter = name === 'enter' && !alt && !shift
      if (name === 'tab' || isEnter) {
        // A file is a part of what is being said; a command is all of it. Tab lets arguments follow.
        const isAll = isEnter && menu.wanted.kind === 'command'
        accept(menu, isAll ? '' : ' ')
        if (isAll) submit()
        return true
      }
      const step = name === 'up' || (ctrl && name === 'p') ? -1 : name === 'down' || (ctrl && name === 'n') ? 1 : 0
      if (step !== 0) {
        menu = { ...menu, selected: (selected + step + candidates.length) % candidates.length }
        return true
      }
    }
    if (name === 'enter') {
      if (alt || shift || ctrl) set(insert(editor, '\n'))
      else if (editor.text[editor.cursor - 1] === '\\')
        set(insert({ ...editor, text: removeBefore(editor), cursor: editor.cursor - 1 }, '\n'))
      else submit()
      return true
    }
    if (name === 'up' || (ctrl && name === 'p')) return move(-1)
    if (name === 'down' || (ctrl && name === 'n')) return move(1)
    if (name === 'tab') return true
    if (ctrl && (name === '_' || name === '/')) {
      editor = undo.back(editor) ?? editor
      complete()
      return true
    }
    const next = edit(editor, key)
    if (next === null) return false
    // Half of the words that stand for a long paste would be sent as they are.
    set(pastes.keepWhole(editor, next))
    return true
  }
  return {
    text: () => editor.text,
    setText: (text) => {
      change(withText(editor, fitting(text)))
      menu = null
    },
    closeMenu() {
      if (menu === null) return false
      refused = menu.wanted.from
      menu = null
      return true
    },
    take(input) {
      if (input.kind === 'key') return takeKey(input)
      set(insert(editor, input.kind === 'paste' ? pastes.take(clean(input.text)) : clean(input.text)))
      return true
    },
    view(columns, rows) {
      const box = boxOf(editor, columns, rows, colors)
      const room = rows - box.lines.length - OTHER_ROWS
      const list = menu === null ? [] : menuLines(menu, columns, Math.max(1, Math.min(MENU_ROWS, room)), colors)
      return { lines: [...box.lines, ...list], cursor: box.cursor }
    },
  }
}

/** What is typed is text: control characters in it are shown as what they are. */
function clean(text: string): string {
  return printable(text)
}

function removeBefore({ text, cursor }: Editor): string {
  return text.slice(0, cursor - 1) + text.slice(cursor)
}
