/**
 * The terminal as a device: raw mode and the modes beside it, and that all of them are taken back however the
 * conversation ends: in order, by a signal, suspended (Ctrl-Z), or killed with -9.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { ReadStream, WriteStream } from 'node:tty'
import { createKeyReader, type Input } from './keys.ts'

/** Bracketed paste; kitty's keyboard protocol, level 1: Shift-Enter and Escape can be told apart. */
const ENTER = '\x1b[?2004h\x1b[>1u'
const LEAVE = '\x1b[?2026l\x1b[?7h\x1b[<u\x1b[?2004l\x1b[?25h\x1b[0m'

/** What comes so soon after the terminal was taken was typed before. */
const EARLY_MS = 100

export interface Terminal {
  write(text: string): void
  columns(): number
  rows(): number
  /** Gives the terminal back as it was; `begin` takes it again. */
  end(): void
  begin(): void
  /** Ends for good. */
  close(): void
}

export interface TerminalOptions {
  stdin: ReadStream
  stdout: WriteStream
  onInput(input: Input): void
  onResize(): void
  /** The terminal is gone. */
  onClosed(): void
}

export function openTerminal({ stdin, stdout, onInput, onResize, onClosed }: TerminalOptions): Terminal {
  const reader = createKeyReader()
  let timer: NodeJS.Timeout | null = null
  let guard: ChildProcess | null = null
  let open = false
  let begun = 0

  const take = (inputs: Input[]): void => {
    for (const input of inputs) onInput(input)
  }
  const onData = (chunk: string): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    // What was typed before the terminal was ours has its Enter as a line end.
    const isEarly = performance.now() - begun < EARLY_MS
    take(reader.push(isEarly ? chunk.replaceAll('\n', '\r') : chunk))
    const wait = reader.waits()
    if (wait > 0) timer = setTimeout(() => take(reader.flush()), wait)
  }
  const write = (text: string): void => {
    if (stdout.writable) stdout.write(text)
  }
  const begin = (): void => {
    if (open) return
    open = true
    begun = performance.now()
    stdin.setRawMode(true)
    write(ENTER)
    stdin.resume()
  }
  const end = (): void => {
    if (!open) return
    open = false
    write(LEAVE)
    try {
      stdin.setRawMode(false)
    } catch {
      // The terminal is gone.
    }
    stdin.pause()
  }
  stdin.setEncoding('utf8')
  stdin.on('data', onData)
  stdin.on('end', onClosed)
  stdin.on('error', onClosed)
  stdout.on('error', onClosed)
  stdout.on('resize', onResize)
  begin()
  // However the process ends, an error of ours included.
  process.on('exit', end)
  // Not before the prompt stands: it takes some milliseconds.
  setTimeout(() => {
    if (open) guard = startGuard()
  }, 300).unref()
  return {
    write,
    columns: () => Math.max(1, stdout.columns || 80),
    rows: () => Math.max(2, stdout.rows || 24),
    begin,
    end,
    close() {
      end()
      stdin.removeListener('data', onData)
      stdout.removeListener('resize', onResize)
      guard?.stdin?.end('done\n')
      guard?.unref()
    },
  }
}

/**
 * A shell that waits for this process to end. Where it ended without a word (kill -9), the terminal is given back,
 * if it still is as we left it: whoever reads from it now may have set modes of its own.
 */
const GUARD = `read -r word
[ "$word" = done ] && exit
printf '${LEAVE.replaceAll('\x1b', '\\033')}\\033[J' >&3
sleep 0.1
case "$(stty -a <&3)" in *-isig*) stty brkint icrnl ixon echo icanon iexten isig <&3 ;; esac
printf '\\r\\n' >&3`

function startGuard(): ChildProcess | null {
  if (process.platform === 'win32') return null
  // A process group of its own: a signal to ours, Ctrl-Z among them, does not reach it.
  const child = spawn('/bin/sh', ['-c', GUARD], { detached: true, stdio: ['pipe', 'ignore', 'ignore', 1] })
  child.on('error', () => {})
  child.stdin?.on('error', () => {})
  ;(child.stdin as { unref?: () => void } | null)?.unref?.()
  child.unref()
  return child
}
