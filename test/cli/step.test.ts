/** `--step`: a run that stops before each service (contract.md, section 10). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agentEnv, CLI, ended, startAgent } from '../support/agent.ts'
import { call, reply } from '../support/fakeModel.ts'
import { setUp } from './setUp.ts'

const ROUNDS = [
  reply([call('bash', { command: 'echo one' }), call('write_file', { path: 'a.txt', content: 'line 1\nline 2\n' })]),
  reply('Done.'),
]

/** The lines that say where the run stopped. */
function stopsOf(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('after transition '))
}

test('n stops before every service, at the transitions that trace names', async () => {
  const { model, run, bare } = await setUp(ROUNDS)
  const end = await run(['--yes', '--step', '-p', 'Begin.'], { stdin: 'n\n'.repeat(30) })
  const result = JSON.parse(end.stdout) as { session_id: string; result: string }
  expect({ code: end.code, result: result.result, problems: model.problems }).toEqual({
    code: 0,
    result: 'Done.',
    problems: [],
  })
  const trace = (await bare(['trace', result.session_id, '--json'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { n: number; from: string; to: string; event: string })
  const service: Record<string, string> = {
    loadingContext: 'loadContext',
    persisting: 'persist',
    calling: 'callModel',
    runningTool: 'runTools',
  }
  // A service begins where a state is entered; what is only recorded leaves the state as it is.
  const entered = trace.filter(({ to, event }) => to in service && (event.startsWith('xstate.') || event === 'always'))
  expect(stopsOf(end.stderr)).toEqual([
    'after transition 0: loadingContext, before loadContext',
    ...entered.map(({ n, to }) => `after transition ${n}: ${to}, before ${service[to]}`),
  ])
})

test('what it says and prints is what then happens', async () => {
  const { model, dir, run } = await setUp(ROUNDS)
  const stdin = 'n\nn\np json\nn\nn\np\nc\n'
  const end = await run(['--yes', '--step', '--model', 'some-model', '-p', 'Begin.'], { stdin })
  const printed = end.stderr.split('\n').find((line) => line.startsWith('{'))
  const { stream, ...sent } = model.requests[0]?.body ?? {}
  expect(stream).toBe(true)
  expect(JSON.parse(printed ?? 'null')).toEqual(sent)
  const tools = model.requests[0]?.body.tools?.length
  for (const line of [
    '  asks some-model for a reply of at most 8,192 tokens',
    `  sends 1 message and ${tools} tools, about `,
    '  the last message: Begin.',
    '  writes 2 records to the journal:',
    '    prompt: Begin.',
    '    reply: calls bash, write_file',
    '  bash may run\n    command: echo one\n  write_file may run\n    path: a.txt\n    content:\n      line 1\n      line 2\n',
    '  next: xstate.done.actor.runTools -> persisting',
    '  next: interrupt -> persisting',
    '  recorded meanwhile: contextRead, toolStarted, toolFinished',
    'user:\n  | Begin.\nassistant:\n  → bash (toolu_0001)',
  ])
    expect(end.stderr).toContain(line)
  expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe('line 1\nline 2\n')
  expect(stopsOf(end.stderr)).toHaveLength(5)
})

test('what may not run is said before', async () => {
  const { run } = await setUp(ROUNDS)
  const end = await run(['--step', '-p', 'Begin.'], { stdin: 'g 6\nc\n' })
  expect(end.code).toBe(0)
  expect(end.stderr).toMatch(/ {2}bash must be asked for: .+/)
  expect(end.stderr).toMatch(/ {2}write_file must be asked for: .+/)
})

test('g goes on until the transition is taken', async () => {
  const { run } = await setUp(ROUNDS)
  const end = await run(['--yes', '--step', '-p', 'Begin.'], { stdin: 'g 12\ng 3\ng\ng 999\n' })
  expect(end.code).toBe(0)
  expect(stopsOf(end.stderr)).toEqual([
    'after transition 0: loadingContext, before loadContext',
    'after transition 13: calling, before callModel',
  ])
  expect(end.stderr).toContain('Transition 3 was taken already; the last one is 13.')
  expect(end.stderr).toContain('g needs the number of a transition, such as g 12.')
})

test('the end of stdin goes on to the end', async () => {
  const { run } = await setUp(ROUNDS)
  const closed = await run(['--yes', '--step', '-p', 'Begin.'])
  expect({ code: closed.code, stops: stopsOf(closed.stderr).length }).toEqual({ code: 0, stops: 1 })
})

test('the last command needs no line end, and an empty line means next', async () => {
  const { run } = await setUp(ROUNDS)
  const end = await run(['--yes', '--step', '-p', 'Begin.'], { stdin: '\n\nc' })
  expect({ code: end.code, stops: stopsOf(end.stderr).length }).toEqual({ code: 0, stops: 3 })
})

test.each([
  ['before anything was read', 'q\n', 0],
  ['before the prompt is written', 'n\nq\n', 0],
  ['before the model is called', 'n\nn\nq\n', 0],
  ['before the reply is written', 'n\nn\nn\nq\n', 1],
  ['before its calls run', 'n\nn\nn\nn\nq\n', 1],
])('q %s: the session is saved, the exit code 0, and it can be resumed', async (_, stdin, requests) => {
  let n = 0
  const { model, dir, run, bare } = await setUp(() => ROUNDS[n++] ?? reply('Went on.'))
  const end = await run(['--yes', '--step', '-p', 'Begin.'], { stdin })
  const { session_id } = JSON.parse(end.stdout) as { session_id: string }
  expect({ code: end.code, requests: model.requests.length }).toEqual({ code: 0, requests })
  expect(() => readFileSync(join(dir, 'a.txt'))).toThrow('ENOENT')
  const again = await bare(['--yes', '-r', session_id])
  expect({ code: again.code, problems: model.problems }).toEqual({ code: 0, problems: [] })
  expect(JSON.stringify(model.requests.at(-1)?.body.messages[0])).toContain('Begin.')
})

test('the numbers of a resumed session go on where they were', async () => {
  const { run, bare } = await setUp([reply('One.'), reply('Two.')])
  const { session_id } = JSON.parse((await run(['-p', 'First.'])).stdout) as { session_id: string }
  const trace = async () => (await bare(['trace', session_id])).stdout.trim().split('\n').length
  const before = await trace()
  const end = await bare(['-r', session_id, '--step', '-p', 'Second.'], { stdin: 'n\nn\nn\nn\nn\nn\nn\n' })
  const numbers = stopsOf(end.stderr).map((line) => Number(/\d+/.exec(line)?.[0]))
  expect(numbers[0]).toBe(before + 1)
  expect(numbers.at(-1)).toBe((await trace()) - 1)
})

test('a subagent stops too, and says for which call', async () => {
  const { run, model } = await setUp(({ body }) =>
    JSON.stringify(body.messages).includes('Count the files') &&
    body.messages[0]?.content[0]?.text === 'Count the files'
      ? reply('There are two.')
      : body.messages.length === 1
        ? reply([call('task', { description: 'Count the files' })])
        : reply('Two files.'),
  )
  const end = await run(['--yes', '--step', '-p', 'How many?'], { stdin: 'n\n'.repeat(40) })
  expect({ code: end.code, problems: model.problems }).toEqual({ code: 0, problems: [] })
  expect(
    end.stderr.split('\n').filter((line) => line.includes('after transition') && line.startsWith('subagent')),
  ).toEqual([
    'subagent toolu_0001, after transition 0: loadingContext, before loadContext',
    'subagent toolu_0001, after transition 1: persisting, before persist',
    'subagent toolu_0001, after transition 3: calling, before callModel',
    'subagent toolu_0001, after transition 5: persisting, before persist',
    'subagent toolu_0001, after transition 6: persisting, before persist',
  ])
})

test('stdin holds commands, so it is no part of the prompt and cannot be the prompt', async () => {
  const { run, model } = await setUp([reply('Done.')])
  await run(['--step', '-p', 'Only this.'], { stdin: 'c\n' })
  expect(model.requests[0]?.body.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Only this.', cache_control: { type: 'ephemeral' } }] },
  ])
  const refused = await run(['--step', '-p', '-'], { stdin: 'c\n' })
  expect(refused).toMatchObject({
    code: 2,
    stderr: 'agent: --step reads its commands from stdin, so give the prompt as an argument: --step -p "<prompt>".\n',
  })
})

test('SIGINT at a stop ends the run as at any other time', async () => {
  const { home, dir, model } = await setUp([reply('Done.')])
  const child = startAgent(['-C', dir, '--step', '-p', 'Begin.'], { home, url: model.url, stdin: '' })
  const end = ended(child)
  await new Promise<void>((resolve) => {
    let seen = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
      if (seen.includes('before loadContext') && seen.endsWith('step> ')) resolve()
    })
  })
  child.stdin?.write('n\nn\n')
  await new Promise<void>((resolve) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('before callModel')) resolve()
    })
  })
  child.kill('SIGINT')
  const { code, stdout } = await end
  child.stdin?.destroy()
  expect({ code, requests: model.requests.length }).toEqual({ code: 130, requests: 0 })
  expect(JSON.parse(stdout)).toMatchObject({ subtype: 'error_interrupted' })
})

test('in a terminal it asks in the same words, and the typed lines are its commands', async () => {
  const { home, dir, model } = await setUp([reply('Done.')])
  const { spawn } = await import('node:child_process')
  const command = `${process.execPath} ${CLI} -C ${dir} --step -p Begin.`
  // util-linux' script gives the run a terminal of its own.
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...agentEnv({ home, url: model.url }), TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let screen = ''
  let typed = 0
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString()
    // One command a prompt, as a person does it.
    if (screen.split('step> ').length - 1 > typed) child.stdin.write(['n\n', 'n\n', 'c\n'][typed++] ?? '')
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  const plain = screen.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replaceAll('\r', '')
  expect(code).toBe(0)
  expect(stopsOf(plain)).toEqual([
    'after transition 0: loadingContext, before loadContext',
    'after transition 1: persisting, before persist',
    'after transition 3: calling, before callModel',
  ])
  expect(plain).toContain('step> n\n')
  expect(plain).toContain('Done.')
  // At a terminal what matters is bold.
  expect(screen).toContain('\x1b[1mcalling\x1b[22m')
})
