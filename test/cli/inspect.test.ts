/** `agent inspect [<id>] [--no-open]` and what it serves (contract.md, section 10). */

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Message } from '../../src/machines/messages.ts'
import type { IndexJson, LaneJson, SearchJson, StepJson } from '../../src/services/inspect/wire.ts'
import { createStore } from '../../src/services/store/index.ts'
import { agentEnv, CLI, ended, startAgent, temporaryDirectory } from '../support/agent.ts'
import { apiError, type CapturedRequest, call, held, reply, thinking } from '../support/fakeModel.ts'
import { ask, type Inspecting, startInspect } from '../support/inspect.ts'
import { type SetUp, setUp } from './setUp.ts'

const ROUNDS = [
  reply([thinking('Hm.'), 'Looking.', call('bash', { command: 'echo one' }), call('glob', { pattern: '*' })]),
  reply([call('bash', { command: 'exit 3' })]),
  reply('Done.'),
]

interface Recorded extends SetUp {
  id: string
}

async function recorded(replies: Parameters<typeof setUp>[0] = ROUNDS, prompt = 'Begin.'): Promise<Recorded> {
  const it = await setUp(replies)
  const { stdout } = await it.run(['--yes', '--model', 'claude-sonnet-5-5', '-p', prompt])
  return { ...it, id: (JSON.parse(stdout) as { session_id: string }).session_id }
}

/** The bodies of the model calls, as the page shows them at the steps that brought the replies. */
async function shownRequests({ get }: Inspecting, session?: string): Promise<unknown[]> {
  const of = session === undefined ? {} : { s: session }
  const { rows } = await get<IndexJson>('/api/index', of)
  const replies = rows.filter(({ record }) => record === 'reply' || record === 'compacted' || record === 'callFailed')
  return Promise.all(replies.map(({ n }) => get('/api/request', { ...of, n })))
}

test('one line is printed, the address, and it serves until a signal ends it: exit 129, 130, 143', async () => {
  const { id, home } = await recorded([reply('Done.')])
  for (const [signal, code] of [
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const it = await startInspect([id], { home })
    expect(it.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/)
    expect((await ask(it.port, `/?token=${it.token}`)).status).toBe(200)
    expect(await it.stop(signal)).toEqual({ code, signal: null, stdout: `${it.address}\n`, stderr: '' })
  }
})

test('a page that looks on does not keep it from ending', async () => {
  const { id, home } = await recorded([reply('Done.')])
  const it = await startInspect([id], { home })
  const stream = await fetch(`http://127.0.0.1:${it.port}/api/live?token=${it.token}`)
  const reader = stream.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"counts"')
  expect((await it.stop()).code).toBe(143)
})

test('without an id it is the latest session of the directory', async () => {
  const { id, home, dir, run } = await recorded(() => reply('Done.'))
  const later = JSON.parse((await run(['-p', 'Later.'])).stdout) as { session_id: string }
  const latest = await startInspect([], { home, cwd: dir })
  expect((await latest.get<IndexJson>('/api/index')).session.session_id).toBe(later.session_id)
  const prefix = await startInspect([id.slice(0, 8)], { home })
  expect((await prefix.get<IndexJson>('/api/index')).session.session_id).toBe(id)
})

test('at a terminal it says how to end it; a browser is opened, unless --no-open says so; never where the address goes into a pipe', async () => {
  const { id, home } = await recorded([reply('Done.')])
  const bin = temporaryDirectory()
  const opened = join(bin, 'opened')
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" >> ${opened}\n`, { mode: 0o755 })
  const env = { ...agentEnv({ home }), PATH: `${bin}:${process.env.PATH}`, SHELL: '/bin/sh', TERM: 'xterm' }
  const atTerminal = async (flags: string): Promise<string> => {
    const child = spawn('script', ['-qec', `exec ${process.execPath} ${CLI} inspect ${id} ${flags}`, '/dev/null'], {
      env,
    })
    const address = await new Promise<string>((resolve) => {
      let said = ''
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        const [line, hint] = said.split('\r\n')
        if (hint === 'The address is open until Ctrl-C.') resolve(line ?? '')
      })
    })
    // Ctrl-C, as typed.
    await waitUntil(() => flags !== '' || existsSync(opened))
    child.stdin.write('\x03')
    await new Promise((resolve) => child.on('close', resolve))
    return address
  }
  await atTerminal('--no-open')
  await startInspect([id], { home, env: { PATH: env.PATH } })
  const piped = startAgent(['inspect', id], { home, env: { PATH: env.PATH } })
  await new Promise((resolve) => piped.stdout?.once('data', resolve))
  piped.kill('SIGTERM')
  await ended(piped)
  expect(existsSync(opened)).toBe(false)
  const address = await atTerminal('')
  expect(readFileSync(opened, 'utf8')).toBe(address)
})

async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('what is no session ends with 2 and one sentence', async () => {
  const { home, dir, bare, run } = await recorded([reply('Done.')])
  const said = async (args: string[]) => {
    const { code, stdout, stderr } = await bare(['inspect', '--no-open', ...args])
    return { code, stdout, stderr: stderr.trim() }
  }
  expect(await said(['ffffffff'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'agent: Unknown session "ffffffff": agent sessions --all lists the ones there are.',
  })
  expect(await said([])).toEqual({
    code: 2,
    stdout: '',
    stderr: `agent: There is no session of ${home} to look at; agent sessions --all lists those of every directory.`,
  })
  expect((await run(['inspect', 'a', 'b'])).stderr).toBe(
    'agent: Unexpected argument "b": agent inspect takes one session.\n',
  )
  expect(dir).not.toBe(home)
})

test('it refuses a foreign Host, a missing and a wrong token, and whatever is no reading', async () => {
  const { id, home } = await recorded([reply('Done.')])
  const { port, token } = await startInspect([id], { home })
  const status = async (path: string, more: Parameters<typeof ask>[2] = {}) => (await ask(port, path, more)).status
  const own = { host: `127.0.0.1:${port}` }
  const good = `/api/index?token=${token}`
  expect(await status(good, { headers: own })).toBe(200)
  expect(await status(good, { headers: { host: `localhost:${port}` } })).toBe(200)
  expect(await status('/api/index', { headers: { ...own, 'x-inspect-token': token } })).toBe(200)
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', `127.0.0.1:${port + 1}`])
    expect({ host, status: await status(good, { headers: { host } }) }).toEqual({ host, status: 403 })
  for (const path of [
    '/',
    '/api/index',
    '/api/live',
    '/api/step?n=1',
    '/nothing',
    '//',
    '/%',
    `/?token=${token}x`,
    `/?token=${token.slice(1)}`,
    '/?token=',
  ])
    expect({ path, status: await status(path, { headers: own }) }).toEqual({ path, status: 403 })
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
    expect({ method, status: await status(good, { method, headers: own }) }).toEqual({ method, status: 405 })
  expect(await status(`/../../etc/passwd?token=${token}`)).toBe(404)
  expect(await status(`/api/step?token=${token}&n=99999`)).toBe(404)
  expect(await status(`/api/index?token=${token}&s=${'0'.repeat(8)}-0000-0000-0000-000000000000`)).toBe(404)
})

test('it listens on loopback only', async () => {
  const { id, home } = await recorded([reply('Done.')])
  const { port } = await startInspect([id], { home })
  const others = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).filter((one) => !one.internal && one.family === 'IPv4'),
  )
  const reached = await Promise.all(
    others.map(
      ({ address }) =>
        new Promise<boolean>((resolve) => {
          const socket = connect({ host: address, port })
          socket.on('connect', () => resolve(true))
          socket.on('error', () => resolve(false))
        }),
    ),
  )
  expect(reached).toEqual(others.map(() => false))
})

test('the page may load and run nothing but what it came with', async () => {
  const { id, home } = await recorded([reply('Done.')])
  const { port, token } = await startInspect([id], { home })
  const page = await ask(port, `/?token=${token}`)
  const hash = "'sha256-[A-Za-z0-9+/]{43}='"
  expect(page.headers['content-security-policy']).toMatch(
    new RegExp(
      `^default-src 'none'; script-src ${hash}; style-src ${hash}; connect-src 'self'; img-src data:; base-uri 'none'; ` +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$",
    ),
  )
  const api = await ask(port, `/api/index?token=${token}`)
  for (const { headers } of [page, api])
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    })
  expect(page.body).not.toMatch(/(src|href)="(?!data:,)/)
  expect(page.body).not.toMatch(/\sstyle="/)
  expect(page.body).not.toContain(token)
})

test('the timeline is what trace says, with what was used and what it cost', async () => {
  const { id, home, bare } = await recorded()
  const it = await startInspect([id], { home })
  const { rows, of, state, session, disagreement } = await it.get<IndexJson>('/api/index')
  const trace = (await bare(['trace', id, '--json'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(
    rows.map(({ n, from, event, to, ms, detail, at }) => ({
      n,
      at: new Date(at).toISOString(),
      from,
      event,
      to,
      ms,
      ...(detail !== '' && { detail }),
    })),
  ).toEqual(trace.map(({ tokens: _, ...line }) => line))
  const used = rows.map(({ usage }) =>
    usage === undefined ? undefined : usage.uncached + usage.written + usage.read + usage.output,
  )
  expect(used).toEqual(trace.map(({ tokens }) => tokens))
  expect(
    rows
      .filter(({ record }) => record === 'reply')
      .every(({ cost, took }) => typeof cost === 'number' && typeof took === 'number'),
  ).toBe(true)
  expect(rows.filter(({ bad }) => bad).map(({ detail }) => detail)).toEqual(['bash: failed'])
  expect({ of, state, disagreement, title: session.first_prompt }).toEqual({
    of: trace.length,
    state: 'done',
    disagreement: null,
    title: 'Begin.',
  })
  expect((await it.get<IndexJson>('/api/index', { from: 5 })).rows).toEqual(rows.slice(5))
})

test('each request is shown as the model got it', async () => {
  const { id, home, model } = await recorded()
  const it = await startInspect([id], { home })
  expect(await shownRequests(it)).toEqual(model.requests.map(({ body }) => body))
})

/** One transparent pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
)

test('so are requests for a summary and after one, with images, mentions and changed instructions', async () => {
  let n = 0
  const script = [
    reply([call('bash', { command: 'echo one' })]),
    reply([call('compact', { focus: 'the number' })]),
    reply('The goal: begin. The number is one.'),
    reply('Done.'),
  ]
  const it = await recorded(() => script[n++] ?? reply('Again.'), 'Begin with \ud83d\ude00 "quotes" and <b>markup</b>.')
  writeFileSync(join(it.dir, 'dot.png'), PNG)
  writeFileSync(join(it.dir, 'AGENTS.md'), 'Be brief.\n')
  await it.run(['--yes', '--model', 'claude-opus-5-5', '-c', '-p', 'And again, with @dot.png and @AGENTS.md.'])
  expect(JSON.stringify(it.model.requests.at(-1)?.body)).toContain('"type":"image"')
  const inspecting = await startInspect([it.id], { home: it.home })
  expect(await shownRequests(inspecting)).toEqual(it.model.requests.map(({ body }) => body))
})

test('in an emergency too, where only the latest rounds stay', async () => {
  let n = 0
  const script = [
    ...Array.from({ length: 6 }, (_, i) => reply([call('bash', { command: `echo round ${i}` })])),
    apiError(400, 'invalid_request_error', 'prompt is too long: 300000 tokens > 200000 maximum'),
    reply('The goal: begin.'),
    reply('Done.'),
  ]
  const it = await recorded(() => script[n++] ?? reply('Again.'))
  const inspecting = await startInspect([it.id], { home: it.home })
  expect(await shownRequests(inspecting)).toEqual(it.model.requests.map(({ body }) => body))
})

test('with memory the notes of the turn are in the request; a question beside it is not shown as one', async () => {
  const memory = ({ body }: CapturedRequest) => {
    if ((body.tools?.length ?? 0) > 0) return reply('I use tabs.')
    const isChoice = JSON.stringify(body.messages).includes('tabs.md')
    return reply(
      JSON.stringify(
        isChoice ? { files: ['tabs.md'], selected: ['tabs.md'], memories: ['tabs.md'] } : { memories: [] },
      ),
    )
  }
  const it = await setUp(memory)
  mkdirSync(join(it.dir, '.memory'))
  const note =
    '---\nname: tabs\ndescription: tabs or spaces, how to indent code\ntype: user\n---\nThe user wants tabs.\n'
  writeFileSync(join(it.dir, '.memory/tabs.md'), note)
  writeFileSync(join(it.dir, '.memory/MEMORY.md'), '- [tabs](tabs.md) — tabs or spaces, how to indent code\n')
  const { stdout } = await it.run(['--yes', '-p', 'How should I indent code, with tabs or spaces?'])
  const { session_id } = JSON.parse(stdout) as { session_id: string }
  const main = it.model.requests.filter(({ body }) => (body.tools?.length ?? 0) > 0).map(({ body }) => body)
  expect(JSON.stringify(main[0])).toContain('The user wants tabs.')
  const inspecting = await startInspect([session_id], { home: it.home })
  expect(await shownRequests(inspecting)).toEqual(main)
  const { rows } = await inspecting.get<IndexJson>('/api/index')
  const beside = rows.filter(({ record }) => record === 'recalled' || record === 'remembered')
  expect(beside.map(({ record }) => record)).toEqual(['recalled', 'remembered'])
  for (const { n } of beside) expect((await inspecting.get<StepJson>('/api/step', { n })).request).toBeNull()
})

test('failures and interruptions are told as such', async () => {
  const failing = await recorded([
    reply([call('bash', { command: 'echo one' })]),
    apiError(400, 'invalid_request_error', 'No.'),
  ])
  const failed = await (await startInspect([failing.id], { home: failing.home })).get<IndexJson>('/api/index')
  expect(failed.state).toBe('failed')
  expect(failed.rows.filter(({ bad }) => bad).map(({ record, to }) => [record, to])).toEqual([
    ['callFailed', 'persisting'],
    ['turnEnded', 'persisting'],
    [null, 'failed'],
  ])
  const stopping = await setUp([reply('Never.')])
  const { stdout } = await stopping.run(['--step', '-p', 'Begin.'], { stdin: 'g 3\nq\n' })
  const { session_id } = JSON.parse(stdout) as { session_id: string }
  const stopped = await (await startInspect([session_id], { home: stopping.home })).get<IndexJson>('/api/index')
  expect(stopped.rows.filter(({ bad }) => bad).map(({ record, detail }) => [record, detail])).toEqual([
    ['interrupted', 'quit at a step'],
    ['turnEnded', 'wasInterrupted: error_interrupted'],
    [null, 'isCancelled'],
  ])
})

test('a record that the machine does not follow is named, and what came before it is shown', async () => {
  const { id, home } = await recorded()
  const store = createStore({ home: join(home, '.agent'), warn: () => {} })
  const held = await store.hold(id)
  if (!held.ok) throw new Error(held.message)
  const head = await store.head(id)
  if (head === null) throw new Error('no head')
  await held.value.append([{ in: 'calling', record: { type: 'toolStarted', id: 'nobody' } }], head)
  await held.value.release()
  await store.close()
  const it = await startInspect([id], { home })
  const { disagreement, of, rows } = await it.get<IndexJson>('/api/index')
  expect(disagreement).toEqual({ n: of + 1, message: expect.stringMatching(/^Record \d+ \(toolStarted\) /) })
  expect(rows).toHaveLength(of)
})

test('a step has the conversation that replay shows, its record, and the numbers of the messages stay', async () => {
  const { id, home, bare } = await recorded()
  const it = await startInspect([id], { home })
  const { of } = await it.get<IndexJson>('/api/index')
  for (let n = 0; n <= of; n++) {
    const step = await it.get<StepJson>('/api/step', { n })
    const messages = await it.get<Record<number, Message>>('/api/messages', { ids: step.messages.join(',') })
    const replay = JSON.parse((await bare(['replay', id, '--at', String(n), '--json'])).stdout) as {
      state: string
      messages: Message[]
    }
    expect({ n, state: step.state, messages: step.messages.map((number) => messages[number]) }).toEqual({
      n,
      state: replay.state,
      messages: replay.messages,
    })
  }
})

test('subagents are lanes, each with its own steps and requests', async () => {
  const tasks = ['Count the cats.', 'Count the dogs.']
  const answer = ({ body }: CapturedRequest) => {
    const first = String(body.messages[0]?.content[0]?.text)
    if (tasks.includes(first))
      return body.messages.length === 1 ? reply([call('bash', { command: 'echo 3' })]) : reply('Three.')
    return body.messages.length === 1 ? reply(tasks.map((description) => call('task', { description }))) : reply('Six.')
  }
  const { id, home, model } = await recorded(answer)
  const it = await startInspect([id], { home })
  const lanes = await it.get<LaneJson[]>('/api/lanes')
  expect(
    lanes
      .map(({ title, parent, state, tool_use_id }) => ({ title, parent, state, tool_use_id }))
      .toSorted((a, b) => (a.title < b.title ? -1 : 1)),
  ).toEqual([
    { title: 'Count the cats.', parent: id, state: 'done', tool_use_id: 'toolu_0001' },
    { title: 'Count the dogs.', parent: id, state: 'done', tool_use_id: 'toolu_0002' },
  ])
  for (const { session_id, title } of lanes) {
    const own = model.requests
      .filter(({ body }) => body.messages[0]?.content[0]?.text === title)
      .map(({ body }) => body)
    expect(await shownRequests(it, session_id)).toEqual(own)
  }
})

test('a session that runs is told as it grows, and who runs it', async () => {
  const late = held('Done.')
  const { home, dir, model, run } = await setUp([reply([call('bash', { command: 'echo one' })]), late])
  const running = run(['--yes', '-p', 'Begin.'])
  await model.waitForRequest(1)
  const it = await startInspect([], { home, cwd: dir })
  const before = await it.get<IndexJson>('/api/index')
  expect(before).toMatchObject({ state: 'calling', running: { pid: expect.any(Number) } })
  const stream = await fetch(`http://127.0.0.1:${it.port}/api/live?token=${it.token}`)
  const seen: Array<{ counts: Record<string, number>; running: unknown }> = []
  late.release()
  await running
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const last = text.split('\n').findLast((line) => line.startsWith('data: {') && line.endsWith('}'))
    if (last !== undefined) seen.push(JSON.parse(last.slice('data: '.length)))
    if (seen.at(-1)?.running === null) break
  }
  const after = await it.get<IndexJson>('/api/index')
  expect(after).toMatchObject({ state: 'done', running: null })
  expect(seen.at(-1)).toEqual({ counts: { [after.session.session_id]: after.of }, running: null })
  expect(after.rows.slice(0, before.of)).toEqual(before.rows)
}, 30_000)

test('tokens are never shown, and no content where it is hidden', async () => {
  const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'
  const key = 'sk-ant-api03-AAAABBBBCCCCDDDDEEEE'
  const { id, home } = await recorded(
    [
      reply([`I see ${key}.`, call('bash', { command: `echo ${secret}; echo https://me:hunter22@host.example/` })]),
      reply('Done.'),
    ],
    `My token is ${secret}.`,
  )
  const it = await startInspect([id], { home })
  const { rows, of } = await it.get<IndexJson>('/api/index')
  const all = async (veil: string) => {
    const parts: unknown[] = [
      await it.get('/api/index', { veil }),
      await it.get('/api/lanes', { veil }),
      await it.get('/api/search', { q: 'e', veil }),
    ]
    for (let n = 1; n <= of; n++) {
      const step = await it.get<StepJson>('/api/step', { n, veil })
      parts.push(step, await it.get('/api/messages', { ids: step.messages.join(','), veil }))
      if (step.request !== null) parts.push(await it.get('/api/request', { n, veil }))
    }
    return JSON.stringify(parts)
  }
  const shown = await all('tokens')
  expect(shown).toContain('My token is [redacted].')
  expect(shown).toContain('https://me:[redacted]@host.example/')
  for (const word of [secret, key, 'hunter22']) expect(shown).not.toContain(word)
  const hidden = await all('all')
  for (const word of [secret, key, 'hunter22', 'My token', 'I see', 'echo', 'coding agent'])
    expect(hidden).not.toContain(word)
  expect(hidden).toContain('"name":"bash"')
  expect(rows.length).toBe(of)
})

test('search finds what was said, called and answered, and says at which step', async () => {
  const { id, home } = await recorded(
    [reply(['I look for WOMBATS.', call('bash', { command: 'echo a wombat here' })]), reply('No wombats.')],
    'Where are the wombats?',
  )
  const it = await startInspect([id], { home })
  const { hits, more } = await it.get<SearchJson>('/api/search', { q: 'wombat' })
  expect({ more, hits: hits.map(({ where, match }) => ({ where, match })) }).toEqual({
    more: false,
    hits: [
      { where: 'prompt', match: 'wombat' },
      { where: 'reply', match: 'WOMBAT' },
      { where: 'toolFinished', match: 'wombat' },
      { where: 'reply', match: 'wombat' },
    ],
  })
  expect(await it.get('/api/search', { q: '  ' })).toEqual({ hits: [], more: false })
})

test('the session itself is never changed by looking', async () => {
  const { id, home, bare } = await recorded()
  const before = (await bare(['sessions', 'export', id])).stdout
  const it = await startInspect([id], { home })
  await shownRequests(it)
  await it.stop()
  expect((await bare(['sessions', 'export', id])).stdout).toBe(before)
})
