/** What settings decide before a run or a command has its parts: the settings themselves, and which store they name. */
import type { Result, StorePort } from '../services/ports.ts'
import { isTrusted, type LoadedSettings, loadSettings, type Settings } from '../services/settings/index.ts'
import { createStore, parseStoreUri } from '../services/store/index.ts'
import { agentHome } from './directory.ts'
import type { CommonOptions } from './request.ts'

/** @returns the settings that hold in a directory, a real path; a sentence where one of the files is broken */
export async function settingsFor(
  cwd: string,
  common: Pick<CommonOptions, 'settings'>,
): Promise<Result<LoadedSettings>> {
  const home = agentHome(process.env)
  return loadSettings({ home, cwd, settingsFile: common.settings, env: process.env, trusted: isTrusted(home, cwd) })
}

/**
 * @returns the store of sessions that settings name; nothing is opened before it is asked for something. A name of no
 *   store is a mistake in the settings, unlike a store that fails: nothing is started then
 */
export function storeOf({ store: uri }: Settings, warn: (message: string) => void): Result<StorePort> {
  const home = agentHome(process.env)
  const address = parseStoreUri(uri ?? undefined, home)
  if (!address.ok) return address
  return { ok: true, value: createStore({ home, ...(uri !== null && { uri }), warn }) }
}

/** @returns the store in which a run in this directory keeps its session: what commands about sessions look at */
export async function storeFor(
  cwd: string,
  common: Pick<CommonOptions, 'settings'>,
  warn: (message: string) => void,
): Promise<Result<StorePort>> {
  const settings = await settingsFor(cwd, common)
  return settings.ok ? storeOf(settings.value.settings, warn) : settings
}
