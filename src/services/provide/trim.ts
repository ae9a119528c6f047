/** The `trim` service: puts on disk what the cheap layers take out, and says what was done. */
import type { Conversation } from '../../machines/conversation.ts'
import type { SavedResult, TrimStep } from '../../machines/journal.ts'
import { POLICY } from '../../machines/layers/policy.ts'
import type { Wanted } from '../../machines/layers/results.ts'
import { applyStep, LAYERS, type Wish, wishOf } from '../../machines/layers/trim.ts'
import type { TrimInput, TrimOutcome } from '../../machines/outcomes.ts'
import type { RunDeps } from './deps.ts'

/** @returns the steps whose files are written; rejects when `signal` aborts */
export async function trim(deps: RunDeps, input: TrimInput, signal: AbortSignal): Promise<TrimOutcome> {
  let conversation = input.conversation
  const done: TrimStep[] = []
  for (const layer of LAYERS) {
    const wish = wishOf(layer, conversation, POLICY)
    const step = wish === null ? null : await writeFor(deps, wish, conversation)
    signal.throwIfAborted()
    if (step === null) continue
    conversation = applyStep(conversation, step)
    done.push(step)
  }
  return { kind: 'trimmed', record: { type: 'trimmed', done } }
}

/** @returns the step once its files are written; null where nothing could be: what is not on disk stays in sight */
async function writeFor(deps: RunDeps, wish: Wish, { messages }: Conversation): Promise<TrimStep | null> {
  if (wish.layer === 'middle') {
    const { from, to } = wish.cut
    const path = await deps.outputs.appendSnipped(deps.session.session_id, messages.slice(from, to))
    return path.ok ? { layer: 'middle', from, to, path: path.value } : null
  }
  const results = await saveAll(deps, wish.results)
  return results.length === 0 ? null : { layer: wish.layer, results }
}

/** Saves results one after the other; those that could not be saved are left out. */
async function saveAll(deps: RunDeps, wanted: Wanted[]): Promise<SavedResult[]> {
  const saved: SavedResult[] = []
  for (const { id, content, paths } of wanted) {
    const written = paths === null ? await deps.outputs.saveResult(id, content) : { ok: true as const, value: paths }
    if (written.ok && written.value.length > 0) saved.push({ id, paths: written.value })
  }
  return saved
}
