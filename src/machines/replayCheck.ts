/**
 * What a record must fit to beside the state it came in. The fold is lenient, so that a session never becomes
 * unreadable; a replay is not. Pure.
 */
import { dueCompaction } from './budget.ts'
import type { Conversation } from './conversation.ts'
import type { JournalRecord, ReplyRecord } from './journal.ts'
import type { Message } from './messages.ts'

/** The recording and the machine disagree: a clause that follows the record's name. */
export class Parted extends Error {}

/** Holds each record of one journal to the conversation before it; keeps the ids of the calls, to know them quickly. */
export class RecordCheck {
  /** Ids of the calls in the messages; null where messages were taken out since. */
  #ids: Set<string> | null = new Set()

  /** @throws Parted where the conversation cannot have led to this record */
  check(record: JournalRecord, c: Conversation): void {
    switch (record.type) {
      case 'toolStarted':
        checkCall(record.id, c, ['waiting'])
        break
      case 'toolFinished':
        checkCall(record.id, c, ['waiting', 'started'])
        break
      case 'reply':
        this.#checkIds(record, c)
        break
      case 'trimmed':
        this.#ids = null
        break
      case 'compacted':
        this.#ids = null
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

  #checkIds({ content, stop_reason }: ReplyRecord, { messages }: Conversation): void {
    // What was refused is not kept, so its ids are free.
    if (stop_reason === 'refusal') return
    const ids = this.#ids ?? new Set(messages.flatMap(callIds))
    this.#ids = ids
    for (const id of callIds({ content })) {
      if (ids.has(id)) throw new Parted(`makes the call ${id} a second time.`)
      ids.add(id)
    }
  }
}

function callIds({ content }: Pick<Message, 'content'>): string[] {
  return content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
}

function checkCall(id: string, { round }: Conversation, states: string[]): void {
  const one = round.find(({ call }) => call.id === id)
  if (one === undefined) throw new Parted(`is about the call ${id}, which no reply has made.`)
  if (!states.includes(one.state)) throw new Parted(`is about the call ${id}, which is ${one.state} already.`)
}

function checkTrigger(trigger: string, c: Conversation): void {
  const due = dueCompaction(c)
  if (trigger !== due) throw new Parted(`has the trigger ${trigger}, but what was due is ${due}.`)
}

function checkNumber(name: string, recorded: number, reached: number): void {
  if (recorded !== reached) throw new Parted(`says ${recorded} for ${name}, but it was ${reached}.`)
}
