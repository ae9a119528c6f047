/** The `loadContext` service: what the turn begins with, as records. */
import { canCompact } from '../../machines/compaction.ts'
import { type Conversation, isUnfinished } from '../../machines/conversation.ts'
import type { OpenedRecord, PromptRecord } from '../../machines/journal.ts'
import type { LoadInput, LoadOutcome } from '../../machines/outcomes.ts'
import type { RunDeps } from './deps.ts'

const FINISHED = 'The last turn of this session is finished: give a new prompt with -p "<prompt>".'

/** @returns the records that begin the turn, or why it cannot begin */
export async function loadContext(deps: RunDeps, { conversation }: LoadInput): Promise<LoadOutcome> {
  const { session, begin, limits } = deps
  const { cwd } = session
  if (begin.kind === 'compact') return beginCompaction(deps, conversation, begin.focus)
  if (begin.kind === 'resume' && !isUnfinished(conversation)) return { kind: 'unloadable', message: FINISHED }
  // A subagent's turn is a part of its parent's, which remembers.
  const isOn = session.parent === undefined && deps.memory?.notes.isOn() === true
  const memory = isOn && { memory: true as const }
  if (begin.kind === 'resume') return { kind: 'loaded', records: [{ type: 'resumed', cwd, limits, ...memory }] }
  const blocks = await deps.context.expandPrompt(begin.text, begin.extra)
  const prompt: PromptRecord = { type: 'prompt', text: begin.text, blocks, cwd, limits, ...memory }
  if (conversation.session !== null) return { kind: 'loaded', records: [prompt] }
  const opened: OpenedRecord = { type: 'opened', ...session }
  return { kind: 'loaded', records: [opened, prompt] }
}

const NOTHING_TO_SUMMARISE = 'There is nothing to summarise: the conversation is empty, or a summary already.'

function beginCompaction(deps: RunDeps, conversation: Conversation, focus: string | null): LoadOutcome {
  if (!canCompact(conversation)) return { kind: 'unloadable', message: NOTHING_TO_SUMMARISE }
  const { session, limits } = deps
  return { kind: 'loaded', records: [{ type: 'resumed', cwd: session.cwd, limits, compact: { focus } }] }
}
