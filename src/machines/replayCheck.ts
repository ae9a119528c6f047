/**
 * What a record must fit to beside the state it came in. The fold is lenient, so that a session never becomes
 * unreadable; a replay is not. Pure.
 */
import { dueCompaction } from './budget.ts'
import type { Conversation } from './conversation.ts'
import type { JournalRecord } from './journal.ts'

/** The recording and the machine disagree: a clause that follows the record's name. */
export class Parted extends Error {}

/** @throws Parted where the conversation cannot have led to this record */
export function checkFits(record: JournalRecord, c: Conversation): void {
  switch (record.type) {
    case 'toolStarted':
      checkCall(record.id, c, ['waiting'])
      break
    case 'toolFinished':
      checkCall(record.id, c, ['waiting', 'started'])
      break
    case 'reply':
      checkIds(
        record.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
        c,
      )
      break
    case 'compacted':
      checkTrigger(record.trigger, c)
      checkNumber('the input before it', record.before_tokens, c.gauge)
      if (record.kept > 0 && c.messages.at(-record.kept)?.role !== 'assistant')
        throw new Parted(`keeps ${record.kept} messages, but they do not begin with a reply.`)
      break
    case 'compactionFailed':
      checkTrigger(record.trigger, c)
      break
    default:
  }
}

function checkCall(id: string, { round }: Conversation, states: string[]): void {
  const one = round.find(({ call }) => call.id === id)
  if (one === undefined) throw new Parted(`is about the call ${id}, which no reply has made.`)
  if (!states.includes(one.state)) throw new Parted(`is about the call ${id}, which is ${one.state} already.`)
}

function checkIds(ids: string[], { messages }: Conversation): void {
  if (new Set(ids).size < ids.length) throw new Parted('has two calls with one id.')
  if (ids.length === 0) return
  for (const { role, content } of messages) {
    if (role === 'user') continue
    for (const block of content)
      if (block.type === 'tool_use' && ids.includes(block.id))
        throw new Parted(`makes the call ${block.id} a second time.`)
  }
}

function checkTrigger(trigger: string, c: Conversation): void {
  const due = dueCompaction(c)
  if (trigger !== due) throw new Parted(`has the trigger ${trigger}, but what was due is ${due}.`)
}

function checkNumber(name: string, recorded: number, reached: number): void {
  if (recorded !== reached) throw new Parted(`says ${recorded} for ${name}, but it was ${reached}.`)
}
