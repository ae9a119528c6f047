/** Puts a run together: directory, settings, key, session, and the ports over the real world. */
import { homedir } from 'node:os'
import type { CommonArgs, RunArgs } from '../cli/args.ts'
import type { TurnLimits } from '../machines/journal.ts'
import { createTaskOutputs } from '../services/compaction/taskOutputs.ts'
import { createContext } from '../services/context/index.ts'
import { createModel, type Model } from '../services/model/index.ts'
import { checkBaseUrl } from '../services/model/key.ts'
import { budgetOf, DEFAULT_MODEL, maxOutputOf } from '../services/model/prices.ts'
import { createPermissions } from '../services/permissions/decide.ts'
import type { Observe, Result, RunTask, StorePort } from '../services/ports.ts'
import type { RunParts } from '../services/provide/deps.ts'
import { createSubagents, type Subagents } from '../services/provide/subagent.ts'
import { type LoadedSettings, loadSettings, type Settings } from '../services/settings/index.ts'
import { isTrusted } from '../services/settings/trust.ts'
import { createSkills } from '../services/skills/index.ts'
import { createStore } from '../services/store/index.ts'
import { endAllGroups } from '../services/tools/bash.ts'
import { compactTool } from '../services/tools/compact.ts'
import { seenBefore } from '../services/tools/files/seenBefore.ts'
import { loadSkillTool } from '../services/tools/loadSkill.ts'
import { createTools, SUBAGENT_TOOLS } from '../services/tools/registry.ts'
import { rememberTool } from '../services/tools/remember.ts'
import { taskTool } from '../services/tools/task.ts'
import { childEnv, credentials } from './credentials.ts'
import { agentHome, existingDirectory, workingDirectory } from './directory.ts'
import { openMemory } from './memory.ts'
import { findSession, openSession, type RunSession } from './session.ts'
import { createSpending } from './spending.ts'

const DEFAULT_MAX_TURNS = 250

export interface Composed {
  session: RunSession
  deps: RunParts
  subagents: Subagents
  /** USD so far; null where a model's price is not known. */
  spent: () => number | null
  close(): Promise<void>
}

/** Where replies come from: the server of the environment and the settings, or a model that is handed in. */
export type ModelSource = { kind: 'server' } | { kind: 'given'; model: Model }

/** @returns a run that is ready to start and holds its session, or why nothing was started */
export async function compose(
  common: CommonArgs,
  args: RunArgs,
  source: ModelSource,
  observe: Observe,
): Promise<Result<Composed>> {
  const warn = (message: string): void => observe({ type: 'warning', message })
  const place = await workingDirectory(common.cwd)
  // A session that goes on brings its own directory, so a lost one of the shell does not matter then.
  if (!place.ok && (common.cwd !== null || args.session.kind !== 'resume')) return place
  const here = place.ok ? place.value : homedir()
  const settings = await settingsFor(here, common)
  if (!settings.ok) return settings
  const model = openModel(source, settings.value)
  if (!model.ok) return model
  // The SDK loads while the store is opened.
  model.value.prepare()
  const { store: uri } = settings.value.settings
  const store = createStore({ home: agentHome(process.env), ...(uri !== null && { uri }), warn })
  const session = await holdSession(store, args, here)
  if (!session.ok) return closing(store, session)
  const run = await assemble(common, args, here, settings.value, session.value, store, model.value, observe)
  if (!run.ok) {
    await session.value.journal.release()
    return closing(store, run)
  }
  return {
    ok: true,
    value: { ...run.value, close: () => closeAll(run.value.subagents, session.value, store, model.value) },
  }
}

async function settingsFor(cwd: string, common: CommonArgs): Promise<Result<LoadedSettings>> {
  const home = agentHome(process.env)
  return loadSettings({ home, cwd, settingsFile: common.settings, env: process.env, trusted: isTrusted(home, cwd) })
}

function openModel(source: ModelSource, { settings }: LoadedSettings): Result<Model> {
  if (source.kind === 'given') return { ok: true, value: source.model }
  const key = credentials(process.env)
  if (!key.ok) return key
  const baseUrl = checkBaseUrl(settings.base_url ?? undefined)
  if (!baseUrl.ok) return baseUrl
  return { ok: true, value: createModel({ baseUrl: baseUrl.value, ...key.value }) }
}

async function holdSession(store: StorePort, args: RunArgs, here: string): Promise<Result<RunSession>> {
  const found = await findSession(store, args.session, here)
  return found.ok ? openSession(store, found.value) : found
}

/** The directory of the run: the one that was named, else the session's own. */
async function directoryOf(common: CommonArgs, here: string, session: RunSession, observe: Observe) {
  const own = session.conversation.session?.cwd ?? here
  if (own === here) return { ok: true as const, value: here }
  if (common.cwd === null) return existingDirectory(own, "The session's directory")
  const message = `This session began in ${own}; its tools now run in ${here}, as -C says.`
  observe({ type: 'warning', message })
  return { ok: true as const, value: here }
}

async function assemble(
  common: CommonArgs,
  args: RunArgs,
  here: string,
  loaded: LoadedSettings,
  session: RunSession,
  store: StorePort,
  model: Model,
  observe: Observe,
): Promise<Result<Omit<Composed, 'close'>>> {
  const warn = (message: string): void => observe({ type: 'warning', message })
  const directory = await directoryOf(common, here, session, observe)
  if (!directory.ok) return directory
  const cwd = directory.value
  const applied = cwd === here ? { ok: true as const, value: loaded } : await settingsFor(cwd, common)
  if (!applied.ok) return applied
  const { settings, warnings } = applied.value
  for (const message of [...warnings, ...session.warnings]) warn(message)
  const name = args.model ?? settings.model ?? DEFAULT_MODEL
  const home = homedir()
  const place = { cwd, home, agentHome: agentHome(process.env), trusted: isTrusted(agentHome(process.env), cwd) }
  const skills = createSkills({ ...place, warn })
  await skills.read()
  const runTask: RunTask = (task) => subagents.run(task)
  const maxOutputTokens = settings.max_output_tokens ?? maxOutputOf(name)
  const spending = createSpending(model)
  const memory = openMemory({ cwd, settings, model: spending.model, name, maxOutputTokens, warn })
  const more = [taskTool(runTask), loadSkillTool(skills), compactTool, ...(memory ? [rememberTool(memory.notes)] : [])]
  const tools = createTools({ more })
  const ownTools = createTools({ builtIn: SUBAGENT_TOOLS })
  const about = { ...place, now: () => new Date(), env: process.env, appendSystemPrompt: args.appendSystemPrompt }
  const deps: RunParts = {
    session: { session_id: session.session_id, cwd, model: name },
    limits: limitsOf(args, settings, name),
    maxOutputTokens,
    context: createContext({
      ...about,
      tools: tools.specs(),
      warn,
      role: 'main',
      more: async () => {
        const { entries, note } = await skills.read()
        const index = (await memory?.notes.index()) ?? ''
        return { skills: entries, skillsNote: note, tools: tools.specs(), memory: index }
      },
    }),
    model: spending.model,
    tools,
    toolEnv: { cwd, childEnv: childEnv(process.env, settings.env), seen: seenBefore(session.entries) },
    permissions: createPermissions({ cwd, yes: args.yes, readable: skills.directories() }),
    outputs: createTaskOutputs(cwd),
    ...(memory && { memory }),
    observe,
  }
  const subagents = createSubagents({
    parent: deps,
    // The run itself has warned of whatever is wrong with these files.
    context: createContext({ ...about, tools: ownTools.specs(), warn: () => {}, role: 'subagent' }),
    tools: ownTools,
    hold: (id) => store.hold(id),
  })
  return { ok: true, value: { session, spent: spending.total, deps, subagents } }
}

function limitsOf(args: RunArgs, settings: Settings, model: string): TurnLimits {
  return {
    max_turns: args.maxTurns ?? DEFAULT_MAX_TURNS,
    input_tokens: settings.compaction.input_tokens ?? budgetOf(model),
    ...(settings.compaction.always && { always: true }),
  }
}

async function closing(store: StorePort, result: { ok: false; message: string }): Promise<typeof result> {
  await store.close()
  return result
}

async function closeAll(subagents: Subagents, session: RunSession, store: StorePort, model: Model): Promise<void> {
  await subagents.settled()
  model.close()
  await endAllGroups()
  await session.journal.release()
  await store.close()
}
