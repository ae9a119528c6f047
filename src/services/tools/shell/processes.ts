/** Which processes live, and signals to them. Where there is a /proc it is asked; nothing here needs one. */
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Whether a process of the group still runs. A dead one that nobody has waited for does not count: in a container
 * whose first process does not care for orphans, it keeps its group for ever.
 */
export function isGroupAlive(pgid: number): boolean {
  if (send(-pgid, 0) === 'gone') return false
  const stats = processNumbers().map((pid) => read(pid, 'stat'))
  if (stats.length === 0) return true
  return stats.some((stat) => {
    // "pid (name) state parent group …", where the name may contain anything.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(group) === pgid && state !== 'Z' && state !== 'X'
  })
}

/**
 * Living processes whose environment at their start contained `mark`, also those that have left their group by
 * setsid. Needs /proc: elsewhere there are none.
 */
export function processesMarked(mark: string): number[] {
  return processNumbers()
    .filter((pid) => read(pid, 'environ').includes(mark))
    .map(Number)
}

/**
 * Sends a signal; 0 only asks.
 * @param target a process, or a group as a negative number
 */
export function send(target: number, signal: NodeJS.Signals | 0): 'sent' | 'gone' {
  try {
    process.kill(target, signal)
    return 'sent'
  } catch (error) {
    // EPERM: it lives, but under another user (sudo); there is nothing more to do about it.
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'gone' : 'sent'
  }
}

function processNumbers(): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
}

function read(pid: string, file: 'stat' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // Someone else's process, or one that has just ended.
    return ''
  }
}
