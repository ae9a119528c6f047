/** Control sequences from models, tools, file names and settings do nothing wherever they are printed. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiError, call, reply, text } from '../support/fakeModel.ts'
import { atTerminal, HAS_TERMINAL } from '../support/pty.ts'
import { write } from '../support/write.ts'
import { type SetUp, setUp } from './setUp.ts'

/** Clear, clipboard, link, title, C1, backspaces, carriage return, DEL, bidirectional override. */
const EVIL = '\x1b[2J\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x1b]0;title\x07\x9b31m\x90q\x9c\b\b\r\x7f\u202ereversed'
/** What a terminal would act on; colours of our own are looked at apart. */
const RAW = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/

/** Names without what no file name can hold. */
const NAME = EVIL.replaceAll('/', '')

async function withEvil(): Promise<SetUp & { session_id: string }> {
  const agent = await setUp((_, n) =>
    n === 0
      ? reply([
          text(`words ${EVIL} more`),
          call('bash', { command: `echo '${EVIL}'; ls ${EVIL}` }),
          call('read_file', { path: `no${EVIL}` }),
          call(`tool`, { [`key${EVIL}`]: EVIL }),
        ])
      : `answer ${EVIL}`,
  )
  write(join(agent.dir, `file${NAME}.txt`), EVIL)
  write(join(agent.dir, 'AGENTS.md'), `@missing${EVIL.replaceAll('\r', '')}\n`)
  write(join(agent.dir, '.agent/settings.json'), { [`odd${EVIL}`]: 1, permissions: { deny: [`Read(${EVIL})`] } })
  write(
    join(agent.dir, 'skills/one/SKILL.md'),
    `---\nname: one\ndescription: "d ${JSON.stringify(EVIL).slice(1, -1)}"\n---\n`,
  )
  write(join(agent.dir, `skills/two${NAME}/SKILL.md`), `${EVIL}\n`)
  write(join(agent.dir, '.memory/a.md'), `---\nname: a${EVIL}\ndescription: ${EVIL}\ntype: user\n---\n${EVIL}\n`)
  const end = await agent.run(['--yes', '--json', '-p', `look ${EVIL} @file${NAME}.txt @no${EVIL}`])
  return { ...agent, session_id: JSON.parse(end.stdout).session_id }
}

test('a run in text mode, in a pipe: neither stdout nor stderr holds any', async () => {
  const agent = await withEvil()
  for (const format of ['text', 'json', 'stream-json']) {
    const end = await agent.run(['--yes', '--debug', '--output-format', format, '-p', `again ${EVIL}`])
    expect([format, RAW.exec(end.stderr)]).toEqual([format, null])
    // JSON escapes what a terminal would act on; what turns text around stays text there.
    const turning = format === 'text' ? '' : '\u202e'
    expect([format, RAW.exec(end.stdout.replaceAll(turning, ''))]).toEqual([format, null])
    expect(end.stdout).toContain(format === 'text' ? 'answer ␛[2J' : 'answer \\u001b[2J')
  }
})

describe('commands that show what was kept', () => {
  test.each([
    [['sessions']],
    [['sessions', '--all']],
    [['sessions', 'show', 'ID']],
    [['sessions', 'show', `no${EVIL}`]],
    [['trace', 'ID']],
    [['trace', `x${EVIL}`]],
    [['replay', 'ID']],
    [['replay', 'ID', '--at', `1${EVIL}`]],
    [['graph', '--session', `x${EVIL}`]],
    [['graph', '--format', `x${EVIL}`]],
    [['fork', `x${EVIL}`, '--at', '1']],
    [['skills']],
    [['memory']],
    [['memory', 'show', 'a']],
    [['memory', 'show', `a${EVIL}`]],
    [['config']],
    [['trust', `x${EVIL}`]],
    [['trust', '--list']],
    [[`unknown${EVIL}`]],
    [[`--unknown${EVIL}`]],
    [['--output-format', EVIL, '-p', 'x']],
    [['--model', `replay:${EVIL}`, '-p', 'x']],
    [['--settings', `no${EVIL}`, '-p', 'x']],
    [['--resume', `no${EVIL}`, '-p', 'x']],
    [['--max-turns', EVIL, '-p', 'x']],
    [['-p', 'x', EVIL]],
    [['inspect', `x${EVIL}`]],
  ])('%j', async (args) => {
    const agent = await withEvil()
    const end = await agent.run(args.map((arg) => (arg === 'ID' ? agent.session_id : arg)))
    expect([RAW.exec(end.stdout), RAW.exec(end.stderr)]).toEqual([null, null])
    expect(end.stdout + end.stderr).not.toBe('')
  })

  test('a working directory with such a name', async () => {
    const agent = await setUp(['ok'])
    const dir = join(agent.dir, NAME)
    write(join(dir, 'AGENTS.md'), '@missing\n')
    for (const args of [
      ['--output-format', 'text', '-p', 'x'],
      ['trust'],
      ['trust', '--list'],
      ['sessions', '--all'],
      ['config'],
    ]) {
      const end = await agent.bare(['-C', dir, ...args])
      expect([args, end.code, RAW.exec(end.stdout), RAW.exec(end.stderr)]).toEqual([args, 0, null, null])
    }
    const missing = await agent.bare(['-C', `${dir}2`, '-p', 'x'])
    expect([missing.code, RAW.exec(missing.stderr)]).toEqual([2, null])
  })
})

test('the message of an error of the server', async () => {
  const agent = await setUp(() => apiError(400, 'invalid_request_error', `bad ${EVIL}`))
  const end = await agent.run(['--output-format', 'text', '-p', 'x'])
  expect([end.code, RAW.exec(end.stderr), RAW.exec(end.stdout)]).toEqual([1, null, null])
  expect(end.stderr).toContain('bad ␛[2J')
})

test.runIf(HAS_TERMINAL)('on a terminal only our own colours and line moves come, and the words stay', async () => {
  const agent = await setUp((_, n) =>
    n === 0 ? reply([text(`words ${EVIL}`), call('bash', { command: `echo '${EVIL}'` })]) : `answer ${EVIL} end`,
  )
  const terminal = atTerminal(['-C', agent.dir, '--yes', '-p', 'go'], { url: agent.model.url, home: agent.home })
  expect(await terminal.end()).toBe(0)
  const ours = terminal.seen().replace(/\x1b\[(?:[\d;]*m|\d*[AGK]|\?25[hl])|\r\n?/g, '')
  expect(RAW.exec(ours)).toBe(null)
  expect(ours).toContain('words ␛[2J␛]52;c;aGk=␇')
  expect(ours).toContain('reversed end')
})
