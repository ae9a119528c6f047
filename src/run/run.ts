/** One prompt, from what is asked to the flushed result. */
import type { Conversation } from '../machines/conversation.ts'
import { messageOf } from '../machines/errorText.ts'
import { createOutput, type Output } from '../services/output/index.ts'
import type { Observe, RunResult } from '../services/ports.ts'
import { createRecorder } from '../services/provide/recorder.ts'
import { prepareTurn } from '../services/provide/turn.ts'
import { printable } from '../services/text.ts'
import { type Composed, compose } from './compose.ts'
import type { ModelSource } from './model.ts'
import { personToAsk } from './person.ts'
import { type Prompt, readPrompt } from './prompt.ts'
import type { CommonOptions, RunRequest } from './request.ts'
import { nothingStarted, notYetStarted, resultOf, stoppedHere } from './result.ts'
import { catchSignals, type Stopping } from './signals.ts'
import type { RunStepper } from './step.ts'

/** What a caller may put in the place of the usual. */
export interface RunOptions {
  source?: ModelSource
  /** Sees the run's progress beside the output. */
  alsoObserve?: Observe
  /** Signals caught earlier than here. */
  stopping?: Stopping
}

export interface RunEnd {
  /** 0 the run ended, 1 it failed, 2 nothing was started, 128 + n stopped by a signal (contract.md, 2). */
  code: number
  /** null where nothing was started. */
  session_id: string | null
}

/** Runs one prompt from the arguments to the flushed result. Failures are in the code and the output, bugs too. */
export async function runPrompt(common: CommonOptions, request: RunRequest, options: RunOptions = {}): Promise<RunEnd> {
  const stopping = options.stopping ?? catchSignals()
  const output = openOutput(common, () => stopping.ask('stdout was closed'))
  try {
    return await runWith(output, stopping, common, request, options)
  } catch (error) {
    if (common.debug && error instanceof Error) process.stderr.write(`${printable(error.stack ?? '')}\n`)
    const message = messageOf(error)
    await output.finish(nothingStarted(`Internal error: ${message}. Please report it.`, idOf(request)))
    return { code: 1, session_id: null }
  }
}

async function runWith(
  output: Output,
  stopping: Stopping,
  common: CommonOptions,
  request: RunRequest,
  options: RunOptions,
): Promise<RunEnd> {
  const observe: Observe = (event) => {
    output.observe(event)
    options.alsoObserve?.(event)
  }
  const prompt = await stopping.unlessAsked(readPrompt(request, (message) => observe({ type: 'warning', message })))
  if (prompt === null) return stopBefore(output, request, stopping)
  if (!prompt.ok) return refuse(output, request, prompt.message)
  const source = options.source ?? { kind: 'server' }
  const stepper = request.step ? (await import('./step.ts')).openStepper(output) : null
  // What it holds by then ends with the process.
  const composed = await stopping.unlessAsked(
    compose(common, request, source, observe, stepper, personToAsk(output, common, request)),
  )
  if (composed === null) return stopBefore(output, request, stopping)
  if (!composed.ok) return refuse(output, request, composed.message)
  return runMachine(composed.value, prompt.value, { output, stopping, stepper })
}

/** @param onClosed called once when stdout takes nothing any more */
function openOutput(common: CommonOptions, onClosed: () => void): Output {
  const { stdout, stderr, env } = process
  const stdoutIsTty = stdout.isTTY === true
  return createOutput({
    format: common.format ?? (stdoutIsTty ? 'text' : 'json'),
    stdout,
    stderr,
    stdoutIsTty,
    stderrIsTty: stderr.isTTY === true,
    env,
    columns: () => stderr.columns ?? stdout.columns,
    onClosed,
  })
}

/** Nothing was started: one line on stderr, and in the JSON formats a result that says the same. */
async function refuse(output: Output, request: RunRequest, message: string): Promise<RunEnd> {
  await output.finish(nothingStarted(message, idOf(request)))
  return { code: 2, session_id: null }
}

async function stopBefore(output: Output, request: RunRequest, stopping: Stopping): Promise<RunEnd> {
  await output.finish(notYetStarted(stopping.reason() ?? '', idOf(request)))
  return { code: stopping.exitCode() ?? 1, session_id: null }
}

/** What is around the machine: where it is seen, what ends it, and what stops it between two services. */
interface Around {
  output: Output
  stopping: Stopping
  stepper: RunStepper | null
}

function idOf(request: RunRequest): string {
  return request.session.kind === 'resume' ? request.session.id : ''
}

async function runMachine(run: Composed, prompt: Prompt, { output, stopping, stepper }: Around): Promise<RunEnd> {
  const { observe } = run.deps
  const { session_id, conversation: before } = run.session
  const began = performance.now()
  const recorder = createRecorder(run.session.journal, (message) => observe({ type: 'warning', message }))
  if (run.session.inherited.length > 0) await recorder.write(run.session.inherited, before)
  const taken = stepper === null ? 0 : (await import('./step.ts')).transitionsBefore(run.session.entries)
  const begin = prompt.kind === 'resume' ? prompt : { kind: 'prompt' as const, text: prompt.text, extra: prompt.extra }
  const turn = prepareTurn({ deps: run.deps, recorder, before, begin, taken })
  stepper?.whenQuit(turn.interrupt)
  const resultNow = (conversation: Conversation): RunResult => {
    // Stopped before the turn was recorded: what the conversation ends with is an earlier one.
    if (conversation === before) return notYetStarted(stopping.reason() ?? '', session_id)
    const duration_ms = performance.now() - began
    const lost = run.subagents.lost()
    const storeFault = turn.storeFault()
    const result = resultOf({ conversation, session_id, duration_ms, cost: run.spent(), lost, storeFault })
    return { ...result, ...run.session.forked }
  }
  stopping.lastly({
    atOnce: () => output.stop(),
    late: () => output.finish(resultNow(stoppedHere(turn.conversation(), stopping.reason() ?? ''))),
  })
  const { cwd, model } = run.deps.session
  observe({ type: 'started', session_id, cwd, model, tools: run.deps.tools.specs().map((tool) => tool.name) })
  const over = turn.start()
  stopping.whenAsked(turn.interrupt)
  const { conversation, unloadable } = await over
  await run.close()
  if (unloadable !== null) {
    await output.finish(nothingStarted(unloadable, session_id))
    return { code: 2, session_id: null }
  }
  const result = resultNow(conversation)
  await output.finish(result)
  return { code: stepper?.hasQuit() ? 0 : codeOf(result, output, stopping), session_id }
}

/** A signal that came when all was done changes nothing. */
function codeOf(result: RunResult, output: Output, stopping: Stopping): number {
  const signal = result.subtype === 'error_interrupted' ? stopping.exitCode() : null
  return signal ?? (result.is_error || output.closed()?.kind === 'failed' ? 1 : 0)
}
