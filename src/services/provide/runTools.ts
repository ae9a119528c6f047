/**
 * The `runTools` service: the open calls of one reply. Calls run side by side; where one could see another half done,
 * they run in call order. A start is on disk before the tool runs, a result before anyone sees it.
 */
import { messageOf } from '../../machines/errorText.ts'
import type { ToolFinishedRecord } from '../../machines/journal.ts'
import type { ToolResultBlock, ToolUseBlock } from '../../machines/messages.ts'
import type { ToolsInput, ToolsOutcome } from '../../machines/outcomes.ts'
import type { CheckedCall, Delegated, ToolEnv, ToolResult } from '../ports.ts'
import type { RunDeps } from './deps.ts'
import { keepLarge } from './largeResult.ts'

type Finished = Omit<ToolFinishedRecord, 'type' | 'id'>

/** Runs the calls to their results. Where a bug of ours stops one of them, the others are ended before it is told. */
export async function runTools(deps: RunDeps, input: ToolsInput, signal: AbortSignal): Promise<ToolsOutcome> {
  const checked = await Promise.all(input.calls.map((call) => deps.tools.check(call, deps.session.cwd)))
  const ending = new AbortController()
  const either = AbortSignal.any([signal, ending.signal])
  const runs: Array<Promise<ToolResultBlock>> = []
  input.calls.forEach((call, i) => {
    const ready = checked[i] as CheckedCall
    const before = runs.filter((_, k) => comesAfter(ready, checked[k] as CheckedCall))
    const run = () => runCall(deps, input, call, ready, either)
    runs.push(before.length === 0 ? run() : Promise.allSettled(before).then(run))
  })
  const results = await Promise.all(runs).catch(async (error: unknown) => {
    // Nothing may run on, or be recorded, behind the end of the turn.
    ending.abort()
    await Promise.allSettled(runs)
    throw error
  })
  const message = { role: 'user' as const, content: results }
  deps.observe({ type: 'toolResults', message, parent_tool_use_id: deps.session.parent?.tool_use_id ?? null })
  return { kind: 'ran' }
}

/**
 * Calls about one file keep their order. What looks at files it does not name (a command, a search, a subagent) comes
 * after the writes before it: a model that writes a test and runs it in one reply means the new one. Commands hold up
 * nothing, since they may take minutes.
 */
function comesAfter(later: CheckedCall, earlier: CheckedCall): boolean {
  if (later.kind !== 'ready' || earlier.kind !== 'ready') return false
  const [key, before] = [later.plan.key, earlier.plan.key]
  if (key !== null && key === before) return true
  if (earlier.effect.kind === 'write') return key === null
  return before === null && earlier.effect.kind === 'read' && later.effect.kind === 'write'
}

async function runCall(
  deps: RunDeps,
  { report }: ToolsInput,
  call: ToolUseBlock,
  checked: CheckedCall,
  signal: AbortSignal,
): Promise<ToolResultBlock> {
  const finished = await attempt(deps, report, call, checked, signal)
  signal.throwIfAborted()
  const record: ToolFinishedRecord = { type: 'toolFinished', id: call.id, ...finished }
  await deps.recorder.note(deps.state(), record)
  report({ type: 'toolFinished', record })
  const { is_error, denied, ms } = record
  deps.observe({ type: 'toolFinished', call, is_error, ...(denied && { denied }), ms })
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    content: record.content,
    ...(record.is_error && { is_error: true }),
  }
}

/** Decides, and where the call is allowed, starts it. A call that is not allowed never counts as started. */
async function attempt(
  deps: RunDeps,
  report: ToolsInput['report'],
  call: ToolUseBlock,
  checked: CheckedCall,
  signal: AbortSignal,
): Promise<Finished> {
  if (checked.kind === 'invalid') return { content: checked.content, is_error: true, ms: 0 }
  const decision = await deps.permissions.settle(call, checked.effect, signal)
  if (decision.kind !== 'allow') {
    const content = `Permission refused: ${decision.reason} Nothing was run. ${decision.howToAllow}`
    return { content, is_error: true, denied: true, ms: 0 }
  }
  signal.throwIfAborted()
  const record = { type: 'toolStarted', id: call.id } as const
  await deps.recorder.note(deps.state(), record)
  // From here on: how long a person thought about the question is not the call's time.
  const began = deps.now()
  report({ type: 'toolStarted', record })
  deps.observe({ type: 'toolStarted', call })
  const spool = deps.outputs.spool(call.id)
  const approved = new Map(decision.paths?.map(({ given, real }) => [given, real]))
  const result = await runSafely(checked, { ...deps.toolEnv, approved, signal, spool })
  const kept = await keepLarge(deps, call.id, result.content, spool.end())
  const ms = Math.round(deps.now() - began)
  return { ...kept, is_error: result.kind === 'error', ...costOf(result.delegated), ms }
}

function costOf(delegated: Delegated | undefined): Partial<Finished> {
  if (delegated === undefined) return {}
  const { usage, api_ms, denials } = delegated
  return { usage, api_ms, ...(denials.length > 0 && { denials }) }
}

/** A tool that throws has a bug; the model gets it as an error and the loop goes on. */
async function runSafely(checked: Extract<CheckedCall, { kind: 'ready' }>, env: ToolEnv): Promise<ToolResult> {
  try {
    return await checked.run(env)
  } catch (error) {
    return { kind: 'error', content: `The tool failed: ${messageOf(error)}` }
  }
}
