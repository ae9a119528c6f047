/** The terminal with what stands on it: finished blocks above, the live region below, panels that get the keys. */
import type { ReadStream, WriteStream } from 'node:tty'
import type { Colors } from 'picocolors/types.js'
import type { Answer } from './answer.ts'
import type { Input } from './keys.ts'
import { createLive } from './live.ts'
import type { Panel } from './panel.ts'
import { type Block, createScreen } from './screen.ts'
import { openTerminal } from './terminal.ts'
import { wrap } from './wrap.ts'

export interface Stage {
  columns(): number
  print(...blocks: Block[]): void
  /** Sentences to the person; printable, colours allowed. */
  tell(text: string): void
  /** Puts a panel in the editor's place. @returns takes it away */
  open(panel: Panel): () => void
  /** The panel that gets the keys. */
  panel(): Panel
  /** A short word beside the status, gone with the next key. */
  hint(text: string): void
  now(): void
  soon(): void
  /** Writes the screen again, whatever stands there. */
  redraw(): void
  /** Empties the screen, the scrollback stays. */
  wipe(): void
  /** Milliseconds since the last key. */
  quiet(): number
  /** Gives the terminal to the shell until it is wanted again (Ctrl-Z). */
  suspend(): void
  /** Gives the terminal back for good. */
  close(): void
}

export interface StageOptions {
  stdin: ReadStream
  stdout: WriteStream
  colors: Colors
  editor: () => Panel
  answer: () => Answer
  queue: () => readonly string[]
  status: (columns: number) => string
  onInput(input: Input): void
  onClosed(): void
}

/** A size that changes with the mouse changes many times a second. */
const RESIZE_MS = 40
/** A process that could not be stopped takes the terminal again. */
const SUSPEND_MS = 60

export function createStage(options: StageOptions): Stage {
  const panels: Panel[] = []
  let hint = ''
  let lastInput = Number.NEGATIVE_INFINITY
  let resizing: NodeJS.Timeout | null = null
  /** Blocks that came while the size was changing. */
  let waiting: Block[] = []
  let away = false
  let closed = false

  const terminal = openTerminal({
    stdin: options.stdin,
    stdout: options.stdout,
    onInput(input) {
      lastInput = performance.now()
      hint = ''
      options.onInput(input)
    },
    onResize() {
      if (resizing !== null) clearTimeout(resizing)
      resizing = setTimeout(() => {
        resizing = null
        if (away || closed) return
        screen.resized()
        const blocks = waiting
        waiting = []
        screen.print(...blocks)
        live.now()
      }, RESIZE_MS)
    },
    onClosed: options.onClosed,
  })
  const { write, columns, rows } = terminal
  const screen = createScreen({ write, columns, rows, live: () => live.frame() })
  const panel = (): Panel => panels.at(-1) ?? options.editor()
  const live = createLive({
    screen,
    colors: options.colors,
    answer: options.answer,
    panel,
    queue: options.queue,
    status: options.status,
    hint: () => hint,
  })
  const canDraw = (): boolean => resizing === null && !away && !closed
  const print = (...blocks: Block[]): void => {
    if (closed) return
    if (canDraw()) screen.print(...blocks)
    else waiting.push(...blocks)
  }
  const now = (): void => {
    if (canDraw()) live.now()
  }
  const back = (): void => {
    if (!away || closed) return
    away = false
    terminal.begin()
    const blocks = waiting
    waiting = []
    screen.print(...blocks)
    live.now()
  }
  process.on('SIGCONT', () =>
    setTimeout(() => {
      if (closed || away) return back()
      // Stopped by someone else, with the terminal as it was: the shell has set its own modes meanwhile.
      terminal.end()
      terminal.begin()
      screen.redraw()
      live.now()
    }, 1),
  )
  return {
    columns: () => screen.columns(),
    print,
    tell: (text) => print((columns) => text.split('\n').flatMap((line) => wrap(line, columns))),
    open(shown) {
      panels.push(shown)
      now()
      return () => {
        const at = panels.indexOf(shown)
        if (at >= 0) panels.splice(at, 1)
        now()
      }
    },
    panel,
    hint(text) {
      hint = text
      now()
    },
    now,
    soon() {
      if (canDraw()) live.soon()
    },
    redraw() {
      if (!canDraw()) return
      screen.redraw()
      live.now()
    },
    wipe() {
      if (!canDraw()) return
      screen.wipe()
      live.now()
    },
    quiet: () => performance.now() - lastInput,
    suspend() {
      if (process.platform === 'win32') return
      live.stop()
      screen.clear()
      terminal.end()
      away = true
      process.kill(0, 'SIGTSTP')
      setTimeout(back, SUSPEND_MS)
    },
    close() {
      if (closed) return
      closed = true
      live.stop()
      if (!away) screen.clear()
      terminal.close()
    },
  }
}
