/** The parts of one run over the real world: tools, context, permissions, memory, skills, subagents. */
import type { TurnLimits } from '../machines/journal.ts'
import { createTaskOutputs } from '../services/compaction/taskOutputs.ts'
import { createContext } from '../services/context/index.ts'
import type { Model } from '../services/model/index.ts'
import { budgetOf, DEFAULT_MODEL, maxOutputOf } from '../services/model/prices.ts'
import { userHome } from '../services/paths.ts'
import { createPermissions } from '../services/permissions/index.ts'
import type { AskPerson, Observe, Result, RunTask, StorePort } from '../services/ports.ts'
import type { RunParts } from '../services/provide/deps.ts'
import { createSubagents, type Subagents } from '../services/provide/subagent.ts'
import type { LoadedSettings, Settings } from '../services/settings/index.ts'
import { keepRules } from '../services/settings/keepRules.ts'
import { isTrusted } from '../services/settings/trust.ts'
import { createSkills } from '../services/skills/index.ts'
import type { StepPort } from '../services/stepPorts.ts'
import { compactTool } from '../services/tools/compact.ts'
import { seenBefore } from '../services/tools/files/seenBefore.ts'
import { loadSkillTool } from '../services/tools/loadSkill.ts'
import { createTools, SUBAGENT_TOOLS } from '../services/tools/registry.ts'
import { rememberTool } from '../services/tools/remember.ts'
import { markedEnv } from '../services/tools/shell/mark.ts'
import type { Sandbox } from '../services/tools/shell/sandbox.ts'
import { taskTool } from '../services/tools/task.ts'
import { childEnv } from './credentials.ts'
import { agentHome, existingDirectory } from './directory.ts'
import { withFault } from './faults.ts'
import { openMemory } from './memory.ts'
import { redactContext, redactorOf, redactTools } from './redactKey.ts'
import type { CommonOptions, RunRequest } from './request.ts'
import type { RunSession } from './session.ts'
import { settingsFor } from './settings.ts'
import { createSpending } from './spending.ts'

const DEFAULT_MAX_TURNS = 250

/** What is known before a run's parts can be made. */
export interface AssembleOptions {
  common: CommonOptions
  request: RunRequest
  /** Where the command line stands, as a real path. */
  here: string
  settings: LoadedSettings
  session: RunSession
  store: StorePort
  model: Model
  observe: Observe
  /** Stops the run before each service; null where it does not stop. */
  step: StepPort | null
  /** Someone to ask before a tool runs; null in headless runs. */
  ask: AskPerson | null
}

export interface Parts {
  session: RunSession
  settings: Settings
  deps: RunParts
  subagents: Subagents
  sandbox: Sandbox | null
  /** USD so far; null where a model's price is not known. */
  spent: () => number | null
}

/** The directory of the run: the one that was named, else the session's own. */
async function directoryOf({ common, here, session, observe }: AssembleOptions): Promise<Result<string>> {
  const own = session.conversation.session?.cwd ?? here
  if (own === here) return { ok: true, value: here }
  if (common.cwd === null) {
    const found = await existingDirectory(own, "The session's directory")
    return found.ok ? found : { ok: false, message: `${found.message} Give another with -C <dir>.` }
  }
  const message = `This session began in ${own}; its tools now run in ${here}, as -C says.`
  observe({ type: 'warning', message })
  return { ok: true, value: here }
}

/** @returns null where none is wanted; where it is and cannot be had, nothing runs without it */
async function sandboxFor(cwd: string, request: RunRequest, { sandbox }: Settings): Promise<Result<Sandbox | null>> {
  if (!request.sandbox && !sandbox.enabled) return { ok: true, value: null }
  const { openSandbox } = await import('../services/tools/shell/sandbox.ts')
  return openSandbox({ cwd, network: sandbox.network })
}

/** @returns the parts, or why the run cannot begin */
export async function assemble(options: AssembleOptions): Promise<Result<Parts>> {
  const { common, request, here, session, store, model, observe } = options
  const warn = (message: string): void => observe({ type: 'warning', message })
  const directory = await directoryOf(options)
  if (!directory.ok) return directory
  const cwd = directory.value
  const applied = cwd === here ? { ok: true as const, value: options.settings } : await settingsFor(cwd, common)
  if (!applied.ok) return applied
  const { settings, warnings } = applied.value
  for (const message of [...warnings, ...session.warnings]) warn(message)
  const name = model.name ?? request.model ?? settings.model ?? DEFAULT_MODEL
  const home = userHome()
  const place = { cwd, home, agentHome: agentHome(process.env), trusted: isTrusted(agentHome(process.env), cwd) }
  const skills = createSkills({ ...place, warn })
  await skills.read()
  const permissions = await createPermissions({
    ...place,
    yes: request.yes,
    readable: skills.directories(),
    rules: settings.permissions,
    ask: options.ask,
    keep: (rules) => keepRules(place.agentHome, rules),
    warn,
  })
  if (!permissions.ok) return permissions
  const sandbox = await sandboxFor(cwd, request, settings)
  if (!sandbox.ok) return sandbox
  const runTask: RunTask = (task) => subagents.run(task)
  const maxOutputTokens = settings.max_output_tokens ?? maxOutputOf(name)
  const spending = createSpending(model)
  const memory = openMemory({ cwd, settings, model: spending.model, name, maxOutputTokens, warn })
  const more = [taskTool(runTask), loadSkillTool(skills), compactTool, ...(memory ? [rememberTool(memory.notes)] : [])]
  const secret = redactorOf(process.env)
  const tools = redactTools(createTools({ more }), secret)
  const ownTools = redactTools(createTools({ builtIn: SUBAGENT_TOOLS }), secret)
  const about = { ...place, now: () => new Date(), env: process.env, appendSystemPrompt: request.appendSystemPrompt }
  const deps = withFault({
    session: { session_id: session.session_id, cwd, model: name },
    limits: limitsOf(request, settings, name),
    maxOutputTokens,
    context: redactContext(
      createContext({
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
      secret,
    ),
    model: spending.model,
    tools,
    toolEnv: {
      cwd,
      childEnv: markedEnv(childEnv(process.env, settings.env), session.session_id),
      seen: seenBefore(session.entries),
      hides: (path) => permissions.value.hides(path),
      ...(sandbox.value && { sandbox: sandbox.value.prefix }),
    },
    permissions: permissions.value,
    outputs: createTaskOutputs(cwd),
    ...(memory && { memory }),
    ...(options.step && { step: options.step }),
    observe,
  })
  const subagents = createSubagents({
    parent: deps,
    // The run itself has warned of whatever is wrong with these files.
    context: redactContext(
      createContext({ ...about, tools: ownTools.specs(), warn: () => {}, role: 'subagent' }),
      secret,
    ),
    tools: ownTools,
    hold: (id) => store.hold(id),
  })
  return { ok: true, value: { session, settings, spent: spending.total, deps, subagents, sandbox: sandbox.value } }
}

/** @returns what bounds a turn with this model */
export function limitsOf(request: RunRequest, settings: Settings, model: string): TurnLimits {
  return {
    max_turns: request.maxTurns ?? DEFAULT_MAX_TURNS,
    input_tokens: settings.compaction.input_tokens ?? budgetOf(model),
    ...(settings.compaction.always && { always: true }),
  }
}
