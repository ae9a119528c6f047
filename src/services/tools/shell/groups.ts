/**
 * The process groups that shell commands run in: which of them live, and how they end. Everything a command starts
 * ends with the run at the latest: at once where the run ends itself, through the watcher where it is killed.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isGroupAlive, processesMarked, send } from './processes.ts'
import { Watcher } from './watcher.ts'

/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 1000
const GRACE_AT_END_MS = 300
/** How long a killed group may take to vanish; a process inside a broken driver never does. */
const VANISH_MS = 1000
const POLL_MS = 20
/** How often groups that live on in the background are looked at: an ended one's number may be given away again. */
const PRUNE_MS = 1000
/** Rounds of looking for marked processes: they may fork while they are looked for. */
const ROUNDS = 5

/** One command's processes: the group's number, and what their environment contains even where they left the group. */
export interface Group {
  pgid: number
  mark: string
}

/** All groups of one run. */
export class ProcessGroups {
  #run = randomUUID()
  #watcher = new Watcher(this.#run)
  readonly #living = new Map<number, Group>()
  #commands = 0
  #pruning: NodeJS.Timeout | null = null

  /**
   * The mark of the next command and the value of MARK_VARIABLE that carries it.
   * @param inherited that variable in the caller's environment: a run inside a run belongs to both
   */
  nextMark(inherited: string | undefined): { mark: string; value: string } {
    // The stroke ends the number: the mark of command 1 is not found in that of command 11.
    const mark = `${this.#run}.${++this.#commands}/`
    return { mark, value: `${inherited ?? ''}${mark}` }
  }

  /** Starts the watcher where there is none. */
  prepare(): void {
    this.#watcher.start()
  }

  /** Guards a group that has just been started. */
  adopt(group: Group): void {
    this.#living.set(group.pgid, group)
    this.#watcher.watch(this.#living.keys())
  }

  /** To be called when a group's shell has ended: forgets the group if nothing of it lives on. */
  release(group: Group): void {
    if (isGroupAlive(group.pgid)) this.#pruneLater()
    else this.#forget(group)
  }

  /** Ends everything a command has started: SIGTERM, a short grace, SIGKILL. Resolves when it is gone. */
  async end(group: Group): Promise<void> {
    await this.#end([group], group.mark, GRACE_MS)
  }

  /** The end of the run: ends all that still lives. The object can be used again afterwards. */
  async endAll(): Promise<void> {
    if (this.#commands > 0) await this.#end([...this.#living.values()], this.#run, GRACE_AT_END_MS)
    this.#watcher.dismiss()
    // It still ends what carries this run's mark while it ends itself: what comes after gets another one.
    this.#run = randomUUID()
    this.#watcher = new Watcher(this.#run)
    this.#commands = 0
    if (this.#pruning) clearTimeout(this.#pruning)
    this.#pruning = null
  }

  async #end(groups: Group[], mark: string, graceMs: number): Promise<void> {
    const gone = () => groups.every((group) => !isGroupAlive(group.pgid)) && processesMarked(mark).length === 0
    if (!gone()) {
      signalAll(groups, processesMarked(mark), 'SIGTERM')
      if (!(await within(graceMs, gone))) await this.#kill(groups, mark, gone)
    }
    for (const group of groups) this.#forget(group)
  }

  async #kill(groups: Group[], mark: string, gone: () => boolean): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const strays = processesMarked(mark)
      signalAll(groups, strays, 'SIGKILL')
      if (strays.length === 0) break
    }
    await within(VANISH_MS, gone)
  }

  #forget(group: Group): void {
    if (this.#living.delete(group.pgid)) this.#watcher.watch(this.#living.keys())
  }

  #pruneLater(): void {
    if (this.#pruning) return
    this.#pruning = setTimeout(() => {
      this.#pruning = null
      for (const group of this.#living.values()) if (!isGroupAlive(group.pgid)) this.#forget(group)
      if (this.#living.size > 0) this.#pruneLater()
    }, PRUNE_MS).unref()
  }
}

function signalAll(groups: Group[], processes: number[], signal: NodeJS.Signals): void {
  for (const group of groups) send(-group.pgid, signal)
  for (const pid of processes) send(pid, signal)
}

async function within(ms: number, isDone: () => boolean): Promise<boolean> {
  const end = Date.now() + ms
  for (;;) {
    if (isDone()) return true
    if (Date.now() >= end) return false
    await sleep(POLL_MS)
  }
}
