/** Runs one shell command to its end, whatever it does. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, statSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { messageOf } from '../../../machines/errorText.ts'
import type { Spool } from '../../ports.ts'
import { type Group, ProcessGroups } from './groups.ts'
import { HeadTail } from './headTail.ts'
import { MARK_VARIABLE } from './mark.ts'
import { closeSparePipes, type OutputPipe, openPipe } from './pipes.ts'
import { PipeReader } from './reader.ts'
import { whenAborted } from './whenAborted.ts'
import { SpoolingSink } from './whole.ts'

/** How a command ended; `unstartable` comes with a sentence that says why it never began. */
export type ShellEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'signalled'; signal: NodeJS.Signals }
  | { kind: 'timedOut'; ms: number }
  | { kind: 'aborted' }
  | { kind: 'unstartable'; message: string }

/** Output is plain text, standard output and standard error in the order they were written. */
export interface ShellRun {
  end: ShellEnd
  output: string
}

export interface ShellRequest {
  command: string
  cwd: string
  env: NodeJS.ProcessEnv
  timeoutMs: number
  signal: AbortSignal
  /** Takes all of an output of which only the ends are kept. */
  spool?: Spool
  /** A program and its arguments that the shell is started with. */
  sandbox?: readonly string[]
}

/** What the system takes as one argument: 128 KB on Linux, less a margin. Longer commands go by a descriptor. */
const LONGEST_ARGUMENT = 100_000
/** Reads the whole command before it runs any of it, as `bash -c` does, and leaves no descriptor behind. */
const FROM_DESCRIPTOR = 'eval "exec 3<&-; $(cat <&3)"'

/**
 * After the shell's end: how long to wait for the last words of processes it does not wait for, as in
 * `exec > >(tee log)`. Only a process that stays in the background costs this time.
 */
const LAST_WORDS_MS = 100

/** Nothing may wait for a person: no editor, no pager, no question at a terminal. */
const UNATTENDED = {
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  GH_PAGER: 'cat',
  // Takes what it is given: `git rebase --continue` goes on, `git commit` without a message says that it needs one.
  EDITOR: 'true',
  VISUAL: 'true',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  SSH_ASKPASS_REQUIRE: 'never',
}

const groups = new ProcessGroups()

/** The end of the run: ends everything commands have left running. */
export async function endAllGroups(): Promise<void> {
  closeSparePipes()
  await groups.endAll()
}

/**
 * Runs `bash -c` in its own process group, without standard input, and returns when the shell itself has ended; what
 * it left in the background lives on until `endAllGroups`, or until the agent's own end.
 */
export async function runShell(request: ShellRequest): Promise<ShellRun> {
  if (request.command.includes('\0')) return unstartable('The command contains a NUL character. Leave it out.')
  // Before the first command, so that none runs unguarded, and while its pipe is being made.
  groups.prepare()
  let pipe: OutputPipe
  try {
    pipe = await openPipe()
  } catch (error) {
    return unstartable(whyNoPipe(error))
  }
  const kept = new HeadTail()
  const spooling = request.spool === undefined ? null : new SpoolingSink(kept, request.spool)
  const reader = new PipeReader(pipe.read, spooling ?? kept)
  const ending = request.signal.aborted ? Promise.resolve<ShellEnd>({ kind: 'aborted' }) : start(request, pipe.write)
  // From here on only the command's processes hold that end.
  closeSync(pipe.write)
  const end = await ending
  reader.drain()
  await reader.settle(LAST_WORDS_MS)
  reader.discard()
  spooling?.end()
  return { end, output: kept.text() }
}

/** Starts the shell before it returns; the promise is for its end. */
function start(request: ShellRequest, output: number): Promise<ShellEnd> {
  const { mark, value } = groups.nextMark(request.env[MARK_VARIABLE])
  const isLong = Buffer.byteLength(request.command) > LONGEST_ARGUMENT
  let shell: ChildProcess
  try {
    const [program, ...args] = [
      ...(request.sandbox ?? []),
      'bash',
      '-c',
      '--',
      isLong ? FROM_DESCRIPTOR : request.command,
    ]
    shell = spawn(program ?? 'bash', args, {
      cwd: request.cwd,
      env: { ...request.env, ...UNATTENDED, [MARK_VARIABLE]: value },
      detached: true,
      stdio: isLong ? ['ignore', output, output, 'pipe'] : ['ignore', output, output],
    })
  } catch (error) {
    return whyUnstartable(error, request)
  }
  if (shell.pid === undefined) {
    return new Promise((resolve) => shell.once('error', (error) => resolve(whyUnstartable(error, request))))
  }
  if (isLong) feed(shell.stdio[3] as Writable, request.command)
  const group: Group = { pgid: shell.pid, mark }
  groups.adopt(group)
  return endOf(shell, group, request)
}

/** The shell's own end, or ours for it: the timeout or the abort that came first. */
async function endOf(shell: ChildProcess, group: Group, request: ShellRequest): Promise<ShellEnd> {
  let stop: (end: ShellEnd) => void = () => {}
  const stopped = new Promise<ShellEnd>((resolve) => {
    stop = resolve
  })
  const exited = new Promise<ShellEnd>((resolve) => {
    shell.once('exit', (code, signal) =>
      resolve(signal ? { kind: 'signalled', signal } : { kind: 'exited', code: code ?? 0 }),
    )
  })
  const timer = setTimeout(() => stop({ kind: 'timedOut', ms: request.timeoutMs }), request.timeoutMs)
  const stopWaiting = whenAborted(request.signal, () => stop({ kind: 'aborted' }))
  const end = await Promise.race([exited, stopped])
  clearTimeout(timer)
  stopWaiting()
  switch (end.kind) {
    case 'timedOut':
    case 'aborted':
      await groups.end(group)
      break
    default:
      groups.release(group)
  }
  return end
}

/** Writes the command; a shell that has ended before it read it all shows that by its end. */
function feed(input: Writable, command: string): void {
  input.on('error', () => {}).end(command)
}

async function whyUnstartable(error: unknown, { cwd, env }: ShellRequest): Promise<ShellEnd> {
  const isDirectory = statSync(cwd, { throwIfNoEntry: false })?.isDirectory() ?? false
  if (!isDirectory)
    return {
      kind: 'unstartable',
      message: `The working directory ${cwd} does not exist any more. Make it again first.`,
    }
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return { kind: 'unstartable', message: notFound('bash', env.PATH) }
    case 'EMFILE':
    case 'ENFILE':
      return { kind: 'unstartable', message: TOO_MANY_FILES }
    case 'E2BIG':
      return {
        kind: 'unstartable',
        message: 'The environment is too large to start a program. Tell the user to make it smaller.',
      }
    default:
      return { kind: 'unstartable', message: `bash could not be started: ${messageOf(error)}. Try again later.` }
  }
}

const TOO_MANY_FILES =
  'Too many files are open to run a command. Run fewer at the same time; where that does not help, tell the user to raise the limit (ulimit -n).'

/** The pipe is made by a program of the system, so what is missing may be that, and bash with it. */
function whyNoPipe(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && syscall?.startsWith('spawn') === true) return notFound('mkfifo', process.env.PATH)
  if (code === 'EMFILE' || code === 'ENFILE') return TOO_MANY_FILES
  return `No pipe for the output could be made (${messageOf(error)}). Set TMPDIR to a directory that can be written.`
}

function notFound(program: 'bash' | 'mkfifo', path = ''): string {
  const what = program === 'bash' ? 'bash was not found' : 'mkfifo, which a shell needs here beside bash, was not found'
  return `${what} on the PATH, which is ${JSON.stringify(path)}, so no command can run. Tell the user to start the agent with a PATH that leads to bash and the system's programs, such as /usr/local/bin:/usr/bin:/bin, or to install them.`
}

function unstartable(message: string): ShellRun {
  return { end: { kind: 'unstartable', message }, output: '' }
}
