/**
 * `npm run bench:looking`: what `agent trace` and `agent replay` take of a session of 2,000 transitions, beside the
 * time of reading its records (`agent sessions export`), as whole processes in turn. Ends with 1 over the limit.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { median, startServer, timedRun } from './measure.mjs'

const CLI = join(dirname(import.meta.dirname), 'dist/cli.js')
/** About five transitions a round. */
const ROUNDS = 410
const RUNS = 9
const LIMIT = 3

const directory = mkdtempSync(join(tmpdir(), 'stepwright-bench-'))
const server = await startServer()
try {
  const project = join(directory, 'project')
  mkdirSync(project)
  const env = {
    PATH: process.env.PATH,
    HOME: directory,
    XDG_CACHE_HOME: join(directory, '.cache'),
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'bench',
  }
  const agent = (...args) => {
    const began = performance.now()
    const { stdout, status } = spawnSync(process.execPath, [CLI, '-C', project, ...args], { env, maxBuffer: 1e9 })
    if (status !== 0) throw new Error(`agent ${args.join(' ')} ended with ${status}`)
    return { ms: performance.now() - began, text: stdout.toString() }
  }
  const command = [process.execPath, CLI, '-C', project, '--yes', '--max-turns', '1000', '-p', 'Run echo.']
  await timedRun(server, { command, cwd: project, env }, ROUNDS)
  const [{ session_id: id }] = JSON.parse(agent('sessions', '--json').text)

  const kinds = { export: ['sessions', 'export', id], trace: ['trace', id, '--json'], replay: ['replay', id, '--json'] }
  const times = { export: [], trace: [], replay: [] }
  for (let run = 0; run <= RUNS; run++) {
    for (const [name, args] of Object.entries(kinds)) {
      const { ms } = agent(...args)
      if (run > 0) times[name].push(ms)
    }
  }
  const transitions = agent(...kinds.trace)
    .text.trimEnd()
    .split('\n').length
  const base = median(times.export)
  console.log(`${transitions} transitions; reading the records: ${base.toFixed(0)} ms`)
  for (const name of ['trace', 'replay']) {
    const ratio = median(times[name]) / base
    console.log(`${name.padEnd(7)} ${median(times[name]).toFixed(0)} ms, ${ratio.toFixed(2)} ×, limit ${LIMIT} ×`)
    if (ratio > LIMIT) process.exitCode = 1
  }
} finally {
  server.stop()
  rmSync(directory, { recursive: true, force: true })
}
