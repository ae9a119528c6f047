/**
 * The settings of a run, from files in rising weight: the user's, the project's, the project's local ones, and
 * the file of `--settings`. Only where one of them exists are the parser and the schema loaded.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Result } from '../ports.ts'
import { withoutRights } from './rights.ts'
import { mergeSettings, type Settings, type SettingsFile, type Sources } from './settings.ts'

export { RAISES_RIGHTS } from './rights.ts'
export { DEFAULT_SETTINGS, type Settings, type SourcedRule, type Sources } from './settings.ts'
export { isTrusted, readTrusted, trustFile } from './trust.ts'

export interface SettingsOptions {
  /** The agent's home: `$AGENT_HOME`, else `~/.agent`. */
  home: string
  /** Working directory, absolute. */
  cwd: string
  /** The file of `--settings`; relative ones start at the caller's directory. Counts as the user's own. */
  settingsFile: string | null
  /** The caller's environment: its variables weigh more than any file. */
  env: NodeJS.ProcessEnv
  /** Whether the user trusts `cwd`. */
  trusted: boolean
}

export interface LoadedSettings {
  settings: Settings
  /** Sentences for stderr: unknown keys, keys a project may not set. */
  warnings: string[]
  sources: Sources
}

/** `project`: may lower rights, not raise them. */
type Origin = 'user' | 'project'

interface Place {
  file: string
  origin: Origin
  /** A file the user named must be there. */
  required: boolean
}

/** Settings are written by hand; what is larger is something else. */
const MAX_BYTES = 1024 * 1024

/**
 * Reads and joins the settings files.
 * @returns the settings, or one line that names file, line and key of the first thing wrong in any of them
 *   (contract.md, section 2: broken settings start nothing)
 */
export async function loadSettings(options: SettingsOptions): Promise<Result<LoadedSettings>> {
  const files: Array<{ source: string; value: SettingsFile }> = []
  const warnings: string[] = []
  for (const place of places(options)) {
    const text = readText(place)
    if (!text.ok) return text
    if (text.value === null) continue
    const { parseSettings } = await import('./parse.ts')
    const parsed = parseSettings(place.file, text.value, (value) => {
      if (place.origin === 'user' || options.trusted) return { rest: value, warnings: [] }
      const { rest, removed } = withoutRights(value)
      return { rest, warnings: removed.length === 0 ? [] : [ignored(place.file, removed)] }
    })
    if (!parsed.ok) return parsed
    files.push({ source: place.file, value: parsed.value.value })
    warnings.push(...parsed.value.warnings)
  }
  const merged = mergeSettings([...files, ...fromEnvironment(options.env)])
  return { ok: true, value: { ...merged, warnings: [...warnings, ...withoutEffect(merged)] } }
}

/** Read and checked for rights, but nothing is done with them yet: a hook that guards something must not fail in silence. */
export const WITHOUT_EFFECT = ['hooks', 'mcpServers'] as const

function withoutEffect({ settings, sources }: Pick<LoadedSettings, 'settings' | 'sources'>): string[] {
  return WITHOUT_EFFECT.filter((key) => Object.keys(settings[key]).length > 0).map((key) => {
    const files = sources[key]?.join(', ') ?? 'settings'
    return `${files}: the key "${key}" has no effect in this version. Do not rely on it.`
  })
}

/** The variables that set the same as a key; blank ones say nothing. */
const VARIABLES = { ANTHROPIC_MODEL: 'model', ANTHROPIC_BASE_URL: 'base_url', AGENT_STORE: 'store' } as const

function fromEnvironment(env: NodeJS.ProcessEnv): Array<{ source: string; value: SettingsFile }> {
  return Object.entries(VARIABLES).flatMap(([name, key]) => {
    const value = env[name]?.trim()
    return value ? [{ source: name, value: { [key]: value } }] : []
  })
}

function ignored(file: string, keys: string[]): string {
  const subject = keys.length === 1 ? 'a project may not set it' : 'a project may not set them'
  return `${file}: ignored ${keys.join(', ')}: ${subject} until you trust its directory (agent trust).`
}

/** @returns the files in rising weight, each real file once: in the home directory the user's is the project's. */
function places({ home, cwd, settingsFile }: SettingsOptions): Place[] {
  const all: Place[] = [
    { file: join(home, 'settings.json'), origin: 'user', required: false },
    { file: join(cwd, '.agent', 'settings.json'), origin: 'project', required: false },
    { file: join(cwd, '.agent', 'settings.local.json'), origin: 'project', required: false },
  ]
  const seen = new Set<string>()
  const distinct = all.filter(({ file }) => {
    const real = realPath(file)
    return !seen.has(real) && seen.add(real)
  })
  if (settingsFile !== null) distinct.push({ file: resolve(settingsFile), origin: 'user', required: true })
  return distinct
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** @returns the file's text, null where there is none and none is needed. */
function readText({ file, required }: Place): Result<string | null> {
  try {
    const stat = statSync(file)
    if (!stat.isFile()) return { ok: false, message: `${file} is not a file. Settings must stand in a regular file.` }
    if (stat.size > MAX_BYTES) return { ok: false, message: `${file} is larger than 1 MiB, which no settings file is.` }
    return { ok: true, value: readFileSync(file, 'utf8') }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Not taken for no settings: the rules of what should be there would be gone without a word.
    if (code === 'ENOENT' && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      return { ok: false, message: `Settings ${file}: it is a link to nothing. Mend or remove it.` }
    if (!required && (code === 'ENOENT' || code === 'ENOTDIR')) return { ok: true, value: null }
    const reason = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`
    return { ok: false, message: `Settings ${file}: ${reason}. Check the path and its access rights.` }
  }
}
