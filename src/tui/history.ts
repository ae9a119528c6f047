/** What was typed in a directory before, kept in the agent's home: a JSON string a line, newest last. */
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MOST = 1_000
/** A longer one is no line to come back to. */
const LONGEST = 20_000

export interface History {
  /** Newest last. */
  all(): readonly string[]
  /** Keeps it, for the next start too; one that is the same as the last is not kept twice. */
  add(text: string): void
}

/** @param cwd a real path */
export function openHistory(home: string, cwd: string): History {
  const directory = join(home, 'history')
  const file = join(directory, `${createHash('sha256').update(cwd).digest('hex').slice(0, 16)}.jsonl`)
  let lines = read(file)
  if (lines.length > 2 * MOST) {
    lines = lines.slice(-MOST)
    rewrite(file, lines)
  }
  return {
    all: () => lines,
    add(text) {
      if (text.trim() === '' || text.length > LONGEST || lines.at(-1) === text) return
      lines = [...lines, text]
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 })
        appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 })
        chmodSync(file, 0o600)
      } catch {
        // A home that cannot be written: it is there until the end.
      }
    },
  }
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

function rewrite(file: string, lines: string[]): void {
  try {
    writeFileSync(`${file}.${process.pid}`, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 })
    renameSync(`${file}.${process.pid}`, file)
  } catch {
    // The long file is read again next time.
  }
}
