/** The settings of a run: what the files say, put together, with the place each value comes from. */

/** A permission rule and the file it stands in. */
export interface SourcedRule {
  rule: string
  source: string
}

export interface Settings {
  model: string | null
  /** Most tokens of one reply; null: what the model takes. */
  max_output_tokens: number | null
  base_url: string | null
  compaction: {
    /** Input tokens over which a conversation is compacted; null: 80 % of the model's window. */
    input_tokens: number | null
    always: boolean
  }
  permissions: { allow: SourcedRule[]; ask: SourcedRule[]; deny: SourcedRule[] }
  /** null: on where the directory exists. */
  memory: { enabled: boolean | null }
  /** A Keyv URI; null: SQLite in the agent's home. */
  store: string | null
  /** Walls around shell commands, as by --sandbox. */
  sandbox: { enabled: boolean; network: boolean }
  /** For the tools' environment. */
  env: Record<string, string>
  /** As written; their own readers check them. */
  hooks: Record<string, unknown>
  mcpServers: Record<string, unknown>
}

/** Settings as one file may give them. */
export interface SettingsFile {
  model?: string | undefined
  max_output_tokens?: number | undefined
  base_url?: string | undefined
  compaction?: { input_tokens?: number | undefined; always?: boolean | undefined } | undefined
  permissions?: { allow?: string[] | undefined; ask?: string[] | undefined; deny?: string[] | undefined } | undefined
  memory?: { enabled?: boolean | undefined } | undefined
  store?: string | undefined
  sandbox?: { enabled?: boolean | undefined; network?: boolean | undefined } | undefined
  env?: Record<string, string> | undefined
  hooks?: Record<string, unknown> | undefined
  mcpServers?: Record<string, unknown> | undefined
}

/** A key with its steps joined by dots → the files its value comes from, weakest first. Absent: the default. */
export type Sources = Record<string, string[]>

export const DEFAULT_SETTINGS: Settings = {
  model: null,
  max_output_tokens: null,
  base_url: null,
  compaction: { input_tokens: null, always: false },
  permissions: { allow: [], ask: [], deny: [] },
  memory: { enabled: null },
  store: null,
  sandbox: { enabled: false, network: false },
  env: {},
  hooks: {},
  mcpServers: {},
}

/**
 * Puts files together: a scalar of a later file replaces an earlier one's, lists of rules are joined and never
 * replaced, named entries (`env`, `hooks`, `mcpServers`) are replaced one by one.
 * @param files weakest first
 */
export function mergeSettings(files: ReadonlyArray<{ source: string; value: SettingsFile }>): {
  settings: Settings
  sources: Sources
} {
  const settings = structuredClone(DEFAULT_SETTINGS)
  const sources: Sources = {}
  for (const { source, value } of files) {
    const take = <T>(key: string, given: T | undefined, set: (given: T) => void, joined = false): void => {
      if (given === undefined) return
      set(given)
      sources[key] = joined ? [...(sources[key] ?? []), source] : [source]
    }
    for (const key of ['model', 'base_url', 'store'] as const)
      take(key, value[key], (given) => {
        settings[key] = given
      })
    take('max_output_tokens', value.max_output_tokens, (given) => {
      settings.max_output_tokens = given
    })
    take('compaction.input_tokens', value.compaction?.input_tokens, (given) => {
      settings.compaction.input_tokens = given
    })
    take('compaction.always', value.compaction?.always, (given) => {
      settings.compaction.always = given
    })
    take('memory.enabled', value.memory?.enabled, (given) => {
      settings.memory.enabled = given
    })
    for (const key of ['enabled', 'network'] as const)
      take(`sandbox.${key}`, value.sandbox?.[key], (given) => {
        settings.sandbox[key] = given
      })
    for (const list of ['allow', 'ask', 'deny'] as const)
      take(
        `permissions.${list}`,
        value.permissions?.[list],
        (given) => settings.permissions[list].push(...given.map((rule) => ({ rule, source }))),
        true,
      )
    for (const key of ['env', 'hooks', 'mcpServers'] as const)
      take(
        key,
        value[key],
        (given) => {
          // Not by assignment, which would take a name such as `__proto__` for something else.
          const entries = [...Object.entries(settings[key]), ...Object.entries(given)]
          settings[key] = Object.fromEntries(entries) as Record<string, string>
        },
        true,
      )
  }
  return { settings, sources }
}
