/** A terminal that a test can look at: the agent in a window of tmux, with a server of its own. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { agentEnv, CLI, type RunOptions, temporaryDirectory } from '../support/agent.ts'

const run = promisify(execFile)

export interface Size {
  columns: number
  rows: number
}

export interface Screen {
  /** Types text as it is. */
  type(text: string): Promise<void>
  /** Pastes text, as the terminal does where the program knows pastes. */
  paste(text: string): Promise<void>
  /** Presses keys by tmux's names: `Enter`, `Escape`, `C-c`, `Up`. */
  press(...keys: string[]): Promise<void>
  /** What stands on the screen, without colours. */
  shown(): Promise<string>
  /** The same with what has scrolled off it. */
  all(): Promise<string>
  /** The screen with its colours, as escape sequences. */
  coloured(): Promise<string>
  /** Waits until the screen shows this and stands still. @returns the screen */
  until(what: string | RegExp): Promise<string>
  /** Waits until the screen shows it, moving or not. */
  sees(what: string | RegExp): Promise<string>
  resize(size: Size): Promise<void>
  /** The process id of what the window's shell runs. */
  pid(): Promise<number>
  /** Closes the window as a person does who closes the terminal. */
  close(): Promise<void>
}

export interface ScreenOptions extends RunOptions, Size {
  /** Arguments of the agent. */
  args?: string[]
  /** A script around the agent, with what it does afterwards; by default an interactive shell runs the agent itself. */
  through?: { shell: string; after: string }
  /** What TERM says; by default a terminal that can what it should. */
  terminal?: string
}

const PATIENCE_MS = 20_000

/** Opens a window with a shell in it, and starts the agent there. */
export async function openScreen(options: ScreenOptions): Promise<Screen> {
  const directory = temporaryDirectory('stepwright-tmux-')
  const socket = join(directory, 's')
  const env = { ...process.env, TMUX: undefined, TERM: 'xterm-256color', LANG: 'C.UTF-8' }
  const tmux = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('tmux', ['-u', '-S', socket, '-f', '/dev/null', ...args], { env, maxBuffer: 1 << 26 })
    return stdout
  }
  onTestFinished(async () => {
    const parent = (await tmux('list-panes', '-F', '#{pane_pid}').catch(() => '')).trim()
    const children = parent === '' ? [] : await childrenOf(parent)
    await tmux('kill-server').catch(() => '')
    // It writes to the end; its directories are removed next.
    for (const pid of [...children, Number(parent)]) if (pid > 0) await gone(pid)
  })
  const variables = Object.entries({ ...agentEnv(options), PS1: '$ ', HISTFILE: '/dev/null' }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`${name}=${value}`]),
  )
  const shell = [
    'env',
    '-i',
    ...variables,
    `TERM=${options.terminal ?? 'screen'}`,
    'bash',
    '--norc',
    '--noprofile',
    '-i',
  ]
  const size = ['-x', String(options.columns), '-y', String(options.rows)]
  const start = ['new-session', '-d', ...size, '-c', options.cwd ?? options.home, ...shell]
  await tmux(...start, ';', 'set', '-g', 'escape-time', '5', ';', 'set', '-g', 'history-limit', '20000')

  const type = async (text: string): Promise<void> => {
    await tmux('send-keys', '-l', '--', text)
  }
  const press = async (...keys: string[]): Promise<void> => {
    await tmux('send-keys', ...keys)
  }
  const shown = async (): Promise<string> => trimmed(await tmux('capture-pane', '-p'))
  const matches = (text: string, what: string | RegExp): boolean =>
    typeof what === 'string' ? text.includes(what) : what.test(text)
  const wait = async (what: string | RegExp, isStill: boolean): Promise<string> => {
    const end = performance.now() + PATIENCE_MS
    let last = ''
    for (;;) {
      const now = await shown()
      if (matches(now, what) && (!isStill || now === last)) return now
      if (performance.now() > end) throw new Error(`The screen never showed ${String(what)}:\n${now}`)
      last = now
      await new Promise((resolve) => setTimeout(resolve, isStill ? 120 : 20))
    }
  }
  await wait('$', false)
  const words = [process.execPath, CLI, ...(options.args ?? [])].map((word) => `'${word}'`).join(' ')
  const { through } = options
  if (through !== undefined) writeFileSync(join(directory, 'script'), `${words}\n${through.after}\n`)
  await type(`clear; ${through === undefined ? words : `${through.shell} ${join(directory, 'script')}`}`)
  await press('Enter')
  return {
    type,
    async paste(text) {
      await tmux('set-buffer', '--', text, ';', 'paste-buffer', '-p')
    },
    press,
    shown,
    // Without the line that started it, which names this machine's directories.
    all: async () => withoutStart(trimmed(await tmux('capture-pane', '-p', '-J', '-S', '-'))),
    coloured: () => tmux('capture-pane', '-p', '-e'),
    until: (what) => wait(what, true),
    sees: (what) => wait(what, false),
    resize: async ({ columns, rows }) => {
      await tmux('resize-window', '-x', String(columns), '-y', String(rows))
    },
    async pid() {
      const parent = (await tmux('list-panes', '-F', '#{pane_pid}')).trim()
      return (await childrenOf(parent))[0] ?? 0
    },
    close: async () => {
      await tmux('kill-pane').catch(() => '')
    },
  }
}

/** @returns the process ids of the children of a process */
export async function childrenOf(pid: string | number): Promise<number[]> {
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch(() => ({ stdout: '' }))
  return stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
}

/** Waits until a process has ended. */
export async function gone(pid: number): Promise<void> {
  for (let n = 0; n < 400; n++) {
    const { stdout } = await run('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
    if (stdout.trim() === '' || stdout.startsWith('Z')) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error(`Process ${pid} did not end.`)
}

function withoutStart(screen: string): string {
  return screen.replace(/^\$ clear; .*\n+/, '')
}

function trimmed(screen: string): string {
  return screen
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()
}

/** @returns the screen with what differs from run to run made the same: times, ids, directories, the turning mark */
export function steady(screen: string, names: Record<string, string>): string {
  const named = Object.entries(names).reduce((text, [path, name]) => text.replaceAll(path, name), screen)
  return `${named
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<session>')
    .replace(/(·|session) [0-9a-f]{8}$/gm, '$1 <id>')
    .replace(/\/resume [0-9a-f]{8} goes/g, '/resume <id> goes')
    .replace(/^([0-9a-f]{8})(?= {2}(?:now|\d+[mhd] ago))/gm, '<id>    ')
    .replace(/^([› ] )[0-9a-f]{8}(?= {2})/gm, '$1<id>    ')
    .replace(/\b\d+\.\ds\b/g, '0.0s')
    .replace(/^[-\\|/] (?=\S)/gm, '* ')}\n`
}
