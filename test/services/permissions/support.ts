/** Decisions about calls, with rules as the user's settings would give them. */
import { createPermissions, type PermissionOptions } from '../../../src/services/permissions/index.ts'
import type { CallEffect, Decision, PermissionPort } from '../../../src/services/ports.ts'

export interface Rules {
  allow?: string[]
  ask?: string[]
  deny?: string[]
}

export interface Judge {
  port: PermissionPort
  bash(command: string): Promise<Decision>
  call(tool: string, effect: CallEffect, input?: Record<string, unknown>): Promise<Decision>
}

const PLACE = { cwd: '/project', home: '/home/me', agentHome: '/home/me/.agent', yes: false }

/** @returns a judge under these rules; throws where they are not understood */
export async function judgeWith(rules: Rules, more: Partial<PermissionOptions> = {}): Promise<Judge> {
  const made = await createPermissions({ ...PLACE, ...more, rules: textsOf(rules) })
  if (!made.ok) throw new Error(made.message)
  const port = made.value
  const call: Judge['call'] = (name, effect, input = {}) =>
    port.decide({ type: 'tool_use', id: 'toolu_1', name, input }, effect)
  return { port, call, bash: (command) => call('bash', { kind: 'execute', command }, { command }) }
}

export function textsOf(rules: Rules): PermissionOptions['rules'] {
  const sourced = (list: string[] = []) => list.map((rule) => ({ rule, source: 'settings.json' }))
  return { allow: sourced(rules.allow), ask: sourced(rules.ask), deny: sourced(rules.deny) }
}
