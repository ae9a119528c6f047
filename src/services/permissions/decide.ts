/** Whether a tool call may run: without `--yes`, reading inside the working directory; the rest must be asked. */
import type { CallEffect, Decision, PermissionPort } from '../ports.ts'
import { isInside, realPathOf } from './paths.ts'

/**
 * @param options.cwd the working directory as a real path
 * @param options.yes approve whatever would ask (`--yes`)
 * @param options.readable more directories whose files may be read, as real paths: those of skills
 */
export function createPermissions(options: { cwd: string; yes: boolean; readable?: string[] }): PermissionPort {
  const readable = [options.cwd, ...(options.readable ?? [])]
  return {
    decide: async (call, effect) => {
      const decision = await judge(readable, call.name, effect)
      return decision.kind === 'ask' && options.yes ? { kind: 'allow' } : decision
    },
  }
}

async function judge(readable: string[], tool: string, effect: CallEffect): Promise<Decision> {
  switch (effect.kind) {
    case 'none':
      return { kind: 'allow' }
    case 'read': {
      const outside = await firstOutside(readable, effect.paths)
      return outside === null
        ? { kind: 'allow' }
        : ask(`${outside} is outside the working directory and reading there needs approval.`, tool)
    }
    case 'write':
      return ask(`${tool} changes files and that needs approval.`, tool)
    case 'execute':
      return ask(`${tool} runs a command and that needs approval.`, tool)
  }
}

async function firstOutside(readable: string[], paths: string[]): Promise<string | null> {
  for (const path of paths) {
    const real = await realPathOf(path)
    if (!readable.some((directory) => isInside(directory, real))) return path
  }
  return null
}

function ask(reason: string, tool: string): Decision {
  return {
    kind: 'ask',
    reason,
    howToAllow: `Tell the user to run again with --yes, or to allow "${tool}" in permissions.allow of their settings, and go on with what can be done without it.`,
  }
}
