/**
 * What ends the children of an agent that was killed with -9: a small shell that waits for the agent's end of a pipe
 * to close. One for the whole run, outside the groups it guards: a watcher inside a command's own group would turn up
 * in that command's `wait` and `jobs`, and would keep its group from ever being empty.
 */
import { type ChildProcess, spawn } from 'node:child_process'

/**
 * $1 is the run's mark. Each line on stdin is the whole list of living groups; the end of stdin is the agent's end.
 * Where there is /proc, processes that have left their group are found by the mark in their environment; again and
 * again, since they may be forking.
 */
const SCRIPT = `trap '' HUP INT TERM
while read -r line; do groups=$line; done
for group in $groups; do kill -9 "-$group"; done
for round in 1 2 3 4 5; do
  found=$(grep -lsF -e "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do process=\${file#/proc/}; kill -9 "\${process%/*}"; done
done`

/** Guards process groups as long as this process lives and after it. */
export class Watcher {
  readonly #mark: string
  #shell: ChildProcess | null = null

  /** @param mark what the environment of every guarded process contains */
  constructor(mark: string) {
    this.#mark = mark
  }

  /** Starts the watcher where there is none, or none any more. */
  start(): void {
    this.#shell ??= this.#spawn()
  }

  /** Sends the list of living groups. */
  watch(groups: Iterable<number>): void {
    this.start()
    this.#shell?.stdin?.write(`${[...groups].join(' ')}\n`)
  }

  /** Lets the watcher do its work now: it ends what is left, then itself. */
  dismiss(): void {
    this.#shell?.stdin?.end()
    this.#shell = null
  }

  #spawn(): ChildProcess {
    // Not with the caller's environment: that may carry the mark of an agent around this one, and when both are
    // killed the outer watcher must not end the inner one before it has done its work.
    const shell = spawn('sh', ['-c', SCRIPT, 'stepwright-watcher', this.#mark], {
      cwd: '/',
      env: { PATH: process.env.PATH },
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const gone = () => {
      if (this.#shell === shell) this.#shell = null
    }
    shell.once('error', gone).once('exit', gone).unref()
    shell.stdin?.on('error', gone)
    // Its end of the pipe must not keep the agent from ending.
    if (shell.stdin && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
    return shell
  }
}
