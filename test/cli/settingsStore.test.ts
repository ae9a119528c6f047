import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resultOf } from '../support/agent.ts'
import { write } from '../support/write.ts'
import { type SetUp, setUp } from './setUp.ts'

function userFile({ home }: SetUp): string {
  return join(home, '.agent/settings.json')
}

describe('the store that settings name', () => {
  const idsIn = (stdout: string): string[] =>
    (JSON.parse(stdout) as Array<{ session_id: string }>).map(({ session_id }) => session_id)

  test('is the one that every command about sessions looks at', async () => {
    const agent = await setUp(['an answer'])
    write(userFile(agent), { store: `sqlite://${agent.home}/elsewhere.sqlite` })
    const { session_id } = resultOf(await agent.run(['-p', 'hi']))
    const list = await agent.run(['sessions', '--json'])
    const looks = [['trace'], ['replay'], ['sessions', 'show'], ['sessions', 'export'], ['graph', '--session']]
    const codes = await Promise.all(looks.map(async (words) => (await agent.run([...words, session_id])).code))
    expect({ list: idsIn(list.stdout), codes, usual: existsSync(join(agent.home, '.agent/sessions.sqlite')) }).toEqual({
      list: [session_id],
      codes: [0, 0, 0, 0, 0],
      usual: false,
    })
  })

  test('may be named by --settings, for a run and for what looks at it', async () => {
    const agent = await setUp(['an answer'])
    const file = write(join(agent.home, 'other.json'), { store: `sqlite://${agent.home}/elsewhere.sqlite` })
    const { session_id } = resultOf(await agent.run(['--settings', file, '-p', 'hi']))
    const there = await agent.run(['sessions', '--settings', file, '--json'])
    const here = await agent.run(['sessions', '--json'])
    expect([idsIn(there.stdout), idsIn(here.stdout)]).toEqual([[session_id], []])
  })

  test('is not guessed where the settings are broken; the chart alone needs none', async () => {
    const agent = await setUp([])
    write(userFile(agent), '{"store": 5}')
    const [list, graph] = [await agent.run(['sessions']), await agent.run(['graph'])]
    expect({ codes: [list.code, graph.code], stdout: list.stdout, stderr: list.stderr }).toEqual({
      codes: [2, 0],
      stdout: '',
      stderr: `agent: ${userFile(agent)}, line 1: "store" must be a string, not 5.\n`,
    })
  })
})
