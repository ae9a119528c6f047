/**
 * Writes a run's records in order through the session's journal. A store that cannot be written does not end the
 * run: from then on nothing more is written (a journal with a gap would be worse than a short one), and `fault`
 * says why, so that the answer is still delivered and the run ends with an error (contract.md, 6).
 */
import type { Conversation } from '../../machines/conversation.ts'
import { messageOf } from '../../machines/errorText.ts'
import type { JournalRecord, NewEntry, StateName } from '../../machines/journal.ts'
import type { HeadUpdate, Journal } from '../ports.ts'

export interface Recorder {
  /** Writes the entries with the conversation they lead to. Resolves when they are on disk or known to be lost. */
  write(entries: NewEntry[], conversation: Conversation): Promise<void>
  /** Writes one record of a service at work, on top of what the last `write` left. */
  note(state: StateName, record: JournalRecord): Promise<void>
  fault(): string | null
}

/** @param warn told once, when the first write fails */
export function createRecorder(journal: Journal, warn: (message: string) => void): Recorder {
  let fault: string | null = null
  let head: HeadUpdate | null = null
  let last: Promise<void> = Promise.resolve()

  const append = async (entries: NewEntry[], update: HeadUpdate): Promise<void> => {
    if (fault !== null) return
    try {
      await journal.append(entries, update)
    } catch (error) {
      fault = messageOf(error)
      warn(`This session is not being saved: ${fault}`)
    }
  }
  const queue = (entries: NewEntry[], update: HeadUpdate): Promise<void> => {
    last = last.then(() => append(entries, update))
    return last
  }

  return {
    write: (entries, conversation) => {
      head = headOf(conversation)
      return queue(entries, head)
    },
    note: (state, record) => {
      if (head === null) throw new Error('a service wrote a record before the session was opened')
      return queue([{ in: state, record }], head)
    },
    fault: () => fault,
  }
}

function headOf(c: Conversation): HeadUpdate {
  if (c.session === null) throw new Error('a session was written before it was opened')
  return {
    cwd: c.session.cwd,
    model: c.session.model,
    turns: c.prompts,
    first_prompt: c.firstPrompt,
    gauge: c.gauge,
    ...(c.session.parent && { parent: c.session.parent.session_id }),
  }
}
