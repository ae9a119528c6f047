/** Helpers for tests of shell commands: the tool in a directory of its own, an agent as a process, processes by mark. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { ToolEnv, ToolResult } from '../../../src/services/ports.ts'
import { bashTool } from '../../../src/services/tools/bash.ts'

export interface Shell {
  dir: string
  env: ToolEnv
  bash(command: string, timeout?: number): Promise<ToolResult>
  remove(): void
}

/** The bash tool in a new temporary directory. */
export function shell(more: Partial<ToolEnv> = {}): Shell {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'bash-test-')))
  const env: ToolEnv = {
    cwd: dir,
    signal: new AbortController().signal,
    childEnv: process.env,
    seen: new Map(),
    ...more,
  }
  return {
    dir,
    env,
    bash: (command, timeout) => bashTool.run(timeout === undefined ? { command } : { command, timeout }, env),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** A number of seconds nobody else sleeps: long, and found again in the list of processes. */
export function markedSeconds(): string {
  return `3${Math.random().toString().slice(2, 14)}`.replace(/^(.{3})/, '$1.')
}

/** The command lines of living processes that contain `mark`; those waiting to be reaped are not living. */
export function processesWith(mark: string): string[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n')
  return lines.filter((line) => line.includes(mark) && !/^\s*\d+\s+Z/.test(line))
}

/** What the driver is told to do: run these commands side by side, then end itself or stay. */
export interface Orders {
  commands: Array<{ command: string; timeout?: number }>
  atEnd: 'exit' | 'end' | 'stay'
}

export interface Driver {
  process: ChildProcess
  /** One JSON line a finished command, in the order of their ends, then the largest memory in MB. */
  lines: AsyncIterator<string>
}

/** Bundles the driver as the agent is bundled, for plain Node. */
export async function bundleDriver(directory: string): Promise<string> {
  const outfile = join(directory, 'driver.mjs')
  const entry = new URL('./bashDriver.ts', import.meta.url).pathname
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', outfile, logLevel: 'error' })
  return outfile
}

/** Starts an agent of its own process; the caller kills it or lets it end. */
export function startDriver(file: string, orders: Orders, cwd: string): Driver {
  const child = spawn(process.execPath, [file, JSON.stringify(orders)], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  return { process: child, lines: linesOf(child)[Symbol.asyncIterator]() }
}

async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
}

export async function nextLine<T>(driver: Driver): Promise<T> {
  const { value } = await driver.lines.next()
  return JSON.parse(value) as T
}
