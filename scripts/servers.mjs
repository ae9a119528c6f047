/**
 * Redis and PostgreSQL on free ports of 127.0.0.1, each with a password, in a temporary directory that goes with them:
 * for the tests of stores on servers, and to try such a store.
 *
 * usage: node scripts/servers.mjs   prints an AGENT_STORE for each, serves until stopped
 */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const START_MS = 30_000

/**
 * @typedef {{ uri: string, stop(): Promise<void>, kill(): Promise<void>, start(): Promise<void> }} Server
 * `uri` with its password; `kill` ends the server as a crash would, `start` starts it again on the same port and data.
 */

/**
 * @returns {Promise<{ redis: Server | string, postgres: Server | string }>} a sentence in the place of one that is
 *   not installed
 */
export async function startServers() {
  return { redis: await startRedis(), postgres: await startPostgres() }
}

async function startRedis() {
  const program = findProgram('redis-server')
  if (program === null) return 'There is no redis-server: apt-get install redis-server.'
  const directory = temporary()
  const port = await freePort()
  const password = secret()
  writeFileSync(join(directory, 'redis.conf'), `requirepass "${password}"\n`, { mode: 0o600 })
  const options = ['--port', port, '--bind', '127.0.0.1', '--dir', directory, '--appendonly', 'yes', '--save', '']
  const run = () => spawn(program, [join(directory, 'redis.conf'), ...options.map(String)], { stdio: 'ignore' })
  return serving(run, directory, port, `redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`, 'SIGTERM')
}

async function startPostgres() {
  const program = findProgram('postgres')
  const initdb = findProgram('initdb')
  if (program === null || initdb === null) return 'There is no PostgreSQL server: apt-get install postgresql.'
  const directory = temporary()
  const port = await freePort()
  const password = secret()
  const file = join(directory, 'password')
  writeFileSync(file, password, { mode: 0o600 })
  const as = userFor(directory, file)
  const data = join(directory, 'data')
  const flags = ['-D', data, '-U', 'agent', '--pwfile', file, '-A', 'scram-sha-256', '-E', 'UTF8', '--no-locale', '-N']
  const made = spawnSync(initdb, flags, { ...as, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: directory, fsync: 'off' }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const run = () => spawn(program, ['-D', data, ...options], { ...as, stdio: 'ignore' })
  const uri = `postgres://agent:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`
  // "Fast shutdown": does not wait for connections to end by themselves.
  return serving(run, directory, port, uri, 'SIGINT')
}

/** PostgreSQL refuses to run as root. */
function userFor(...paths) {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const [, , uid, gid] = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody') ?? []
  for (const path of paths) chownSync(path, Number(uid), Number(gid))
  return { uid: Number(uid), gid: Number(gid), cwd: '/' }
}

async function serving(run, directory, port, uri, gently) {
  let child = null
  const end = async (signal) => {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = new Promise((resolve) => ending.once('exit', resolve))
    ending.kill(signal)
    await gone
  }
  const server = {
    uri,
    start: async () => {
      child = run()
      await answering(child, port)
    },
    kill: () => end('SIGKILL'),
    stop: async () => {
      await end(gently)
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  // Not left behind, whatever ends this process in order.
  process.once('exit', () => {
    child?.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  })
  await server.start()
  return server
}

/** Waits until the port takes connections; a server that ended before has failed. */
async function answering(child, port) {
  for (const end = Date.now() + START_MS; ; ) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}.`)
    const isUp = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isUp) return
    if (Date.now() > end) throw new Error(`${child.spawnfile} does not answer on port ${port}.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A program of the PATH, or where Debian keeps those of PostgreSQL. */
function findProgram(name) {
  const versions = '/usr/lib/postgresql'
  const places = [
    ...(process.env.PATH ?? '').split(':'),
    '/usr/sbin',
    ...listed(versions).map((version) => join(versions, version, 'bin')),
  ]
  for (const place of places) if (listed(place).includes(name)) return join(place, name)
  return null
}

function listed(directory) {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function temporary() {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-server-')))
  chmodSync(directory, 0o700)
  return directory
}

/** With characters that an address has to encode. */
function secret() {
  return `p@ss:/${randomBytes(9).toString('hex')}`
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const servers = Object.values(await startServers())
  for (const server of servers) console.log(typeof server === 'string' ? server : `AGENT_STORE='${server.uri}'`)
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
      for (const server of servers) if (typeof server !== 'string') await server.stop()
      process.exit(0)
    })
  }
}
