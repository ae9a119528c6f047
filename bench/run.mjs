/**
 * `npm run bench`: what a run costs beside a floor script that does the same with the least code (floor.mjs), both
 * measured in turn on this machine. Ratios are compared, not times. Ends with 1 where a limit is broken.
 *
 * usage: node bench/run.mjs [--quick] [--json]
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bytesUnder, median, peakMemory, startServer, timedRun } from './measure.mjs'

const ROOT = dirname(import.meta.dirname)
const quick = process.argv.includes('--quick')
const RUNS = { oneTurn: quick ? 7 : 15, turns: quick ? 3 : 5, long: quick ? 1 : 3 }
/** The long run: turn 400 in the middle of the last window, 800 messages and more for the resume. */
const LONG = 410
const WINDOW = 10

let homes = 0
const directory = mkdtempSync(join(tmpdir(), 'stepwright-bench-'))
const project = join(directory, 'project')
const empty = join(directory, 'empty')
for (const path of [project, empty]) mkdirSync(path)
writeFileSync(join(project, 'AGENTS.md'), '# Bench\n\nAnswer shortly.\n')
spawnSync('git', ['init', '-q', project])

const server = await startServer()
try {
  const rows = await measureAll()
  if (process.argv.includes('--json')) console.log(JSON.stringify(rows, null, 2))
  else print(rows)
  process.exitCode = rows.some((row) => row.ratio > row.limit) ? 1 : 0
} finally {
  server.stop()
  rmSync(directory, { recursive: true, force: true })
}

/** How to run each side with a home of its own. */
function agent(home, { resume = false, cwd = project } = {}) {
  const args = ['-C', cwd, '--yes', '--max-turns', '1000', '--output-format', 'json', ...(resume ? ['-c'] : [])]
  return {
    command: [process.execPath, join(ROOT, 'dist/cli.js'), ...args, '-p', 'Run echo.'],
    cwd,
    env: { ...environment(), AGENT_HOME: home },
  }
}

function floor(home, { resume = false } = {}) {
  const command = [process.execPath, join(import.meta.dirname, 'floor.mjs'), ...(resume ? ['-c'] : []), 'Run echo.']
  return { command, cwd: project, env: { ...environment(), FLOOR_HOME: home } }
}

function environment() {
  return {
    PATH: process.env.PATH,
    HOME: directory,
    XDG_CACHE_HOME: join(directory, '.cache'),
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'bench',
  }
}

function newHome() {
  homes += 1
  return join(directory, `home-${homes}`)
}

/** Runs both sides in turn, A B A B, after a first pair that does not count. */
async function paired(times, one) {
  const agents = []
  const floors = []
  for (let n = 0; n <= times; n++) {
    const results = [await one(agent), await one(floor)]
    if (n === 0) continue
    agents.push(results[0])
    floors.push(results[1])
  }
  return { agents, floors }
}

async function measureAll() {
  const rows = []
  /** The ratio is the median of the pairs' ratios: what else the machine does meets both of a pair. */
  const row = (name, unit, agents, bases, limit, against = 'floor') => {
    const ratio = median(agents.map((ours, n) => ours / bases[n]))
    rows.push({ name, unit, agent: median(agents), base: median(bases), ratio, limit, against })
  }
  const both = ({ agents, floors }, pick) => [agents.map(pick), floors.map(pick)]

  // One home for all runs of a side, as a user has it.
  const [agentHome, floorHome] = [newHome(), newHome()]
  const homeOf = (side) => (side === agent ? agentHome : floorHome)
  const one = await paired(RUNS.oneTurn, (side) => timedRun(server, side(homeOf(side)), 0))
  const memory = await paired(RUNS.turns, (side) => peakMemory(server, side(homeOf(side)), 0))
  row('start to first request', 'ms', ...both(one, (run) => run.toFirst), 1.3)
  row('whole run of one turn', 'ms', ...both(one, (run) => run.wall), 0.8)
  if (memory.agents[0] !== null) row('peak memory of it', 'MB', ...both(memory, (peak) => peak), 0.9)

  const turns = await paired(RUNS.turns, async (side) => {
    const short = await timedRun(server, side(newHome()), 20)
    const longer = await timedRun(server, side(newHome()), 100)
    return (longer.wall - short.wall) / 80
  })
  row('a turn with one command', 'ms', ...both(turns, (ms) => ms), 1.3)

  let saved
  const long = await paired(RUNS.long, async (side) => {
    const home = newHome()
    const { gaps } = await timedRun(server, side(home), LONG)
    saved = { ...saved, [side.name]: home }
    return { growth: around(gaps, 400) / around(gaps, 40), disk: bytesUnder(home) / 1024 }
  })
  row('turn 400 against turn 40', '×', ...both(long, (run) => run.growth), 1.2)
  row('disk after 410 turns', 'KB', ...both(long, (run) => run.disk), 2.5)

  const resumed = await paired(RUNS.oneTurn, async (side) => {
    const home = newHome()
    cpSync(saved[side.name], home, { recursive: true })
    const again = await timedRun(server, side(home, { resume: true }), 0)
    const fresh = await timedRun(server, side(newHome()), 0)
    return { again: again.toFirst, fresh: fresh.toFirst }
  })
  const ours = (pick) => resumed.agents.map(pick)
  row(
    'resume of 821 messages',
    'ms',
    ours((run) => run.again),
    ours((run) => run.fresh),
    1.15,
    'fresh start',
  )

  const { first } = await timedRun(server, agent(newHome(), { cwd: empty }), 0)
  const { system, tools } = JSON.parse(first)
  const bytes = Buffer.byteLength(system) + Buffer.byteLength(JSON.stringify(tools))
  row('system and tools sent', 'bytes', [bytes], [8000], 1, 'limit')
  return rows
}

/** The usual time of a turn near the nth: `gaps[n]` is the time between the requests n and n + 1. */
function around(gaps, n) {
  return median(gaps.slice(n - 1 - WINDOW, n - 1 + WINDOW))
}

function print(rows) {
  const number = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2))
  const table = rows.map(({ name, unit, agent, base, ratio, limit, against }) => [
    name,
    `${number(agent)} ${unit}`,
    `${number(base)} ${unit}`,
    against,
    ratio.toFixed(2),
    `≤ ${limit}`,
    ratio > limit ? 'OVER' : 'ok',
  ])
  table.unshift(['', 'agent', 'beside', '', 'ratio', 'limit', ''])
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)))
  for (const cells of table) {
    console.log(
      cells
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at])))
        .join('  ')
        .trimEnd(),
    )
  }
  console.log(`\nNode ${process.version}, ${process.platform} ${process.arch}, medians of paired runs.`)
}
