/** The tools there are: what is sent of them, and the way from a call to something that can be run. */
import * as z from 'zod/mini'
import { messageOf } from '../../machines/errorText.ts'
import type { ToolSpec, ToolUseBlock } from '../../machines/messages.ts'
import type { CallEffect, CheckedCall, ToolEnv, ToolResult, ToolsPort } from '../ports.ts'
import { bashTool } from './bash.ts'
import { editFileTool } from './editFile.ts'
import { asOwnCommand } from './files/seen.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { checkInput } from './input.ts'
import { readFileTool } from './readFile.ts'
import { todoWriteTool } from './todoWrite.ts'
import type { AnyTool } from './tool.ts'
import { writeFileTool } from './writeFile.ts'

/** In the order in which they are sent; that order never changes, so that the prompt cache holds. */
const BUILT_IN: readonly AnyTool[] = [
  bashTool,
  readFileTool,
  writeFileTool,
  editFileTool,
  globTool,
  grepTool,
  todoWriteTool,
]

/** What a subagent gets (contract.md, section 9). */
export const SUBAGENT_TOOLS: readonly string[] = ['bash', 'read_file', 'write_file', 'edit_file', 'glob', 'grep']

export interface ToolsOptions {
  /** Names of the built-in tools wanted; all of them by default. Their order does not matter. */
  builtIn?: readonly string[]
  /** More tools, after the built-in ones in this order: those that need more than a ToolEnv (`task`, `load_skill`, …). */
  more?: readonly AnyTool[]
}

/**
 * @returns the port to a set of tools that does not change, though not all of them may be offered at all times
 * @throws where a name is unknown or there twice, which is a bug of the caller
 */
export function createTools({ builtIn, more = [] }: ToolsOptions = {}): ToolsPort {
  const tools = byName([...wanted(builtIn), ...more])
  const offered = () => [...tools.values()].filter((tool) => tool.isOffered?.() ?? true)
  return {
    specs: () => offered().map(specOf),
    check: async (call, cwd) => {
      const tool = tools.get(call.name)
      if (tool === undefined) {
        return unknown(
          call.name,
          offered().map(({ name }) => name),
        )
      }
      const checked = checkInput(tool, specOf(tool), call.input)
      return checked.kind === 'invalid' ? checked : ready(tool, checked.input, call, cwd)
    },
  }
}

function wanted(names: readonly string[] | undefined): readonly AnyTool[] {
  const strange = names?.find((name) => !BUILT_IN.some((tool) => tool.name === name))
  if (strange !== undefined) throw new Error(`There is no built-in tool ${strange}.`)
  return names === undefined ? BUILT_IN : BUILT_IN.filter(({ name }) => names.includes(name))
}

function byName(tools: readonly AnyTool[]): Map<string, AnyTool> {
  const map = new Map<string, AnyTool>()
  for (const tool of tools) {
    if (map.has(tool.name)) throw new Error(`There are two tools ${tool.name}.`)
    map.set(tool.name, tool)
  }
  return map
}

const specs = new WeakMap<AnyTool, ToolSpec>()

/** @returns what is sent of a tool, made once: its schema as JSON Schema, draft 2020-12 */
function specOf(tool: AnyTool): ToolSpec {
  const known = specs.get(tool)
  if (known !== undefined) return known
  const { $schema, ...input_schema } = z.toJSONSchema(tool.input, { io: 'input', override: withoutSafeBounds })
  const spec: ToolSpec = { name: tool.name, description: tool.description, input_schema }
  specs.set(tool, spec)
  return spec
}

/** A whole number's own bounds (±2^53 - 1) go without saying, and are paid for in every request. */
function withoutSafeBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}

function unknown(name: string, names: string[]): CheckedCall {
  return { kind: 'invalid', content: `There is no tool ${JSON.stringify(name)}. The tools are: ${names.join(', ')}.` }
}

function ready(tool: AnyTool, input: never, call: ToolUseBlock, cwd: string): CheckedCall {
  const effect = tool.effect(input, cwd)
  return {
    kind: 'ready',
    effect,
    plan: tool.plan?.(input, cwd) ?? { key: null },
    run: (env) => safely(call.name, env, () => attributed(effect, env, () => tool.run(input, { ...env, id: call.id }))),
  }
}

/** What a shell command changes in files it names is the agent's own change. */
function attributed(effect: CallEffect, env: ToolEnv, run: () => Promise<ToolResult>): Promise<ToolResult> {
  return effect.kind === 'execute' ? asOwnCommand(env.seen, effect.command, run) : run()
}

/** A handler that throws is a bug or was interrupted; either way the call is answered and the loop goes on. */
async function safely(name: string, env: ToolEnv, run: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await run()
  } catch (error) {
    if (env.signal.aborted) return { kind: 'error', content: `${name} was interrupted before it ended.` }
    const message = messageOf(error)
    return { kind: 'error', content: `${name} failed unexpectedly: ${message}. It may have done a part of its work.` }
  }
}
