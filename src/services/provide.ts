/**
 * Joins the machine and the services: the only place that knows both. A run hands in its ports and gets a machine
 * that can be started. What looks at a run (progress, step, trace) hooks in here.
 */
import { fromPromise } from 'xstate'
import { agentMachine } from '../machines/agent.ts'
import type {
  CallInput,
  CallOutcome,
  CompactInput,
  CompactOutcome,
  LoadInput,
  LoadOutcome,
  PersistInput,
  PersistOutcome,
  RecallInput,
  RecallOutcome,
  RememberInput,
  RememberOutcome,
  ToolsInput,
  ToolsOutcome,
  TrimInput,
  TrimOutcome,
} from '../machines/outcomes.ts'
import { callModel } from './provide/callModel.ts'
import { compact } from './provide/compact.ts'
import type { RunDeps } from './provide/deps.ts'
import { loadContext } from './provide/loadContext.ts'
import { persist } from './provide/persist.ts'
import { recall } from './provide/recall.ts'
import { remember } from './provide/remember.ts'
import { runTools } from './provide/runTools.ts'
import { type Starting, stopBefore } from './provide/stepping.ts'
import { trim } from './provide/trim.ts'

type Work<Output, Input> = (deps: RunDeps, input: Input, signal: AbortSignal) => Promise<Output>

/** @returns the statechart with real services under its invokes. */
export function provideServices(deps: RunDeps) {
  const actor = <Output, Input>(start: Starting<Input>, work: Work<Output, Input>) =>
    fromPromise<Output, Input>(async ({ input, signal }) => {
      if (deps.step !== undefined) await stopBefore(deps, start(input), signal)
      return work(deps, input, signal)
    })
  return agentMachine.provide({
    actors: {
      loadContext: actor<LoadOutcome, LoadInput>((input) => ({ service: 'loadContext', input }), loadContext),
      recall: actor<RecallOutcome, RecallInput>((input) => ({ service: 'recall', input }), recall),
      remember: actor<RememberOutcome, RememberInput>((input) => ({ service: 'remember', input }), remember),
      persist: actor<PersistOutcome, PersistInput>((input) => ({ service: 'persist', input }), persist),
      callModel: actor<CallOutcome, CallInput>((input) => ({ service: 'callModel', input }), callModel),
      trim: actor<TrimOutcome, TrimInput>((input) => ({ service: 'trim', input }), trim),
      compact: actor<CompactOutcome, CompactInput>((input) => ({ service: 'compact', input }), compact),
      runTools: actor<ToolsOutcome, ToolsInput>((input) => ({ service: 'runTools', input }), runTools),
    },
  })
}
