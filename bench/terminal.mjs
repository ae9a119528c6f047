/**
 * The conversation at a terminal, measured on a pty (`script` of util-linux): from the start to the prompt, beside a
 * headless start to its first request; and how long a key takes to be echoed while an answer streams, in a session
 * of 5,000 messages beside an empty one. Ends with 1 where a limit is broken.
 *
 * usage: node bench/terminal.mjs [--quick] [--cli <file>]
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { median } from './measure.mjs'

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean' }, cli: { type: 'string' } } })
const CLI = resolve(flags.cli ?? join(dirname(import.meta.dirname), 'dist/cli.js'))
const STARTS = flags.quick ? 5 : 11
const KEYS = flags.quick ? 60 : 200
const ROUNDS = flags.quick ? 400 : 2499
/** Sessions of each kind that are typed into. */
const SESSIONS = flags.quick ? 1 : 5
/** One frame at 60 Hz, in milliseconds. */
const FRAME = 16.7

const directory = mkdtempSync(join(tmpdir(), 'stepwright-terminal-'))
const project = join(directory, 'project')
mkdirSync(project)
writeFileSync(join(project, 'AGENTS.md'), 'Answer shortly.\n')
const model = await startModel()
try {
  const rows = [await startRow(), ...(await keyRows())]
  for (const { name, ours, base, ratio, limit, unit } of rows)
    console.log(
      `${name.padEnd(58)} ${ours.toFixed(1)} ${unit}  beside ${base.toFixed(1)}  ${ratio.toFixed(2)} ≤ ${limit}  ${ratio <= limit ? 'ok' : 'OVER'}`,
    )
  process.exitCode = rows.some(({ ratio, limit }) => ratio > limit) ? 1 : 0
} finally {
  model.close()
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}

function environment(home) {
  return {
    PATH: process.env.PATH,
    HOME: directory,
    XDG_CACHE_HOME: join(directory, '.cache'),
    AGENT_HOME: home,
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'bench',
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    SHELL: '/bin/sh',
  }
}

/** The agent on a pty of 80 × 24. */
function atTerminal(home, args = '') {
  const command = `stty cols 80 rows 24; exec '${process.execPath}' '${CLI}' -C '${project}' ${args}`
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: environment(home),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let seen = ''
  let check = () => {}
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    seen = (seen + chunk).slice(-200_000)
    check()
  })
  const ended = new Promise((done) => child.once('close', done))
  return {
    type: (text) => child.stdin.write(text),
    until: (text) =>
      new Promise((done) => {
        check = () => {
          const at = seen.indexOf(text)
          if (at < 0) return
          seen = seen.slice(at + text.length)
          check = () => {}
          done(performance.now())
        }
        check()
      }),
    async end() {
      child.stdin.write('\x03')
      child.stdin.write('\x03')
      await ended
    },
  }
}

function headless(home, args) {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [CLI, '-C', project, '--yes', ...args], {
      env: environment(home),
      stdio: 'ignore',
    })
    child.once('close', (code) => (code === 0 ? done() : failed(new Error(`The agent ended with ${code}.`))))
  })
}

async function startRow() {
  const home = join(directory, 'home-start')
  const ours = []
  const base = []
  for (let n = 0; n <= STARTS; n++) {
    const began = performance.now()
    const terminal = atTerminal(home)
    ours.push((await terminal.until('ready')) - began)
    await terminal.end()
    const start = performance.now()
    const first = model.next()
    const run = headless(home, ['-p', 'Say done.'])
    base.push((await first) - start)
    await run
  }
  const ratio = median(ours.slice(1).map((ms, i) => ms / base.slice(1)[i]))
  return {
    name: 'start to prompt, beside a headless start to its first request',
    ours: median(ours.slice(1)),
    base: median(base.slice(1)),
    ratio,
    limit: 3,
    unit: 'ms',
  }
}

async function keyRows() {
  const full = join(directory, 'home-full')
  model.rounds = ROUNDS
  await headless(full, ['--max-turns', '9999', '-p', 'Run echo.'])
  model.rounds = 0
  const empty = join(directory, 'home-empty')
  const ours = []
  const base = []
  for (let n = 0; n < SESSIONS; n++) {
    const here = join(directory, `home-copy-${n}`)
    cpSync(full, here, { recursive: true })
    ours.push(await echoes(here, '-c'))
    base.push(await echoes(empty))
  }
  // A session's worst key is one moment of the machine: the middle one of several sessions' worst is compared.
  const middle = median(ours.map(median))
  const worst = (sessions) => median(sessions.map((keys) => Math.max(...keys)))
  const row = (name, one, other, limit) => ({ name, ours: one, base: other, ratio: one / other, limit, unit: 'ms' })
  const words = `key to echo while text streams, ${2 * ROUNDS + 2} messages, beside an empty session`
  return [
    row(`${words}: median`, middle, median(base.map(median)), 2),
    row(`worst of ${KEYS} keys, beside an empty session's`, worst(ours), worst(base), 2),
    row('median, beside one frame', middle, FRAME, 1),
    row(`worst of ${KEYS} keys, beside one frame`, worst(ours), FRAME, 1),
  ]
}

/** Types while an answer streams. @returns milliseconds from each key to its echo */
async function echoes(home, args) {
  const terminal = atTerminal(home, args)
  await terminal.until('ready')
  terminal.type('Stream.\r')
  await terminal.until('answering')
  const times = []
  for (let n = 0; n < KEYS; n++) {
    // Letters that stand nowhere else; the line is emptied now and then.
    const letter = String.fromCodePoint(0x13a0 + (n % 60))
    const began = performance.now()
    terminal.type(letter)
    times.push((await terminal.until(letter)) - began)
    if (n % 60 === 59) terminal.type('\x15')
    await new Promise((done) => setTimeout(done, 15 + (n % 7) * 5))
  }
  terminal.type('\x15')
  await terminal.end()
  return times
}

/** A model that asks for `rounds` commands and then says done; asked to stream, it goes on for a minute. */
async function startModel() {
  const waiting = []
  const state = { rounds: 0 }
  const server = createServer((request, response) => {
    for (const tell of waiting.splice(0)) tell(performance.now())
    let body = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      body = (body + chunk).slice(-4_000)
    })
    request.on('end', () => {
      const send = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
      const isCall = state.rounds > 0
      state.rounds -= isCall ? 1 : 0
      response.setHeader('content-type', 'text/event-stream')
      send({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'bench',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage,
        },
      })
      const start = isCall
        ? { type: 'tool_use', id: `toolu_${state.rounds}`, name: 'bash', input: {} }
        : { type: 'text', text: '' }
      send({ type: 'content_block_start', index: 0, content_block: start })
      const end = (reason) => {
        send({ type: 'content_block_stop', index: 0 })
        send({
          type: 'message_delta',
          delta: { stop_reason: reason, stop_sequence: null },
          usage: { output_tokens: 5 },
        })
        send({ type: 'message_stop' })
        response.end()
      }
      const text = (words) =>
        send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } })
      if (isCall) {
        send({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'input_json_delta', partial_json: '{"command":"echo a line of the usual length"}' },
        })
        end('tool_use')
      } else if (body.includes('Stream.')) {
        let n = 0
        const timer = setInterval(() => {
          n++
          text(n % 40 === 0 ? '\n\n```js\nconst a = 1\n```\n\n' : `some **words** of \`answer\` ${n} `)
        }, 5)
        response.on('close', () => clearInterval(timer))
      } else {
        text('Done.')
        end('end_turn')
      }
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.address().port}`,
    next: () => new Promise((done) => waiting.push(done)),
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
}
