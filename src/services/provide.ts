/**
 * Joins the machine and the services: the only place that knows both. A run hands in its ports and gets a machine
 * that can be started. What looks at a run (progress, step, trace) hooks in here.
 */
import { fromPromise } from 'xstate'
import { agentMachine } from '../machines/agent.ts'
import type { ServiceName, Services } from '../machines/outcomes.ts'
import { callModel } from './provide/callModel.ts'
import { compact } from './provide/compact.ts'
import type { RunDeps } from './provide/deps.ts'
import { loadContext } from './provide/loadContext.ts'
import { persist } from './provide/persist.ts'
import { recall } from './provide/recall.ts'
import { remember } from './provide/remember.ts'
import { runTools } from './provide/runTools.ts'
import { type Start, stopBefore } from './provide/stepping.ts'
import { trim } from './provide/trim.ts'

type Work<Name extends ServiceName> = (
  deps: RunDeps,
  input: Services[Name]['input'],
  signal: AbortSignal,
) => Promise<Services[Name]['output']>

/** @returns the statechart with real services under its invokes. */
export function provideServices(deps: RunDeps) {
  const actor = <Name extends ServiceName>(service: Name, work: Work<Name>) =>
    fromPromise<Services[Name]['output'], Services[Name]['input']>(async ({ input, signal }) => {
      if (deps.step !== undefined) await stopBefore(deps, { service, input } as Start, signal)
      return work(deps, input, signal)
    })
  return agentMachine.provide({
    actors: {
      loadContext: actor('loadContext', loadContext),
      recall: actor('recall', recall),
      remember: actor('remember', remember),
      persist: actor('persist', persist),
      callModel: actor('callModel', callModel),
      trim: actor('trim', trim),
      compact: actor('compact', compact),
      runTools: actor('runTools', runTools),
    },
  })
}
