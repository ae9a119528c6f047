/** Where ripgrep is, and one run of it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { messageOf } from '../../../machines/errorText.ts'
import { whenAborted } from '../shell/whenAborted.ts'
import { ignoreArgs } from './ignoring.ts'

/** How a run ended; `failed` comes with what ripgrep said. */
export type RipgrepEnd =
  | { kind: 'done' }
  /** To its end, but some files or directories could not be read. */
  | { kind: 'partly' }
  | { kind: 'enough' }
  | { kind: 'timedOut' }
  | { kind: 'aborted' }
  | { kind: 'failed'; said: string }
  | { kind: 'missing' }

export interface RipgrepRequest {
  args: string[]
  directory: string
  /** The working directory, above which no .gitignore counts but those of its repository. */
  cwd: string
  env: NodeJS.ProcessEnv
  signal: AbortSignal
  timeoutMs: number
  /** Gets what ripgrep prints; after 'enough' it is stopped. */
  onOutput(chunk: Buffer): 'more' | 'enough'
}

/**
 * What every search leaves out: the user's own configuration of ripgrep, repositories' insides and installed packages.
 * Negated globs only: any other glob would switch .gitignore off for what it matches.
 */
const COMMON_ARGS = ['--no-config', '--no-messages', '--hidden', '--glob=!.git', '--glob=!node_modules']

/** Below the root these hold no files but the system's own state, without end. */
const SYSTEM_ARGS = ['--glob=!/proc', '--glob=!/sys', '--glob=!/dev']
const MOST_SAID = 16 * 1024

/** Runs ripgrep in a directory without standard input. */
export async function runRipgrep(request: RipgrepRequest): Promise<RipgrepEnd> {
  if (request.signal.aborted) return { kind: 'aborted' }
  const { RIPGREP_CONFIG_PATH: _, ...env } = request.env
  const system = request.directory === '/' ? SYSTEM_ARGS : []
  const args = [...COMMON_ARGS, ...ignoreArgs(request.directory, request.cwd), ...system, ...request.args]
  try {
    return await endOf(
      spawn(programPath(), args, { cwd: request.directory, env, stdio: ['ignore', 'pipe', 'pipe'] }),
      request,
    )
  } catch (error) {
    return { kind: 'failed', said: messageOf(error) }
  }
}

async function endOf(program: ChildProcess, request: RipgrepRequest): Promise<RipgrepEnd> {
  let stopped: RipgrepEnd | null = null
  const stop = (end: RipgrepEnd) => {
    stopped ??= end
    program.kill('SIGKILL')
  }
  let said = ''
  const ended = new Promise<RipgrepEnd>((resolve) => {
    program.once('error', (error: NodeJS.ErrnoException) => resolve(unstartable(error, request.directory)))
    program.once('close', (code, signal) => resolve(endBy(code, signal, said)))
  })
  program.stdout?.on('data', (chunk: Buffer) => {
    if (stopped === null && request.onOutput(chunk) === 'enough') stop({ kind: 'enough' })
  })
  program.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, MOST_SAID)
  })
  const timer = setTimeout(() => stop({ kind: 'timedOut' }), request.timeoutMs)
  const stopWaiting = whenAborted(request.signal, () => stop({ kind: 'aborted' }))
  const end = await ended
  clearTimeout(timer)
  stopWaiting()
  return stopped ?? end
}

function endBy(code: number | null, signal: NodeJS.Signals | null, said: string): RipgrepEnd {
  if (signal) return { kind: 'failed', said: `ripgrep was ended by ${signal}` }
  // 1 is "nothing found"; 2 without a word is something that could not be read.
  if (code !== 2) return { kind: 'done' }
  return said === '' ? { kind: 'partly' } : { kind: 'failed', said }
}

function unstartable(error: NodeJS.ErrnoException, directory: string): RipgrepEnd {
  try {
    accessSync(directory, constants.X_OK)
  } catch {
    return { kind: 'failed', said: `${directory} cannot be entered` }
  }
  return error.code === 'ENOENT' ? { kind: 'missing' } : { kind: 'failed', said: error.message }
}

let known: string | null = null

/**
 * The ripgrep that is installed with the agent, else the one on the PATH. The program's package belongs to
 * @vscode/ripgrep, and some package managers let only that one see it.
 */
function programPath(): string {
  known ??= installedPath(createRequire(import.meta.url)) ?? 'rg'
  return known
}

function installedPath(require: NodeJS.Require): string | null {
  const program = `@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg${process.platform === 'win32' ? '.exe' : ''}`
  for (const find of [() => require, () => createRequire(require.resolve('@vscode/ripgrep'))]) {
    try {
      return find().resolve(program)
    } catch {
      // Not there: the next way, or the PATH.
    }
  }
  return null
}

/**
 * Cuts output into records.
 * @param longest bytes of a record that are kept; of longer ones the beginning
 * @param onRecord gets each record without its separator; its memory is used again afterwards
 */
export function recordsOf(
  separator: number,
  longest: number,
  onRecord: (record: Buffer, kind: 'whole' | 'beginning') => 'more' | 'enough',
): (chunk: Buffer) => 'more' | 'enough' {
  let kept: Buffer[] = []
  let length = 0
  const keep = (part: Buffer) => {
    if (length < longest) kept.push(part.subarray(0, longest - length))
    length += part.length
  }
  return (chunk) => {
    for (let from = 0; ; ) {
      const end = chunk.indexOf(separator, from)
      keep(chunk.subarray(from, end < 0 ? undefined : end))
      if (end < 0) return 'more'
      const record = kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept)
      const kind = length > longest ? 'beginning' : 'whole'
      kept = []
      length = 0
      if (onRecord(record, kind) === 'enough') return 'enough'
      from = end + 1
    }
  }
}
