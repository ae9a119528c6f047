import { expect, test } from 'vitest'
import type { JournalRecord } from '../../src/machines/journal.ts'
import { NO_USAGE } from '../../src/machines/messages.ts'
import { tokensOf } from '../../src/machines/trace.ts'

const usage = { ...NO_USAGE, input_tokens: 7, cache_read_input_tokens: 100, output_tokens: 5 }
const call = { purpose: 'recall', ok: true, usage, ms: 1 } as const

test('a line of a trace has the tokens of every call that its record tells of, paid for in vain too', () => {
  const records: JournalRecord[] = [
    { type: 'callFailed', reason: 'too_long', message: 'Full.', status: 200, usage, ms: 1 },
    { type: 'callFailed', reason: 'api_error', message: 'Down.', ms: 1 },
    { type: 'compactionFailed', trigger: 'budget', message: 'Empty.', usage, ms: 1 },
    { type: 'toolFinished', id: 'a', content: '', is_error: false, ms: 1, usage },
    { type: 'recalled', memories: [], by: 'nobody', calls: [call, call] },
    { type: 'interrupted', reason: 'SIGINT' },
  ]
  expect(records.map(tokensOf)).toEqual([112, 0, 112, 112, 224, 0])
})
