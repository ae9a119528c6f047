/** Running a process against the bench's model, and what of it can be measured. */
import { fork, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** @returns the model server's address, its `plan` and `log` (see server.mjs), and `stop` */
export async function startServer() {
  const child = fork(join(import.meta.dirname, 'server.mjs'))
  const { port } = await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', () => reject(new Error('The bench server did not start.')))
  })
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    plan: (turns) => fetch(`${url}/plan`, { method: 'POST', body: JSON.stringify({ turns }) }).then((r) => r.text()),
    log: () => fetch(`${url}/log`).then((r) => r.json()),
    stop: () => child.disconnect(),
  }
}

/**
 * Runs a command to its end.
 * @returns wall time and time to the first request in ms, the times between requests, and the first request's body
 * @throws where it fails or asks the model more or less often than planned: its times would mean nothing
 */
export async function timedRun(server, { command, cwd, env }, turns) {
  await server.plan(turns)
  const began = performance.timeOrigin + performance.now()
  await finish(spawn(command[0], command.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }), command)
  const wall = performance.timeOrigin + performance.now() - began
  const { arrivals, first } = await server.log()
  if (arrivals.length !== turns + 1) {
    throw new Error(`${command.join(' ')} made ${arrivals.length} requests instead of ${turns + 1}.`)
  }
  const gaps = arrivals.slice(1).map((at, index) => at - arrivals[index])
  return { wall, toFirst: arrivals[0] - began, gaps, first }
}

const GNU_TIME = ['/usr/bin/time', '-f', '%M']
const BSD_TIME = ['/usr/bin/time', '-l']

/** @returns the peak of resident memory in MB, or null where this system does not tell */
export async function peakMemory(server, { command, cwd, env }, turns) {
  await server.plan(turns)
  const time = existsSync('/usr/bin/time')
  const prefix = !time ? [] : process.platform === 'darwin' ? BSD_TIME : GNU_TIME
  const [program, ...args] = [...prefix, ...command]
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const sampled = time ? () => null : sampleProc(child.pid)
  const stderr = await finish(child, command)
  if (!time) return sampled()
  if (process.platform === 'darwin') return Number(/(\d+) +maximum resident/.exec(stderr)?.[1]) / 1024 / 1024
  return Number(stderr.trim().split('\n').at(-1)) / 1024
}

/** The kernel keeps the high-water mark itself, so the last look before the end is close to the truth. */
function sampleProc(pid) {
  let peak = null
  const look = () => {
    try {
      peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024 || peak
    } catch {}
  }
  const timer = setInterval(look, 4)
  return () => {
    clearInterval(timer)
    return peak
  }
}

function finish(child, command) {
  return new Promise((resolve, reject) => {
    let stderr = ''
    child.stdout.resume()
    child.stderr.on('data', (data) => {
      stderr += data
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(stderr)
      else reject(new Error(`${command.join(' ')} ended with ${signal ?? code}:\n${stderr}`))
    })
  })
}

/** @returns the bytes of all files under a directory */
export function bytesUnder(directory) {
  return readdirSync(directory, { recursive: true })
    .map((name) => statSync(join(directory, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
