/** Puts a run together: directory, settings, key, session, and the ports over the real world. */
import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { CommonArgs, RunArgs } from '../cli/args.ts'
import type { TurnLimits } from '../machines/journal.ts'
import { createContext } from '../services/context/index.ts'
import { createModel, type Model } from '../services/model/index.ts'
import { checkBaseUrl } from '../services/model/key.ts'
import { type costOf, DEFAULT_MODEL, maxOutputOf, windowOf } from '../services/model/prices.ts'
import { createPermissions } from '../services/permissions/decide.ts'
import type { Observe, Result, StorePort } from '../services/ports.ts'
import type { RunDeps } from '../services/provide/deps.ts'
import { loadSettings, type Settings } from '../services/settings/index.ts'
import { isTrusted } from '../services/settings/trust.ts'
import { createStore } from '../services/store/index.ts'
import { createTools } from '../services/tools/registry.ts'
import { credentials } from './credentials.ts'
import { findSession, openSession, type RunSession } from './session.ts'

const DEFAULT_MAX_TURNS = 250
/** Of the model's window; the rest is for the reply and the summary (contract.md, 9). */
const BUDGET_SHARE = 0.8
const UNKNOWN_WINDOW = 200_000

export interface Composed {
  session: RunSession
  deps: Omit<RunDeps, 'recorder' | 'begin' | 'state' | 'now'>
  cost: typeof costOf
  close(): Promise<void>
}

/** The user's own folder of the agent. */
export function agentHome(env: NodeJS.ProcessEnv = process.env): string {
  return env.AGENT_HOME ? resolve(env.AGENT_HOME) : join(homedir(), '.agent')
}

/** @returns the working directory as a real path: what `-C` names, or the one the process stands in */
export async function workingDirectory(given: string | null): Promise<Result<string>> {
  if (given === null) {
    try {
      return { ok: true, value: await realpath(process.cwd()) }
    } catch {
      return { ok: false, message: 'The current directory no longer exists: give another with -C <dir>.' }
    }
  }
  return existingDirectory(given)
}

async function existingDirectory(given: string): Promise<Result<string>> {
  const named = JSON.stringify(given)
  if (given === '') return { ok: false, message: '-C needs a directory, but was given "".' }
  try {
    const real = await realpath(given)
    if ((await stat(real)).isDirectory()) return { ok: true, value: real }
    return { ok: false, message: `-C ${named} is not a directory.` }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EACCES') return { ok: false, message: `-C ${named} cannot be entered: permission denied.` }
    if (code === 'ENOTDIR') return { ok: false, message: `-C ${named} is not a directory.` }
    return { ok: false, message: `-C ${named} does not exist.` }
  }
}
