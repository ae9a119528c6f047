/**
 * Runs a command line in a scratch directory and sees what came of it: which programs ran, which files changed. The
 * PATH holds nothing but programs that write down their arguments; some go on as the real program. No ptrace needed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Written down only. */
const NOTED =
  'rm touch tee cp mv mkdir dd chmod ln python3 perl ruby node npm npx make cargo go curl wget vim less man lsof nice nohup timeout sudo ssh kill install truncate run.sh'
/** Written down, then run. */
const REAL = 'git ls cat sort sed awk rg grep find tar uniq wc head tail env xargs sh bash'

export interface Traced {
  /** Programs and their arguments, in the order they began. */
  ran: string[][]
  /** What is different below the scratch directory and its parent, by name. */
  changed: string[]
}

export interface Tracer {
  run(command: string): Promise<Traced>
  /** Runs without looking at the files, for many at once. */
  ran(command: string): Promise<string[][]>
  snapshot(): Map<string, string>
  remove(): void
}

/** @returns a tracer with a scratch directory: a small git repository with some bait in it */
export function createTracer(): Tracer {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'stepwright-trace-')))
  const scratch = join(root, 'place', 'scratch')
  const bin = join(root, 'bin')
  for (const directory of [scratch, bin, join(root, 'place/home'), join(root, 'logs')])
    mkdirSync(directory, { recursive: true })
  for (const name of NOTED.split(' ')) program(join(bin, name), null)
  for (const name of REAL.split(' ')) program(join(bin, name), realPath(name))
  fill(scratch, bin)
  let runs = 0

  const ran: Tracer['ran'] = async (command) => {
    runs += 1
    const log = join(root, 'logs', String(runs))
    await bash(command, scratch, {
      PATH: bin,
      HOME: join(root, 'place/home'),
      TRACE: log,
      GIT_OPTIONAL_LOCKS: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PAGER: 'cat',
      LC_ALL: 'C.UTF-8',
    })
    const text = existsSync(log) ? readFileSync(log, 'utf8') : ''
    return text
      .split('\x1e')
      .filter((entry) => entry !== '')
      .map((entry) => entry.split('\x1f'))
  }
  const snapshot = () => snapshotOf(join(root, 'place'))
  return {
    ran,
    snapshot,
    async run(command) {
      const before = snapshot()
      const programs = await ran(command)
      return { ran: programs, changed: difference(before, snapshot()) }
    },
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  }
}

function program(path: string, real: string | null): void {
  // In one write, so that those that run side by side do not mix.
  const note = 'l="${0##*/}"; for a; do l="$l\x1f$a"; done; printf \'%s\x1e\' "$l" >> "$TRACE"'
  writeFileSync(path, `#!/bin/sh\n${note}\n${real === null ? 'exit 0' : `exec ${real} "$@"`}\n`)
  chmodSync(path, 0o755)
}

function realPath(name: string): string | null {
  const places = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, name))
  return places.find((path) => existsSync(path)) ?? null
}

function fill(scratch: string, bin: string): void {
  const files = { 'keep.txt': 'text\nb\na\n', 'a.txt': 'text\n', 'a.py': 'pass\n', '-op': 'bait\n', 'run.sh': '' }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(scratch, name), text)
  program(join(scratch, 'run.sh'), null)
  // A directory that git takes for a repository, whose configuration runs a program.
  const evil = join(scratch, 'evil')
  mkdirSync(evil)
  const git = (...args: string[]) => spawnSync('git', args, { cwd: scratch, stdio: 'ignore' })
  git('init', '-q', '--bare', 'evil')
  writeFileSync(
    join(evil, 'config'),
    `[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = ${join(bin, 'touch')} pwned\n`,
  )
  git('init', '-q', '-b', 'main')
  git('add', 'keep.txt', 'a.txt')
  git('-c', 'user.name=n', '-c', 'user.email=e@example.com', 'commit', '-qm', 'first')
}

function bash(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn('/bin/bash', ['-c', command], { cwd, env, stdio: 'ignore', detached: true })
    const end = (): void => {
      clearTimeout(timer)
      try {
        // What it left in the background.
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // Nothing is left.
      }
      resolve()
    }
    const timer = setTimeout(end, 5_000)
    child.once('error', end)
    child.once('exit', () => setTimeout(end, command.includes('&') ? 50 : 0))
  })
}

function snapshotOf(directory: string): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (path: string, name: string): void => {
    const stat = lstatSync(path)
    if (stat.isDirectory()) {
      found.set(`${name}/`, String(stat.mode))
      for (const entry of readdirSync(path)) visit(join(path, entry), `${name}/${entry}`)
    } else if (stat.isSymbolicLink()) found.set(name, `-> ${readlinkSync(path)}`)
    else found.set(name, `${stat.mode} ${createHash('sha1').update(readFileSync(path)).digest('hex')}`)
  }
  visit(directory, '.')
  return found
}

function difference(before: Map<string, string>, after: Map<string, string>): string[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort()
}
