/** What the conversation at the terminal works with, over the parts of a run: a session composed once, turn after turn. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import type { Conversation } from '../machines/conversation.ts'
import { createBranchReader } from '../services/context/branch.ts'
import { maxOutputOf } from '../services/model/prices.ts'
import type { Result } from '../services/ports.ts'
import { createRecorder } from '../services/provide/recorder.ts'
import { prepareTurn, type Turn } from '../services/provide/turn.ts'
import { changeTrust, isTrusted } from '../services/settings/trust.ts'
import { listFiles } from '../services/tools/search/listFiles.ts'
import type { Desk, Eyes, OpenSession } from '../tui/desk.ts'
import { type Composed, compose } from './compose.ts'
import { agentHome } from './directory.ts'
import { limitsOf } from './parts.ts'
import type { CommonOptions, RunRequest } from './request.ts'
import type { Stopping } from './signals.ts'

const MOST_PRINTED = 4 * 1024 * 1024

/** @returns the desk of one process; what is asked holds for every session that is opened at it */
function createDesk(common: CommonOptions, request: RunRequest, stopping: Stopping): Desk {
  const home = agentHome(process.env)
  const servers = createServers()
  return {
    first: request.session,
    isStepping: request.step,
    approvesAll: request.yes,
    home,
    version: __VERSION__,
    open: (choice, model, eyes) => openAt(common, { ...request, session: choice, model: model ?? request.model }, eyes),
    command: (words, cwd) => {
      // Its last column stays free, as on the screen.
      const columns = Math.max(20, (process.stdout.columns ?? 81) - 1)
      const options = { cwd, maxBuffer: MOST_PRINTED, env: { ...process.env, COLUMNS: String(columns) } }
      return new Promise((resolve) =>
        execFile(process.execPath, [program(), ...words], options, (_, out, err) => resolve(`${out}${err}`)),
      )
    },
    server: servers.start,
    files: (cwd) => listFiles(cwd, process.env),
    trust: (cwd) => ({ isTrusted: isTrusted(home, cwd), add: () => changeTrust(home, 'add', cwd) }),
    whenStopped: (listener) => stopping.whenAsked(listener),
    lastly: (restore) => stopping.lastly({ atOnce: restore, late: async () => restore() }),
    exitCode: () => stopping.exitCode(),
  }
}

/** The command line that this process was started with. */
function program(): string {
  return process.argv[1] ?? ''
}

/** Servers that end with this process: it holds a channel to each, and when that closes, by whatever end, so do they. */
function createServers(): { start: Desk['server'] } {
  const running = new Map<string, Promise<string>>()
  return {
    start(words, cwd) {
      const name = JSON.stringify([words, cwd])
      const known = running.get(name)
      if (known !== undefined) return known
      const child = spawn(process.execPath, [program(), ...words], { cwd, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
      child.on('exit', () => running.delete(name))
      process.on('exit', () => child.kill())
      const line = firstLine(child)
      running.set(name, line)
      return line
    },
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    const take = (chunk: Buffer): void => {
      said += chunk.toString('utf8')
      if (said.includes('\n')) resolve(said.split('\n')[0] ?? '')
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.on('error', (error) => resolve(error.message))
    child.on('exit', () => resolve(said.trim()))
  })
}

async function openAt(
  common: CommonOptions,
  request: RunRequest,
  { observe, ask }: Eyes,
): Promise<Result<OpenSession>> {
  const composed = await compose(common, request, { kind: 'server' }, observe, null, request.yes ? null : ask)
  if (!composed.ok) return composed
  const run = composed.value
  const recorder = createRecorder(run.session.journal, (message) => observe({ type: 'warning', message }))
  const { inherited } = run.session
  if (inherited.length > 0) await recorder.write(inherited, run.session.conversation)
  return { ok: true, value: sessionOf(run, request, recorder) }
}

type Recorder = ReturnType<typeof createRecorder>

function sessionOf(run: Composed, request: RunRequest, recorder: Recorder): OpenSession {
  const { deps, session, store } = run
  const { session_id } = session
  let conversation: Conversation = session.conversation
  let turn: Turn | null = null
  const branch = createBranchReader(deps.session.cwd, process.env)
  const taken = async (): Promise<number> => {
    if (deps.step === undefined) return 0
    const { transitionsBefore } = await import('./step.ts')
    return transitionsBefore((await store.load(session_id))?.entries ?? [])
  }
  return {
    session_id,
    cwd: deps.session.cwd,
    past: session.entries.map((entry) => entry.record),
    model: () => deps.session.model,
    setModel(name) {
      deps.session = { ...deps.session, model: name }
      deps.limits = limitsOf(request, run.settings, name)
      deps.maxOutputTokens = run.settings.max_output_tokens ?? maxOutputOf(name)
    },
    conversation: () => turn?.conversation() ?? conversation,
    budget: () => deps.limits.input_tokens,
    spent: run.spent,
    branch,
    async turn(begin) {
      const next = prepareTurn({ deps, recorder, before: conversation, begin, taken: await taken() })
      turn = next
      const ended = next.start().then((end) => {
        turn = null
        conversation = end.conversation
        return end
      })
      return { conversation: next.conversation, interrupt: next.interrupt, ended }
    },
    setStep(step) {
      if (step === null) delete deps.step
      else deps.step = step
    },
    approvals: () => deps.permissions.approvals(),
    async sessions(all) {
      const heads = await store.list(all ? null : deps.session.cwd)
      return heads.filter((head) => head.parent === undefined)
    },
    close: run.close,
  }
}

/** @returns the exit code of a conversation at the terminal */
export async function converse(common: CommonOptions, request: RunRequest, stopping: Stopping): Promise<number> {
  const { startConversation } = await import('../tui.ts')
  return startConversation(createDesk(common, request, stopping))
}
