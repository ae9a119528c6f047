/** A headless run: from what was asked for to the exit code. */
import { createActor, waitFor } from 'xstate'
import type { CommonArgs, RunArgs } from '../cli/args.ts'
import type { StateName } from '../machines/journal.ts'
import { createOutput, type Output } from '../services/output/index.ts'
import type { Observe } from '../services/ports.ts'
import { createRecorder } from '../services/provide/recorder.ts'
import { provideServices } from '../services/provide.ts'
import { type Composed, compose, type ModelSource } from './compose.ts'
import { type Prompt, readPrompt } from './prompt.ts'
import { nothingStarted, resultOf } from './result.ts'
import { onSignals } from './signals.ts'

/** What a caller may put in the place of the usual. */
export interface RunOptions {
  source?: ModelSource
  /** Sees the run's progress beside the output. */
  alsoObserve?: Observe
}

export interface RunEnd {
  /** 0 the run ended, 1 it failed, 2 nothing was started, 128 + n stopped by a signal (contract.md, 2). */
  code: number
  /** null where nothing was started. */
  session_id: string | null
}

/** Runs one prompt from the arguments to the flushed result. Expected failures are in the code and the output. */
export async function runPrompt(common: CommonArgs, args: RunArgs, options: RunOptions = {}): Promise<RunEnd> {
  let stop: (reason: string) => void = () => {}
  const output = openOutput(common, () => stop('stdout was closed'))
  const observe: Observe = (event) => {
    output.observe(event)
    options.alsoObserve?.(event)
  }
  const prompt = await readPrompt(args)
  if (!prompt.ok) return refuse(output, args, prompt.message)
  const composed = await compose(common, args, options.source ?? { kind: 'server' }, observe)
  if (!composed.ok) return refuse(output, args, composed.message)
  return runMachine(composed.value, prompt.value, output, (listener) => {
    stop = listener
  })
}

export function openOutput(common: CommonArgs, onClosed: () => void): Output {
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
async function refuse(output: Output, args: RunArgs, message: string): Promise<RunEnd> {
  const id = args.session.kind === 'resume' ? args.session.id : ''
  await output.finish(nothingStarted(message, id))
  return { code: 2, session_id: null }
}

async function runMachine(
  run: Composed,
  prompt: Prompt,
  output: Output,
  onStop: (listener: (reason: string) => void) => void,
): Promise<RunEnd> {
  const { observe } = run.deps
  const began = performance.now()
  const recorder = createRecorder(run.session.journal, (message) => observe({ type: 'warning', message }))
  if (run.session.inherited.length > 0) await recorder.write(run.session.inherited, run.session.conversation)
  const machine = provideServices({
    ...run.deps,
    recorder,
    begin: prompt.kind === 'resume' ? prompt : { kind: 'prompt', text: prompt.text, extra: prompt.extra },
    state: () => actor.getSnapshot().value as StateName,
    now: () => performance.now(),
  })
  const actor = createActor(machine, { input: { conversation: run.session.conversation } })
  const signals = onSignals(
    (name) => actor.send({ type: 'interrupt', reason: name }),
    () => output.stop(),
  )
  onStop((reason) => actor.send({ type: 'interrupt', reason }))
  watch(actor, observe)
  observe({
    type: 'started',
    session_id: run.session.session_id,
    cwd: run.deps.session.cwd,
    model: run.deps.session.model,
    tools: run.deps.tools.specs().map((tool) => tool.name),
  })
  actor.start()
  const ended = await waitFor(actor, (snapshot) => snapshot.status !== 'active', { timeout: Number.POSITIVE_INFINITY })
  const { context } = ended
  await run.close()
  if (context.unloadable !== null) {
    await output.finish(nothingStarted(context.unloadable, run.session.session_id))
    return { code: 2, session_id: null }
  }
  const result = resultOf({
    conversation: context.conversation,
    session_id: run.session.session_id,
    duration_ms: performance.now() - began,
    cost: run.spent(),
    lost: run.subagents.lost(),
    storeFault: context.storeFault ?? recorder.fault(),
  })
  await output.finish(result)
  const failed = result.is_error || output.closed()?.kind === 'failed'
  return { code: signals.exitCode() ?? (failed ? 1 : 0), session_id: run.session.session_id }
}

function watch(actor: { subscribe(next: (snapshot: { value: unknown }) => void): unknown }, observe: Observe): void {
  let last: unknown = null
  actor.subscribe(({ value }) => {
    if (value === last) return
    last = value
    observe({ type: 'state', state: String(value) })
  })
}
