/** A temporary directory and the real tools in it, called as the loop calls them. */
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ToolEnv, ToolResult } from '../../../src/services/ports.ts'
import { createTools } from '../../../src/services/tools/registry.ts'

export interface Workspace {
  dir: string
  env: ToolEnv
  /** Checks and runs a call; an invalid one gives its text as an error, as the loop does. */
  call(name: string, input: unknown): Promise<ToolResult>
  /** What a valid call must wait for. */
  key(name: string, input: Record<string, unknown>): Promise<string | null>
  /** The names in a directory of the workspace, sorted. */
  names(directory?: string): Promise<string[]>
  remove(): Promise<void>
}

export async function workspace(): Promise<Workspace> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'stepwright-tools-')))
  const env: ToolEnv = { cwd: dir, signal: new AbortController().signal, childEnv: process.env, seen: new Map() }
  const tools = createTools()
  const check = (name: string, input: unknown) =>
    tools.check({ type: 'tool_use', id: 'toolu_1', name, input: input as Record<string, unknown> }, dir)
  return {
    dir,
    env,
    key: async (name, input) => {
      const checked = await check(name, input)
      if (checked.kind === 'invalid') throw new Error(checked.content)
      return checked.plan.key
    },
    call: async (name, input) => {
      const checked = await check(name, input)
      return checked.kind === 'invalid' ? { kind: 'error', content: checked.content } : checked.run(env)
    },
    names: async (directory = '.') => (await readdir(join(dir, directory))).sort(),
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
