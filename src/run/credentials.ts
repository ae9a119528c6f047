/** The key for the model's server, from the environment. */
import { checkKey } from '../services/model/key.ts'
import type { Result } from '../services/ports.ts'
import { withoutPassword } from '../services/store/adapter.ts'

export type Credentials = { apiKey: string; authToken: null } | { apiKey: null; authToken: string }

/** Variables that hold a secret of ours: no child process gets them. */
export const SECRET_VARIABLES = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const

const NO_KEY =
  'No API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN). For a local server set ANTHROPIC_BASE_URL to it and the key to any text. To see the agent work without a key: agent demo.'

/** @returns the key, or else the token, trimmed; a sentence where there is neither or it cannot be sent */
export function credentials(env: NodeJS.ProcessEnv): Result<Credentials> {
  for (const name of SECRET_VARIABLES) {
    if ((env[name] ?? '').trim() === '') continue
    const key = checkKey(env[name], name)
    if (!key.ok) return key
    const value = key.value
    return {
      ok: true,
      value: name === 'ANTHROPIC_API_KEY' ? { apiKey: value, authToken: null } : { apiKey: null, authToken: value },
    }
  }
  return { ok: false, message: NO_KEY }
}

/** @returns the environment of the tools' processes: the caller's and the settings', without our keys and passwords */
export function childEnv(env: NodeJS.ProcessEnv, extra: Record<string, string>): NodeJS.ProcessEnv {
  const child: NodeJS.ProcessEnv = { ...env, ...extra }
  for (const name of SECRET_VARIABLES) delete child[name]
  const store = child.AGENT_STORE
  if (store !== undefined && withoutPassword(store) !== store) delete child.AGENT_STORE
  return child
}
