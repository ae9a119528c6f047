/** The `compact` service: the summary that becomes the conversation, and the files in which it can be looked up. */
import { nextInput } from '../../machines/budget.ts'
import type { Conversation } from '../../machines/conversation.ts'
import { planEmergency } from '../../machines/emergency.ts'
import { step } from '../../machines/fold.ts'
import type { CompactedRecord, SavedResult } from '../../machines/journal.ts'
import type { Wanted } from '../../machines/layers/results.ts'
import { forModel } from '../../machines/otherModel.ts'
import type { CompactInput, CompactOutcome } from '../../machines/outcomes.ts'
import { summarised } from '../../machines/request.ts'
import { baseOf, currentContext } from './callModel.ts'
import type { RunDeps } from './deps.ts'
import { type Subject, summarise } from './summarise.ts'

/** @returns the summary with the files that hold what it stands for, or why there is none; rejects when `signal` aborts */
export async function compact(deps: RunDeps, input: CompactInput, signal: AbortSignal): Promise<CompactOutcome> {
  const { conversation, trigger, report } = input
  const base = baseOf(deps, await currentContext(deps, conversation, report, signal))
  const began = deps.now()
  const { subject, shorten } = subjectOf(input, deps.session.model)
  const { kept } = subject
  const summary = await summarise(deps, base, subject, signal)
  const { usage } = summary
  if (summary.kind === 'useless') {
    const message = `The conversation could not be compacted: ${summary.why} It is unchanged; resume the session to try again.`
    const ms = Math.round(deps.now() - began)
    return { kind: 'compactionFailed', record: { type: 'compactionFailed', trigger, message, usage, ms } }
  }
  const record: CompactedRecord = {
    type: 'compacted',
    trigger,
    summary: summary.text,
    kept,
    ...(shorten.length > 0 && { shortened: await putAway(deps, shorten) }),
    transcript: await writeTranscript(deps, conversation),
    before_tokens: conversation.gauge,
    usage,
    ms: Math.round(deps.now() - began),
  }
  signal.throwIfAborted()
  announce(deps, conversation, record)
  return { kind: 'compacted', record }
}

/** @returns what is to be summarised, and which results are shortened beside */
export function subjectOf(
  input: Pick<CompactInput, 'conversation' | 'trigger'>,
  model: string,
): { subject: Subject; shorten: Wanted[] } {
  const { trigger } = input
  const conversation = forModel(input.conversation, model)
  const { kept, shorten } = trigger === 'emergency' ? planEmergency(conversation) : { kept: 0, shorten: [] }
  return { subject: { conversation, kept, focus: focusOf(conversation) }, shorten }
}

function focusOf({ turn: { compaction } }: Conversation): string | null {
  return compaction.due?.trigger === 'tool' ? compaction.due.focus : null
}

/** In an emergency a result that cannot be saved is shortened all the same: the session must fit. */
async function putAway(deps: RunDeps, wanted: Wanted[]): Promise<SavedResult[]> {
  return Promise.all(
    wanted.map(async ({ id, content }): Promise<SavedResult> => {
      const written = await deps.outputs.saveResult(id, content)
      return { id, paths: written.ok ? written.value : [] }
    }),
  )
}

/** The whole conversation, written once its summary is good; it goes on without where that fails. */
async function writeTranscript(deps: RunDeps, conversation: Conversation): Promise<string | null> {
  const n = conversation.compactions + 1
  const written = await deps.outputs.writeTranscript(deps.session.session_id, n, summarised(conversation))
  if (!written.ok) {
    const message = `The conversation before its summary could not be written to a file: ${written.message}`
    deps.observe({ type: 'warning', message })
  }
  return written.ok ? written.value : null
}

function announce(deps: RunDeps, before: Conversation, record: CompactedRecord): void {
  const { trigger, before_tokens } = record
  const after_tokens = nextInput(step(before, record))
  deps.observe({ type: 'compacted', trigger, before_tokens, after_tokens })
}
