/** Runs the built command line as a process, the way a user does. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { RunResult } from '../../src/services/ports.ts'
import { filesWithKey, holdsKey, TEST_KEY } from './noKey.ts'

/** The built agent; another build than dist/ where the variable names one. */
export const CLI = process.env.AGENT_TEST_CLI ?? join(import.meta.dirname, '../../dist/cli.js')

export { TEST_KEY }

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  /** Address of the model; without one there is none to reach. */
  url?: string
  home: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** What is piped to stdin; null (the default) closes it. */
  stdin?: string | Buffer | null
}

/** @returns a new directory under its real path, removed after the test, which fails if the key was written there */
export function temporaryDirectory(name = 'stepwright-test-'): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), name)))
  onTestFinished(() => {
    const leaks = filesWithKey(directory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
    if (leaks.length > 0) throw new Error(`The key was written to ${leaks.join(', ')}.`)
  })
  return directory
}

/** @returns the environment of a run: nothing of the caller's that the agent reads */
export function agentEnv({ url, home, env }: RunOptions): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    AGENT_HOME: join(home, '.agent'),
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(tmpdir(), 'stepwright-test-cache'),
    LANG: 'C.UTF-8',
    AGENT_RETRY_MS: '2000',
    ...(url !== undefined && { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: TEST_KEY }),
    ...env,
  }
}

/** Starts the agent and leaves it to the test. */
export function startAgent(args: string[], options: RunOptions): ChildProcess {
  return spawn(process.execPath, [CLI, ...args], {
    cwd: options.cwd ?? options.home,
    env: agentEnv(options),
    stdio: [options.stdin == null ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
}

/** @returns what a started agent ended with; rejects where it printed the key */
export async function ended(child: ChildProcess): Promise<Ended> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const [stdout, stderr] = [Buffer.concat(out).toString('utf8'), Buffer.concat(err).toString('utf8')]
      if (holdsKey(stdout) || holdsKey(stderr)) reject(new Error(`The key was printed: ${stdout}${stderr}`))
      else resolve({ code, signal, stdout, stderr })
    })
  })
}

/** Runs the agent to its end. */
export async function runAgent(args: string[], options: RunOptions): Promise<Ended> {
  const child = startAgent(args, options)
  const end = ended(child)
  if (options.stdin != null) {
    child.stdin?.on('error', () => {})
    child.stdin?.end(options.stdin)
  }
  return end
}

/** @returns the one JSON document that stdout must be */
export function resultOf(end: Ended): RunResult {
  return JSON.parse(end.stdout) as RunResult
}
