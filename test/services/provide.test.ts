import { expect, test } from 'vitest'
import { EMPTY } from '../../src/machines/conversation.ts'
import type { JournalRecord } from '../../src/machines/journal.ts'
import { callModel } from '../../src/services/provide/callModel.ts'
import type { RunDeps } from '../../src/services/provide/deps.ts'

test('a turn that is interrupted while its context is read gets no record of that context', async () => {
  const turn = new AbortController()
  const records: JournalRecord[] = []
  const deps: Partial<RunDeps> = {
    session: { session_id: 'a', cwd: '/', model: 'm' },
    maxOutputTokens: 1,
    context: {
      expandPrompt: async () => [],
      read: async () => {
        turn.abort()
        return { hash: 'new', system: 'You are.', tools: [] }
      },
    },
    recorder: { write: async () => {}, note: async (_, record) => void records.push(record), fault: () => null },
    state: () => 'cancelled',
  }
  const calling = callModel(deps as RunDeps, { conversation: EMPTY, report: () => {} }, turn.signal)
  await expect(calling).rejects.toThrow('aborted')
  expect(records).toEqual([])
})
