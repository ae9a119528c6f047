/** The agent at a terminal: `script` (of util-linux) puts a pty around it. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import { agentEnv, CLI, type RunOptions } from './agent.ts'
import { holdsKey } from './noKey.ts'

/** Whether there is the program that the terminal is made with. */
export const HAS_TERMINAL = process.platform === 'linux' && existsSync('/usr/bin/script')

export interface Terminal {
  /** All that came so far, raw. */
  seen(): string
  /** Waits until the text has come, after what was waited for before. */
  until(text: string): Promise<void>
  /** Types, as a person does. */
  type(text: string): void
  /** Waits for the end. @returns the exit code */
  end(): Promise<number | null>
}

/** Starts the agent on a pty. */
export function atTerminal(args: string[], options: RunOptions): Terminal {
  const quoted = [process.execPath, CLI, ...args].map((part) => `'${part.replaceAll("'", "'\\''")}'`).join(' ')
  const child = spawn('script', ['-qefc', `stty -echo; exec ${quoted}`, '/dev/null'], {
    cwd: options.cwd ?? options.home,
    env: { ...agentEnv(options), TERM: 'xterm', SHELL: '/bin/bash' },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  onTestFinished(() => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  let output = ''
  let from = 0
  let check = (): void => {}
  child.stdin.on('error', () => {})
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
    check()
  })
  const ended = new Promise<number | null>((resolve, reject) =>
    child.once('close', (code) => {
      if (holdsKey(output)) reject(new Error(`The key was printed: ${output}`))
      else resolve(code)
    }),
  )
  return {
    seen: () => output,
    type: (text) => child.stdin.write(text),
    end: () => ended,
    until: (text) =>
      new Promise((resolve, reject) => {
        check = () => {
          const at = output.indexOf(text, from)
          if (at < 0) return
          from = at + text.length
          resolve()
        }
        void ended.then(() => reject(new Error(`The agent ended without ${JSON.stringify(text)}: ${output}`)))
        check()
      }),
  }
}
