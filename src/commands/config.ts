/** `agent config [--json]`: each setting as it is in effect here, and where it comes from (contract.md, section 1). */
import { DEFAULT_BASE_URL } from '../services/model/key.ts'
import { budgetOf, DEFAULT_MODEL, maxOutputOf } from '../services/model/prices.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import {
  isTrusted,
  type LoadedSettings,
  loadSettings,
  type SourcedRule,
  type Sources,
  WITHOUT_EFFECT,
} from '../services/settings/index.ts'
import { withoutPassword } from '../services/store/adapter.ts'
import { printable, printableLine } from '../services/text.ts'
import { ownStreams, withOut } from './look.ts'

export interface ConfigArgs {
  json: boolean
  /** The file of `--settings`. */
  settings: string | null
}

export interface ConfigPlace {
  /** The agent's home. */
  home: string
  /** Absolute and real. */
  cwd: string
}

/** One line of the list. `source`: files or variables, weakest first where a list is joined, or `default`. */
export interface EffectiveSetting {
  key: string
  value: unknown
  source: string
  /** What is to be known of it; absent for nearly all. */
  note?: string
}

/**
 * Prints the settings; warnings go to stderr.
 * @returns the exit code: 0, or 2 where a settings file is broken
 */
export function configCommand({ json, settings }: ConfigArgs, { home, cwd }: ConfigPlace): Promise<number> {
  return withOut(ownStreams(), async (out) => {
    const trusted = isTrusted(home, cwd)
    const loaded = await loadSettings({ home, cwd, settingsFile: settings, env: process.env, trusted })
    if (!loaded.ok) {
      out.fail(printableLine(loaded.message))
      return 2
    }
    for (const warning of loaded.value.warnings) out.tell(`warning: ${printableLine(warning)}`)
    const list = effectiveSettings(loaded.value)
    if (json) out.print(jsonLine(list))
    else for (const line of table(list)) out.print(line)
    return 0
  })
}

/** @returns every setting in a fixed order, those that do nothing only where they are set; null where nothing is set and the default depends on the run. */
function effectiveSettings({ settings, sources }: LoadedSettings): EffectiveSetting[] {
  const model = settings.model ?? DEFAULT_MODEL
  const rules = (list: SourcedRule[]): string[] => list.map(({ rule }) => rule)
  const values: Record<string, unknown> = {
    model,
    max_output_tokens: settings.max_output_tokens ?? maxOutputOf(model),
    base_url: settings.base_url ?? DEFAULT_BASE_URL,
    'compaction.input_tokens': settings.compaction.input_tokens ?? budgetOf(model),
    'compaction.always': settings.compaction.always,
    'permissions.allow': rules(settings.permissions.allow),
    'permissions.ask': rules(settings.permissions.ask),
    'permissions.deny': rules(settings.permissions.deny),
    'memory.enabled': settings.memory.enabled,
    store: settings.store === null ? null : withoutPassword(settings.store),
    'sandbox.enabled': settings.sandbox.enabled,
    'sandbox.network': settings.sandbox.network,
    env: settings.env,
  }
  const unused = WITHOUT_EFFECT.filter((key) => sources[key] !== undefined)
  const used = Object.entries(values).map(([key, value]) => ({ key, value, source: sourceOf(sources, key) }))
  const idle = unused.map((key) => ({ key, value: settings[key], source: sourceOf(sources, key), note: UNUSED }))
  return [...used, ...idle]
}

const UNUSED = 'not used by this version'

function sourceOf(sources: Sources, key: string): string {
  return sources[key]?.join(', ') ?? 'default'
}

function table(list: EffectiveSetting[]): string[] {
  const shown = list.map(({ key, value, source, note }) => [
    key,
    JSON.stringify(value),
    note === undefined ? source : `${source} (${note})`,
  ])
  const width = (column: number): number => Math.min(40, Math.max(...shown.map((row) => row[column]?.length ?? 0)))
  const [keys, values] = [width(0), width(1)]
  return shown
    .map(([key = '', value = '', source = '']) => `${key.padEnd(keys)}  ${value.padEnd(values)}  ${source}`)
    .map(printable)
}
