/** `agent trust [dir]`, `--list`, `--remove [dir]`: directories whose settings count like the user's own. */
import { realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { jsonLine } from '../services/output/jsonLines.ts'
import type { Result } from '../services/ports.ts'
import { changeTrust, listTrusted, readTrusted } from '../services/settings/trust.ts'
import { printableLine } from '../services/text.ts'
import { ownStreams, withOut } from './look.ts'

export interface TrustArgs {
  json: boolean
  /** Arguments after the command's name: the directory, by default the working directory. */
  input: string[]
  list: boolean
  remove: boolean
}

/** `home`: the agent's; `cwd`: absolute and real. */
export interface TrustPlace {
  home: string
  cwd: string
}

/** What was done, as `--json` prints it. */
type Done = { trusted: string[] } | { trusted: string; changed: boolean } | { removed: string }

/** @returns the exit code: 0, or 2 with a sentence on stderr where nothing was done */
export function trustCommand(args: TrustArgs, place: TrustPlace): Promise<number> {
  return withOut(ownStreams(), async (out) => {
    const done = await perform(args, place)
    if (!done.ok) {
      out.fail(printableLine(done.message))
      return 2
    }
    for (const line of args.json ? [jsonLine(done.value)] : inWords(done.value)) out.print(line)
    return 0
  })
}

async function perform({ input, list, remove }: TrustArgs, { home, cwd }: TrustPlace): Promise<Result<Done>> {
  const [given, extra] = input
  if (extra !== undefined)
    return refused(`Unexpected argument ${JSON.stringify(extra)}; agent trust takes one directory.`)
  if (list && (remove || given !== undefined)) return refused('--list takes no directory and goes without --remove.')
  if (list) {
    const trusted = listTrusted(home)
    return trusted.ok ? { ok: true, value: { trusted: trusted.value.toSorted() } } : trusted
  }
  const path = resolve(cwd, given ?? '.')
  return remove ? removeTrust(home, path) : addTrust(home, path)
}

function refused(message: string): Result<never> {
  return { ok: false, message }
}

async function addTrust(home: string, path: string): Promise<Result<Done>> {
  let real: string
  try {
    real = realpathSync(path)
    if (!statSync(real).isDirectory()) return refused(`${path} is not a directory; trust is given to a directory.`)
  } catch {
    return refused(`${path} does not exist. Give the directory to trust, or leave it out for the current one.`)
  }
  const changed = await changeTrust(home, 'add', real)
  return changed.ok ? { ok: true, value: { trusted: real, changed: changed.value } } : changed
}

/** A directory that is gone can still be taken from the list, by the path that it had. */
async function removeTrust(home: string, path: string): Promise<Result<Done>> {
  const real = realOf(path)
  const changed = await changeTrust(home, 'remove', real)
  if (!changed.ok) return changed
  if (changed.value) return { ok: true, value: { removed: real } }
  const above = readTrusted(home).find((directory) => isAbove(directory, real))
  return refused(
    above === undefined
      ? `${real} is not trusted, so there is nothing to remove. agent trust --list shows what is.`
      : `${real} is trusted because ${above} is: agent trust --remove ${above} takes it from both.`,
  )
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isAbove(directory: string, path: string): boolean {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (at === directory) return true
    if (at === dirname(at)) return false
  }
}

function inWords(done: Done): string[] {
  if ('removed' in done) return [`${printableLine(done.removed)} is no longer trusted.`]
  if ('changed' in done) {
    const now = done.changed ? 'is trusted now' : 'was trusted already'
    return [
      `${printableLine(done.trusted)} ${now}: what its settings allow, run and set counts, in its sub-directories too.`,
    ]
  }
  if (done.trusted.length === 0) return ['No directory is trusted. agent trust [dir] adds one.']
  return done.trusted.map(printableLine)
}
