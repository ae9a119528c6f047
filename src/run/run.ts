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

/** @returns the exit code: 0 the run ended, 1 it failed, 2 nothing was started, 128 + n stopped by a signal */
export async function runPrompt(
  common: CommonArgs,
  args: RunArgs,
  source: ModelSource = { kind: 'server' },
): Promise<number> {
  let stop: (reason: string) => void = () => {}
  const output = openOutput(common, () => stop('stdout was closed'))
  const prompt = await readPrompt(args)
  if (!prompt.ok) return refuse(output, args, prompt.message)
  const composed = await compose(common, args, source, output.observe)
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
async function refuse(output: Output, args: RunArgs, message: string): Promise<number> {
  const id = args.session.kind === 'resume' ? args.session.id : ''
  await output.finish(nothingStarted(message, id))
  return 2
}

async function runMachine(
  run: Composed,
  prompt: Prompt,
  output: Output,
  onStop: (listener: (reason: string) => void) => void,
): Promise<number> {
  const began = performance.now()
  const recorder = createRecorder(run.session.journal, (message) => output.observe({ type: 'warning', message }))
  if (run.session.inherited.length > 0) await recorder.write(run.session.inherited, run.session.conversation)
  const machine = provideServices({
    ...run.deps,
    recorder,
    begin: prompt.kind === 'resume' ? prompt : { kind: 'prompt', text: prompt.text, extra: prompt.extra },
    state: () => actor.getSnapshot().value as StateName,
    now: () => performance.now(),
  })
  const actor = createActor(machine, { input: { conversation: run.session.conversation } })
  const signals = onSignals((name) => actor.send({ type: 'interrupt', reason: name }))
  onStop((reason) => actor.send({ type: 'interrupt', reason }))
  watch(actor, output.observe)
  output.observe({
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
    return 2
  }
  const result = resultOf({
    conversation: context.conversation,
    session_id: run.session.session_id,
    duration_ms: performance.now() - began,
    cost: run.spent(),
    storeFault: context.storeFault ?? recorder.fault(),
  })
  await output.finish(result)
  return signals.exitCode() ?? (result.is_error ? 1 : 0)
}

function watch(actor: { subscribe(next: (snapshot: { value: unknown }) => void): unknown }, observe: Observe): void {
  let last: unknown = null
  actor.subscribe(({ value }) => {
    if (value === last) return
    last = value
    observe({ type: 'state', state: String(value) })
  })
}
