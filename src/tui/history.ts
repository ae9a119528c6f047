/**
 * What was typed in a directory before, kept in the agent's home: a JSON string a line, newest last. Conversations side
 * by side in one directory share it. Nobody rewrites a file that others append to: one that is long is set aside whole
 * under a second name, and read from there, until the next one takes that name.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { acquireLock } from '../services/lock.ts'

/** Lines from which a file is set aside; up to twice as many can be come back to. */
const MOST = 1_000
/** A longer one is no line to come back to. */
const LONGEST = 20_000

export interface History {
  /** Newest last. */
  all(): readonly string[]
  /** Keeps it, for the next start too; one that is the same as the last is not kept twice. */
  add(text: string): void
}

interface Files {
  current: string
  older: string
}

/** @param cwd a real path */
export function openHistory(home: string, cwd: string): History {
  const directory = join(home, 'history')
  const name = createHash('sha256').update(cwd).digest('hex').slice(0, 16)
  const files: Files = { current: join(directory, `${name}.jsonl`), older: join(directory, `${name}.older.jsonl`) }
  const current = read(files.current)
  let lines = [...read(files.older), ...current]
  if (current.length > MOST) void setAside(files)
  return {
    all: () => lines,
    add(text) {
      if (text.trim() === '' || text.length > LONGEST || lines.at(-1) === text) return
      lines = [...lines, text]
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 })
        append(files.current, text)
      } catch {
        // A home that cannot be written: it is there until the end.
      }
    },
  }
}

/** One write at the end of the file, which no other can get between. */
function append(file: string, text: string): void {
  // Begun with a line end: half a line of a process that was killed, or of a full disk, takes no other with it.
  appendFileSync(file, `\n${JSON.stringify(text)}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
}

function read(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').flatMap(parse)
  } catch {
    return []
  }
}

function parse(line: string): string[] {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'string' ? [value] : []
  } catch {
    return []
  }
}

/** A line that another conversation appends at this moment goes along with the file. */
async function setAside({ current, older }: Files): Promise<void> {
  const outcome = await acquireLock(`${current}.lock`)
  // Somebody else is about to, or nobody can: the long file is read again next time.
  if (outcome.kind !== 'held') return
  try {
    // Once only: the file that is there now may be the next one, and short.
    if (read(current).length > MOST) renameSync(current, older)
  } catch {
    // As above.
  } finally {
    outcome.lock.release()
  }
}
