/**
 * The key of the model's server stays out of all that is sent and kept: no child gets it, yet a command can find it
 * (in the memory of its parent, in a file). What tools and files say of it is replaced before anyone sees it.
 */
import { firstUnits } from '../machines/cut.ts'
import type { ContextPort, RequestContext, Spool, ToolResult, ToolsPort } from '../services/ports.ts'
import { SECRET_VARIABLES } from './credentials.ts'

/** @returns the text without the key */
export type Redact = (text: string) => string

/** Shorter keys are words such as "local" that a local server takes for one, and no secret. */
const SHORTEST = 16
const MARK = '[the key of the model was here]'

/** @returns null where there is no key to redact */
export function redactorOf(env: NodeJS.ProcessEnv): Redactor | null {
  const secrets = SECRET_VARIABLES.map((name) => (env[name] ?? '').trim())
    .filter((value) => value.length >= SHORTEST)
    // One may hold the other.
    .sort((a, b) => b.length - a.length)
  if (secrets.length === 0) return null
  const redact: Redact = (text) => secrets.reduce((result, secret) => result.replaceAll(secret, () => MARK), text)
  return { redact, longest: Math.max(...secrets.map(({ length }) => length)) }
}

export interface Redactor {
  redact: Redact
  /** Of the longest secret, in UTF-16 units. */
  longest: number
}

/** @returns the tools, whose results and files of results do not hold the key */
export function redactTools(tools: ToolsPort, redactor: Redactor | null): ToolsPort {
  if (redactor === null) return tools
  return {
    specs: () => tools.specs(),
    check: async (call, cwd) => {
      const checked = await tools.check(call, cwd)
      if (checked.kind === 'invalid') return checked
      return {
        ...checked,
        run: async ({ spool, ...env }) => {
          const held = spool && redactingSpool(spool, redactor)
          const result = await checked.run({ ...env, ...(held && { spool: held }) })
          held?.flush()
          return redactResult(result, redactor.redact)
        },
      }
    },
  }
}

function redactResult(result: ToolResult, redact: Redact): ToolResult {
  if (result.kind === 'error') return { ...result, content: redact(result.content) }
  const { content } = result
  if (typeof content === 'string') return { ...result, content: redact(content) }
  const blocks = content.map((block) => (block.type === 'text' ? { ...block, text: redact(block.text) } : block))
  return { ...result, content: blocks }
}

/** Pieces may cut the key in two, so the end of each waits for the next. */
function redactingSpool(spool: Spool, { redact, longest }: Redactor): Spool & { flush(): void } {
  let waiting = ''
  return {
    write(text) {
      const whole = redact(waiting + text)
      const ready = firstUnits(whole, Math.max(0, whole.length - longest))
      waiting = whole.slice(ready.length)
      spool.write(ready)
    },
    flush() {
      spool.write(waiting)
      waiting = ''
    },
  }
}

/** @returns the context, in which neither mentioned files nor instructions bring the key; the prompt stays as typed */
export function redactContext(context: ContextPort, redactor: Redactor | null): ContextPort {
  if (redactor === null) return context
  const { redact } = redactor
  const known = new WeakMap<RequestContext, RequestContext>()
  return {
    expandPrompt: async (text, extra) => {
      const blocks = await context.expandPrompt(text, extra)
      return blocks.map((block) =>
        block.type === 'text' && block.text !== text ? { ...block, text: redact(block.text) } : block,
      )
    },
    read: async () => {
      const read = await context.read()
      const system = redact(read.system)
      if (system === read.system) return read
      const redacted = known.get(read) ?? { ...read, system }
      known.set(read, redacted)
      return redacted
    },
  }
}
