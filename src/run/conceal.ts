/**
 * The key of the model's server stays out of all that is sent and kept: no child gets it, yet a command can find it
 * (in the memory of its parent, in a file). What tools and files say of it is replaced before anyone sees it.
 */
import type { ContextPort, RequestContext, Spool, ToolResult, ToolsPort } from '../services/ports.ts'
import { SECRET_VARIABLES } from './credentials.ts'

/** @returns the text without the key */
export type Conceal = (text: string) => string

/** Shorter keys are words such as "local" that a local server takes for one, and no secret. */
const SHORTEST = 16
const MARK = '[the key of the model was here]'

/** @returns null where there is nothing to conceal */
export function concealerOf(env: NodeJS.ProcessEnv): Concealer | null {
  const secrets = SECRET_VARIABLES.map((name) => (env[name] ?? '').trim()).filter((value) => value.length >= SHORTEST)
  if (secrets.length === 0) return null
  const conceal: Conceal = (text) => secrets.reduce((result, secret) => result.replaceAll(secret, () => MARK), text)
  return { conceal, longest: Math.max(...secrets.map(({ length }) => length)) }
}

export interface Concealer {
  conceal: Conceal
  /** Of the longest secret, in UTF-16 units. */
  longest: number
}

/** @returns the tools, whose results and files of results do not hold the key */
export function concealTools(tools: ToolsPort, concealer: Concealer | null): ToolsPort {
  if (concealer === null) return tools
  return {
    specs: () => tools.specs(),
    check: async (call, cwd) => {
      const checked = await tools.check(call, cwd)
      if (checked.kind === 'invalid') return checked
      return {
        ...checked,
        run: async ({ spool, ...env }) => {
          const held = spool && concealingSpool(spool, concealer)
          const result = await checked.run({ ...env, ...(held && { spool: held }) })
          held?.flush()
          return concealResult(result, concealer.conceal)
        },
      }
    },
  }
}

function concealResult(result: ToolResult, conceal: Conceal): ToolResult {
  if (result.kind === 'error') return { ...result, content: conceal(result.content) }
  const { content } = result
  if (typeof content === 'string') return { ...result, content: conceal(content) }
  const blocks = content.map((block) => (block.type === 'text' ? { ...block, text: conceal(block.text) } : block))
  return { ...result, content: blocks }
}

/** Pieces may cut the key in two, so the end of each waits for the next. */
function concealingSpool(spool: Spool, { conceal, longest }: Concealer): Spool & { flush(): void } {
  let waiting = ''
  return {
    write(text) {
      const whole = conceal(waiting + text)
      const ready = Math.max(0, whole.length - longest)
      waiting = whole.slice(ready)
      spool.write(whole.slice(0, ready))
    },
    flush() {
      spool.write(waiting)
      waiting = ''
    },
  }
}

/** @returns the context, in which neither mentioned files nor instructions bring the key; the prompt stays as typed */
export function concealContext(context: ContextPort, concealer: Concealer | null): ContextPort {
  if (concealer === null) return context
  const { conceal } = concealer
  const known = new WeakMap<RequestContext, RequestContext>()
  return {
    expandPrompt: async (text, extra) => {
      const blocks = await context.expandPrompt(text, extra)
      return blocks.map((block) =>
        block.type === 'text' && block.text !== text ? { ...block, text: conceal(block.text) } : block,
      )
    },
    read: async () => {
      const read = await context.read()
      const system = conceal(read.system)
      if (system === read.system) return read
      const concealed = known.get(read) ?? { ...read, system }
      known.set(read, concealed)
      return concealed
    },
  }
}
