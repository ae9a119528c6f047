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
import { trim } from './provide/trim.ts'

/** @returns the statechart with real services under its invokes. */
export function provideServices(deps: RunDeps) {
  return agentMachine.provide({
    actors: {
      loadContext: fromPromise<LoadOutcome, LoadInput>(({ input }) => loadContext(deps, input)),
      recall: fromPromise<RecallOutcome, RecallInput>(({ input, signal }) => recall(deps, input, signal)),
      remember: fromPromise<RememberOutcome, RememberInput>(({ input, signal }) => remember(deps, input, signal)),
      persist: fromPromise<PersistOutcome, PersistInput>(({ input }) => persist(deps, input)),
      callModel: fromPromise<CallOutcome, CallInput>(({ input, signal }) => callModel(deps, input, signal)),
      trim: fromPromise<TrimOutcome, TrimInput>(({ input, signal }) => trim(deps, input, signal)),
      compact: fromPromise<CompactOutcome, CompactInput>(({ input, signal }) => compact(deps, input, signal)),
      runTools: fromPromise<ToolsOutcome, ToolsInput>(({ input, signal }) => runTools(deps, input, signal)),
    },
  })
}
