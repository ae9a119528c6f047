/** Who holds a lock, and whether that process still runs. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { errorCode } from '../machines/errorText.ts'

export interface Owner {
  pid: number
  host: string
  /** Boot and start of the process, where the system tells them (Linux): a pid is used again, the two together not. */
  started: string | null
  /** When the lock was taken, ISO 8601 UTC. */
  at: string
  /** Tells this lock from others of the same process. */
  token: string
}

/** This process as the owner of a lock. */
export function thisProcess(token: string): Owner {
  const self = linuxProcess(process.pid)
  const started = self.kind === 'running' ? self.started : null
  return { pid: process.pid, host: hostname(), started, at: new Date().toISOString(), token }
}

/** Reads a lock's text; null where it is not whole: half written, or not ours. */
export function parseOwner(text: string): Owner | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const owner = value as Partial<Owner> | null
  if (!Number.isSafeInteger(owner?.pid) || (owner?.pid ?? 0) <= 0) return null
  if (typeof owner?.host !== 'string' || typeof owner.at !== 'string' || typeof owner.token !== 'string') return null
  return typeof owner.started === 'string' || owner.started === null ? (owner as Owner) : null
}

/** Whether the owner is a process of another machine: nobody here can tell whether it runs. */
export function isElsewhere(owner: Owner): boolean {
  return owner.host !== hostname()
}

/** Whether the owner, a process of this machine, may still run. */
export async function isAlive(owner: Owner): Promise<boolean> {
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    // EPERM: the process is there and belongs to somebody else.
    if (errorCode(error) === 'ESRCH') return false
  }
  const now = linuxProcess(owner.pid)
  switch (now.kind) {
    case 'ended':
      return false
    case 'running':
      return owner.started === null || owner.started === now.started
    case 'unknown':
      return !(await startedAfter(owner.pid, Date.parse(owner.at)))
  }
}

type LinuxProcess = { kind: 'running'; started: string } | { kind: 'ended' } | { kind: 'unknown' }

/** Fields 3 (state) and 22 (start in clock ticks since boot) of /proc/<pid>/stat, proc(5). */
function linuxProcess(pid: number): LinuxProcess {
  if (process.platform !== 'linux') return { kind: 'unknown' }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name in brackets, which may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return { kind: 'ended' }
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    return { kind: 'running', started: `${boot}/${fields[19]}` }
  } catch {
    return { kind: 'unknown' }
  }
}

/** Whether `ps` says that the process began after the lock was taken: then the pid belongs to another one by now. */
async function startedAfter(pid: number, taken: number): Promise<boolean> {
  if (process.platform === 'win32' || process.platform === 'linux') return false
  try {
    const { spawnSync } = await import('node:child_process')
    const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
    })
    const began = Date.parse(ps.stdout.trim())
    // lstart has whole seconds.
    return began > taken + 2000
  } catch {
    return false
  }
}
