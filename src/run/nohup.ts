/** Whether a run was started to outlive its terminal. */
import { constants, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * `nohup` ignores SIGHUP for the program it runs, and Node undoes that before any of our code runs (PlatformInit in
 * src/node.cc), so it is known again by its other traces: shells name the program they run in `_`, and where stdin
 * was a terminal, `nohup` puts a /dev/null there that can only be written.
 */
export function startedByNohup(env: NodeJS.ProcessEnv = process.env): boolean {
  return (env._ !== undefined && basename(env._) === 'nohup') || hasUnreadableStdin()
}

/** Told by Linux only; elsewhere the shell's word must do. */
function hasUnreadableStdin(): boolean {
  try {
    if (readlinkSync('/proc/self/fd/0') !== '/dev/null') return false
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/0', 'latin1'))?.[1] ?? '0'
    return (Number.parseInt(flags, 8) & (constants.O_WRONLY | constants.O_RDWR)) === constants.O_WRONLY
  } catch {
    return false
  }
}
