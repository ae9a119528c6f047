/** What a bug of ours leaves behind: src/run/faults.ts throws where a test says. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JournalEntry } from '../../src/machines/journal.ts'
import { resultOf } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

test('a bug beside a call that runs ends that call too, and nothing follows the turn in the journal', async () => {
  const calls = [
    call('bash', { command: 'sleep 3; touch late' }, 'slow'),
    call('bash', { command: 'seq 20000' }, 'long'),
  ]
  const { run, bare, dir } = await setUp([reply(calls)])
  const end = await run(['--yes', '-p', 'go'], { env: { AGENT_FAULT: 'throw outputs.saveResult 1 before' } })
  const { session_id, errors } = resultOf(end)
  const { stdout } = await bare(['sessions', 'export', session_id])
  const entries = stdout.trim().split('\n')
  const types = entries.map((line) => (JSON.parse(line) as JournalEntry).record.type)
  expect({
    code: end.code,
    errors,
    last: types.slice(-3),
    saved: !end.stderr.includes('not being saved'),
    replay: (await bare(['replay', session_id])).code,
    late: existsSync(join(dir, 'late')),
  }).toEqual({
    code: 1,
    errors: ['Internal error in runTools: AGENT_FAULT: before saveResult 1'],
    last: ['toolStarted', 'fault', 'turnEnded'],
    saved: true,
    replay: 0,
    late: false,
  })
})
