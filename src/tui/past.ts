/**
 * An older session as it is shown when it is opened again: its last records go through the same transcript as what
 * happens now, so that it looks as it looked then.
 */
import type { Colors } from 'picocolors/types.js'
import { nextInput } from '../machines/budget.ts'
import { type Conversation, EMPTY } from '../machines/conversation.ts'
import { fold, step } from '../machines/fold.ts'
import type { JournalRecord } from '../machines/journal.ts'
import type { ToolUseBlock } from '../machines/messages.ts'
import { resultsOf } from '../machines/round.ts'
import { clip } from '../services/text.ts'
import { promptBlock, textOfResult } from './blocks.ts'
import type { OpenSession } from './desk.ts'
import { pastChangeOf } from './edits.ts'
import type { Block } from './screen.ts'
import { endLines } from './sentences.ts'
import type { Transcript } from './transcript.ts'

/** Prompts and replies that are shown; what is before them is in `/trace` and `agent sessions show`. */
const SHOWN = 24

export interface PastOptions {
  transcript: Transcript
  print(...blocks: Block[]): void
  /** Sentences to the person; printable. */
  tell(text: string): void
  colors: Colors
}

/** Shows the last records of a session that was opened again, and a line about those that are left out. */
export function showPast({ past, cwd }: Pick<OpenSession, 'past' | 'cwd'>, options: PastOptions): void {
  const { print, colors } = options
  const from = beginning(past)
  const left = past.slice(0, from).filter(isSaid).length
  if (left > 0)
    print((columns) => [colors.dim(clip(`… ${left} earlier messages (/trace shows what happened)`, columns))])
  // What the last turn is about is seen, however many calls it took.
  const request = past.findLastIndex(({ type }) => type === 'prompt')
  const asked = past[request]
  if (request < from && asked?.type === 'prompt')
    print(promptBlock(asked.text, colors), (columns) => [
      colors.dim(clip('… what came of it first is left out', columns)),
    ])
  // What came before matters only for how large the conversation is after a compaction.
  const isMeasured = past.slice(from).some(({ type }) => type === 'compacted')
  let conversation = isMeasured ? fold(past.slice(0, from)) : EMPTY
  for (const record of past.slice(from)) {
    const before = conversation
    conversation = step(before, record)
    show(record, before, conversation, cwd, options)
  }
  if (past.at(-1)?.type !== 'turnEnded') endRound(conversation, options)
}

/** @returns the index of the first record that is shown: that of a prompt or a reply */
function beginning(past: readonly JournalRecord[]): number {
  let said = 0
  for (let at = past.length - 1; at >= 0; at--) {
    const record = past[at]
    if (record !== undefined && isSaid(record) && ++said === SHOWN) return at
  }
  return 0
}

function isSaid({ type }: JournalRecord): boolean {
  return type === 'prompt' || type === 'reply'
}

function show(
  record: JournalRecord,
  before: Conversation,
  after: Conversation,
  cwd: string,
  options: PastOptions,
): void {
  const { transcript, print, tell, colors } = options
  // A turn that was ended has said what became of its calls.
  const end = (): void => {
    if (before.turn.status === 'open') endRound(before, options)
  }
  switch (record.type) {
    case 'prompt':
      end()
      print(promptBlock(record.text, colors))
      return
    case 'resumed':
      end()
      if (record.compact !== undefined) print(promptBlock(`/compact ${record.compact.focus ?? ''}`.trim(), colors))
      return
    case 'reply':
      transcript.show({ type: 'reply', record, parent_tool_use_id: null })
      return
    case 'toolStarted': {
      const call = callOf(before, record.id)
      if (call !== undefined) transcript.show({ type: 'toolStarted', call })
      return
    }
    case 'toolFinished': {
      const call = callOf(before, record.id)
      if (call === undefined) return
      if (!record.is_error) transcript.changes(call.id, pastChangeOf(call, textOfResult(record), cwd))
      const { is_error, denied, ms } = record
      transcript.show({ type: 'toolFinished', call, is_error, ...(denied && { denied }), ms })
      if (call.name === 'write_file' && textOfResult(record).startsWith('Replaced '))
        print((columns) => [colors.dim(clip('    (what was replaced is not in the journal)', columns))])
      if (after.round.every(({ state }) => state === 'finished')) showResults(after, transcript)
      return
    }
    case 'compacted': {
      const { trigger, before_tokens } = record
      transcript.show({ type: 'compacted', trigger, before_tokens, after_tokens: nextInput(after) })
      return
    }
    case 'remembered': {
      // What the files said then is in them; the names are in the journal.
      const memories = record.files.map((file) => ({ file, description: 'a memory' }))
      const { consolidated } = record
      if (memories.length > 0 || consolidated !== undefined)
        transcript.show({ type: 'remembered', memories, ...(consolidated && { consolidated }) })
      return
    }
    case 'turnEnded': {
      end()
      const { status, message = '' } = record
      const turn = { status, stop_reason: before.turn.stop_reason, failure: status === 'failed' ? { message } : null }
      for (const line of endLines({ turn, storeFault: null, unloadable: null }, colors)) tell(line)
      return
    }
    case 'opened':
    case 'context':
    case 'callFailed':
    case 'trimmed':
    case 'compactionFailed':
    case 'recalled':
    case 'interrupted':
    case 'fault':
      return
    default:
      record satisfies never
  }
}

/** Nothing more becomes of the round: what has ended of it and what was cut off. */
function endRound({ round }: Conversation, { transcript, print }: PastOptions): void {
  if (round.some(({ state }) => state !== 'finished')) showResults({ round }, transcript)
  print(...transcript.cutOff(round))
}

function showResults({ round }: Pick<Conversation, 'round'>, transcript: Transcript): void {
  const message = { role: 'user' as const, content: resultsOf(round) }
  transcript.show({ type: 'toolResults', message, parent_tool_use_id: null })
}

function callOf({ round }: Conversation, id: string): ToolUseBlock | undefined {
  return round.find(({ call }) => call.id === id)?.call
}
