/** Puts a run together in its order: directory, settings, model, store, session, and then its parts. */
import type { Model } from '../services/model/index.ts'
import { userHome } from '../services/paths.ts'
import type { AskPerson, Observe, Result, StorePort } from '../services/ports.ts'
import type { StepPort } from '../services/stepPorts.ts'
import { StoreError } from '../services/store/index.ts'
import { endAllGroups } from '../services/tools/bash.ts'
import { workingDirectory } from './directory.ts'
import { withFaultyJournals } from './faults.ts'
import { endLeftoversOf } from './leftovers.ts'
import { type ModelSource, openModel } from './model.ts'
import { assemble, type Parts } from './parts.ts'
import type { CommonOptions, RunRequest } from './request.ts'
import { findSession, openSession, type RunSession } from './session.ts'
import { settingsFor, storeOf } from './settings.ts'

export interface Composed extends Parts {
  store: StorePort
  /** Ends what the run started and gives its session free. */
  close(): Promise<void>
}

/** @returns a run that is ready to start and holds its session, or why nothing was started */
export async function compose(
  common: CommonOptions,
  request: RunRequest,
  source: ModelSource,
  observe: Observe,
  step: StepPort | null,
  ask: AskPerson | null,
): Promise<Result<Composed>> {
  const warn = (message: string): void => observe({ type: 'warning', message })
  const place = await workingDirectory(common.cwd)
  // A session that goes on brings its own directory, so a lost one of the shell does not matter then.
  if (!place.ok && (common.cwd !== null || !namesSession(request))) return place
  const here = place.ok ? place.value : userHome()
  const settings = await settingsFor(here, common)
  if (!settings.ok) return settings
  const model = openModel(source, request, settings.value.settings, warn)
  if (!model.ok) return model
  // The SDK loads while the store is opened.
  model.value.prepare()
  const named = storeOf(settings.value.settings, warn)
  if (!named.ok) return named
  const store = withFaultyJournals(named.value)
  const session = await holdSession(store, request, here)
  if (!session.ok) return closing(store, session)
  await endLeftoversOf(session.value, warn)
  const known = { common, request, here, settings: settings.value, session: session.value, store, model: model.value }
  const parts = await assemble({ ...known, observe, step, ask })
  if (!parts.ok) {
    await session.value.journal.release()
    return closing(store, parts)
  }
  return { ok: true, value: { ...parts.value, store, close: () => closeAll(parts.value, store, model.value) } }
}

function namesSession({ session }: RunRequest): boolean {
  return session.kind === 'resume' || session.kind === 'fork'
}

async function holdSession(store: StorePort, request: RunRequest, here: string): Promise<Result<RunSession>> {
  try {
    const found = await findSession(
      store,
      request.session,
      here,
      request.prompt.kind === 'none' ? 'nothing' : 'something',
    )
    return found.ok ? await openSession(store, found.value) : found
  } catch (error) {
    if (error instanceof StoreError) return { ok: false, message: error.message }
    throw error
  }
}

async function closing(store: StorePort, result: { ok: false; message: string }): Promise<typeof result> {
  await store.close()
  return result
}

async function closeAll({ subagents, session, sandbox }: Parts, store: StorePort, model: Model): Promise<void> {
  await subagents.settled()
  model.close()
  await endAllGroups()
  sandbox?.remove()
  await session.journal.release()
  await store.close()
}
