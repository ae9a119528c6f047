/**
 * The soak: thousands of tool rounds in one process. What the agent keeps beyond the conversation must not grow.
 *
 * usage: node bench/soak.mjs [--rounds 3000] [--growing]
 *
 * By default the conversation is compacted all along, so memory must stay level; with --growing it is not, and the
 * conversation's own size is taken off. Exits with 1 where the last sixth of the rounds needs more than 1.2 times
 * what rounds 500 to 1,000 (of 3,000) did, or where open files or timers have become more.
 */
import { fork, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { rounds: { type: 'string' }, growing: { type: 'boolean' } } })
const rounds = Number(values.rounds ?? 3000)
const growing = values.growing === true
/** A look at the process each so many rounds. */
const LOOK_EACH = Math.max(1, Math.floor(rounds / 120))
/** What may be added: the bound of the issue, and what one more kept page costs. */
const GROWTH = 1.2
/** Bytes in memory for a byte of a request: its text once; the objects around it count as ours. */
const OF_CONVERSATION = 1

const place = mkdtempSync(join(tmpdir(), 'stepwright-soak-'))
try {
  process.exitCode = report(await soak())
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 3 })
}

/** Runs it. @returns a line for each look: the round, the request's bytes, and what the process held */
async function soak() {
  const project = join(place, 'project')
  const home = join(place, 'agent')
  for (const directory of [project, home]) mkdirSync(directory)
  writeFileSync(join(project, 'a.txt'), Array.from({ length: 60 }, (_, n) => `line ${n}\n`).join(''))
  const budget = growing ? 1_000_000_000 : 20_000
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ compaction: { input_tokens: budget } }))

  const server = fork(join(import.meta.dirname, 'soakServer.mjs'), [String(rounds)])
  const { port } = await new Promise((resolve) => server.once('message', resolve))
  const probe = join(place, 'probe')
  writeFileSync(probe, '')
  const asked = []
  const args = ['-C', project, '--yes', '--max-turns', String(rounds + 10), '-p', 'soak', '--json']
  const cli = process.env.AGENT_TEST_CLI ?? join(import.meta.dirname, '../dist/cli.js')
  const agent = spawn(process.execPath, [cli, ...args], {
    env: {
      PATH: process.env.PATH,
      HOME: place,
      AGENT_HOME: home,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      ANTHROPIC_API_KEY: 'soak',
      NODE_OPTIONS: `--require ${join(import.meta.dirname, 'soakProbe.cjs')}`,
      SOAK_PROBE: probe,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  server.on('message', ({ round, bytes }) => {
    if (round % LOOK_EACH !== 0 || round > rounds) return
    asked.push({ round, bytes })
    agent.kill('SIGUSR2')
  })
  let stdout = ''
  agent.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const began = Date.now()
  const code = await new Promise((resolve) => agent.once('close', resolve))
  server.disconnect()
  const result = JSON.parse(stdout)
  console.log(
    `${rounds} rounds, ${result.num_turns} model calls, ${result.compactions ?? 0} compactions in ${((Date.now() - began) / 1000).toFixed(0)} s, exit ${code}`,
  )
  if (code !== 0 || !result.result.startsWith('Done after')) throw new Error(stdout.slice(0, 2000))
  const looks = readFileSync(probe, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return looks.map((look, n) => ({ ...asked[n], ...look }))
}

/** Prints the comparison. @returns the exit code */
function report(looks) {
  const early = between(looks, rounds / 6, rounds / 3)
  const late = between(looks, rounds - rounds / 6, rounds)
  const rows = [
    ['heap, MB', mb(early, own), mb(late, own)],
    ['resident, MB', mb(early, ({ rss }) => rss), mb(late, ({ rss }) => rss)],
    // Pipes for commands are kept in stock, so the number goes up and down.
    ['open files, most', most(early, files), most(late, files)],
    ['open files, fewest', fewest(early, files), fewest(late, files)],
    ['timers, most', most(early, timers), most(late, timers)],
    ['what keeps the loop', most(early, all), most(late, all)],
  ]
  const title = [
    `rounds ${Math.round(rounds / 6)}-${Math.round(rounds / 3)}`,
    `the last ${Math.round(rounds / 6)}`,
    'ratio',
  ]
  console.log(`${''.padEnd(22)}${title.map((text) => text.padStart(18)).join('')}`)
  for (const [name, a, b] of rows) {
    const numbers = [a, b, b / a].map((value) => value.toFixed(2).padStart(18))
    console.log(`${name.padEnd(22)}${numbers.join('')}`)
  }
  const [[, heapBefore, heapAfter]] = rows
  const failed = [
    ...(heapAfter > heapBefore * GROWTH ? ['memory'] : []),
    // A leak leaves not even one look at which there were as few as before.
    ...[files, timers, all].filter((of) => fewest(late, of) > most(early, of)).map(({ name }) => name),
  ]
  for (const name of failed) console.log(`FAILED: ${name} has grown`)
  if (failed.length === 0) console.log(`ok: nothing grows${growing ? ' beyond the conversation' : ''}`)
  return failed.length === 0 ? 0 : 1
}

/** What the process holds beyond the conversation, in bytes. */
function own({ heapUsed, external, bytes }) {
  return heapUsed + external - (growing ? bytes * OF_CONVERSATION : 0)
}

function between(looks, from, to) {
  return looks.filter(({ round }) => round > from && round <= to)
}

function mb(looks, value) {
  const sorted = looks.map(value).sort((a, b) => a - b)
  return sorted[sorted.length >> 1] / 1024 / 1024
}

function most(looks, value) {
  return Math.max(...looks.map(value))
}

function fewest(looks, value) {
  return Math.min(...looks.map(value))
}

function files(look) {
  return look.files
}

function timers({ resources }) {
  return (resources.Timeout ?? 0) + (resources.Immediate ?? 0)
}

function all({ resources }) {
  return Object.values(resources).reduce((sum, count) => sum + count, 0)
}
