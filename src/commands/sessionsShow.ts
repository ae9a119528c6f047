/** A session as a person reads it: prompts, replies, calls with what came of them, in the order of the journal. */
import type { JournalRecord, PromptRecord, ReplyRecord, ToolFinishedRecord } from '../machines/journal.ts'
import type { RememberedRecord } from '../machines/memoryRecords.ts'
import { isBlank, type ToolUseBlock, textOf } from '../machines/messages.ts'
import { count } from '../machines/words.ts'
import type { LoadedSession, SessionHead } from '../services/ports.ts'
import {
  clip,
  describeCall,
  displayWidth,
  duration,
  padTo,
  printable,
  printableLine,
  tokens,
} from '../services/text.ts'
import { contentText, firstLines } from './lines.ts'
import { age } from './sessionsList.ts'
import type { View } from './view.ts'

/** How many lines of a result or a summary are shown; `export` has all of them. */
const SHOWN_LINES = 6

/**
 * Prints the whole session; long results are cut, replies are not.
 * @param holder whether a run is at work on it: what has no result at the end is then still to come
 */
export function showSession(session: LoadedSession, holder: 'run' | 'none', view: View): void {
  printHead(session.head, view)
  const reader = createReader(view)
  for (const entry of session.entries) reader.read(entry.record)
  reader.end(holder)
}

function printHead(head: SessionHead, view: View): void {
  const { bold, dim } = view.colors
  const fact = (name: string, value: string) => view.print(`${dim(padTo(name, 13))}${value}`)
  view.print(bold(`Session ${printableLine(head.session_id)}`))
  fact('directory', printableLine(head.cwd))
  fact('created', `${printableLine(head.created)} (${age(head.created, view.now)})`)
  fact('used', `${printableLine(head.used)} (${age(head.used, view.now)})`)
  fact('model', printableLine(head.model))
  fact('turns', String(head.turns))
  if (head.parent !== undefined) fact('subagent of', printableLine(head.parent))
}

interface OpenCall {
  call: ToolUseBlock
  state: 'not run' | 'never started' | 'interrupted, its outcome is unknown' | ToolFinishedRecord
}

function createReader(view: View): { read(record: JournalRecord): void; end(holder: 'run' | 'none'): void } {
  const { bold, dim, green, red, yellow } = view.colors
  /** The calls of the last reply that are not shown yet, in call order: that in which they ended is chance. */
  const open = new Map<string, OpenCall>()

  const paragraph = (text: string) => view.print(`\n${text}`)
  const callLine = (mark: string, call: ToolUseBlock, end: string) => {
    const name = clip(printableLine(call.name), 40)
    const room = Math.max(0, view.columns - displayWidth(name) - displayWidth(end) - 5)
    const args = describeCall(call, room)
    paragraph(`${mark} ${bold(name)}${args === '' ? '' : ` ${args}`} ${dim(end)}`)
  }
  const showOpen = (which: 'whatHasEnded' | 'all' | 'allOfRun') => {
    for (const [id, { call, state }] of open) {
      if (typeof state !== 'string') showFinished(call, state)
      else if (which === 'whatHasEnded') return
      else if (which === 'allOfRun')
        callLine(yellow('…'), call, state === 'never started' ? '(not started yet)' : '(running)')
      else callLine(red('✗'), call, `(${state})`)
      open.delete(id)
    }
  }
  const endRound = () => showOpen('all')
  const finished = (record: ToolFinishedRecord) => {
    const one = open.get(record.id)
    if (one === undefined) return showFinished({ type: 'tool_use', id: record.id, name: record.id, input: {} }, record)
    one.state = record
    showOpen('whatHasEnded')
  }
  const showFinished = (call: ToolUseBlock, record: ToolFinishedRecord) => {
    const end = record.denied === true ? '(refused)' : `${record.is_error ? 'failed ' : ''}${duration(record.ms)}`
    callLine(record.is_error ? red('✗') : green('✓'), call, end)
    for (const line of firstLines(contentText(record.content), SHOWN_LINES, view.columns)) view.print(dim(line))
  }
  const prompt = (record: PromptRecord) => {
    paragraph(bold(quoted(printable(record.text))))
    const attached = record.blocks.length - 1
    if (attached > 0) view.print(dim(`  (${attached} attached)`))
  }
  const reply = (record: ReplyRecord) => {
    const text = textOf(record.content)
    if (!isBlank(text)) paragraph(printable(text).trim())
    const state = record.incomplete === undefined ? 'never started' : 'not run'
    for (const block of record.content) if (block.type === 'tool_use') open.set(block.id, { call: block, state })
  }
  const read = (record: JournalRecord) => {
    if (ENDS_ROUND.has(record.type)) endRound()
    if (record.type === 'prompt') prompt(record)
    if (record.type === 'reply') reply(record)
    if (record.type === 'toolFinished') finished(record)
    const started = record.type === 'toolStarted' ? open.get(record.id) : undefined
    if (typeof started?.state === 'string') started.state = 'interrupted, its outcome is unknown'
    const note = noteOf(record)
    if (note !== null) paragraph(yellow(`[${printable(note).trim()}]`))
    if (record.type === 'compacted') {
      for (const line of firstLines(record.summary, SHOWN_LINES, view.columns)) view.print(dim(line))
    }
  }
  return { read, end: (holder) => showOpen(holder === 'run' ? 'allOfRun' : 'all') }
}

/** Records after which a call that still has no result will not get one. */
const ENDS_ROUND: ReadonlySet<JournalRecord['type']> = new Set([
  'prompt',
  'resumed',
  'reply',
  'compacted',
  'turnEnded',
] as const)

function rememberedNote({ files, consolidated }: RememberedRecord): string | null {
  const kept = files.length === 0 ? [] : [`remembered: ${files.join(', ')}`]
  const merged =
    consolidated === undefined
      ? []
      : [`${count(consolidated.before, 'memory', 'memories')} became ${consolidated.after}`]
  return kept.length + merged.length === 0 ? null : [...kept, ...merged].join('; ')
}

/** @returns what is to be said of a record beside the conversation itself, null for most. */
function noteOf(record: JournalRecord): string | null {
  switch (record.type) {
    case 'opened': {
      const from = record.forked_from
      return from === undefined ? null : `forked from ${from.session_id} at ${from.at}`
    }
    case 'resumed':
      return record.compact === undefined ? 'the unfinished turn is carried on' : 'a summary was asked for'
    case 'reply':
      return record.incomplete === undefined ? null : `the reply is not whole: ${record.incomplete.reason}`
    case 'callFailed':
      return `the model call failed: ${record.message}`
    case 'trimmed':
      return record.done.length === 0 ? null : 'old and long results were put away to make room'
    case 'compacted':
      return `compacted: a conversation of ${tokens(record.before_tokens)} tokens became a summary (${record.trigger})`
    case 'compactionFailed':
      return `the compaction failed: ${record.message}`
    case 'recalled':
      return record.memories.length === 0
        ? null
        : `with memories: ${record.memories.map(({ name }) => name).join(', ')}`
    case 'remembered':
      return rememberedNote(record)
    case 'interrupted':
      return `interrupted: ${record.reason}`
    case 'fault':
      return `${record.service} broke: ${record.message}`
    case 'turnEnded':
      if (record.subtype === 'success') return null
      return `the turn ended with ${record.subtype}${record.message === undefined ? '' : `: ${record.message}`}`
    case 'prompt':
    case 'context':
    case 'toolStarted':
    case 'toolFinished':
      return null
    default:
      return record satisfies never
  }
}

/** The first line after `> `, the others under it. */
function quoted(text: string): string {
  return text.trimEnd().split('\n').join('\n  ').replace(/^/, '> ')
}
