/**
 * What the agent knows before a model call: the system prompt from the real state, and prompts with what they
 * mention. `provide.ts` makes one for a run and one for each subagent.
 */
import { createHash } from 'node:crypto'
import type { ToolSpec } from '../../machines/messages.ts'
import { once } from '../once.ts'
import type { ContextPort, RequestContext } from '../ports.ts'
import { createBranchReader } from './branch.ts'
import { localDate } from './date.ts'
import { createInstructionReader } from './instructions.ts'
import { createMentionExpander } from './mentions.ts'
import { assemble, type PromptState, type Role } from './sections.ts'

export type { CatalogEntry, PromptState, Role } from './sections.ts'

export interface ContextOptions {
  /** Working directory, absolute and real. */
  cwd: string
  /** The tools as they are sent, already chosen. */
  tools: ToolSpec[]
  now: () => Date
  /** The caller's environment; its `GIT_*` are ignored. */
  env: NodeJS.ProcessEnv
  /** The user's home directory, for `~`. */
  home: string
  /** Text of `--append-system-prompt`. */
  appendSystemPrompt: string | null
  /** Whether the user trusts this directory: then instructions may import from anywhere. */
  trusted: boolean
  /** Takes each distinct sentence once a run. */
  warn: (message: string) => void
  role: Role
  /** More state for the sections, read anew before each call; `tools` where those sent depend on it. */
  more?: () => Promise<MoreState>
}

export type MoreState = Partial<Pick<PromptState, 'skills' | 'skillsNote' | 'memory'>> & { tools?: ToolSpec[] }

/**
 * @returns the context of one run. `read` looks at the real state each time (unchanged files cost a stat) and
 * gives the very same object until something changed. Neither function rejects for what files may hold: what
 * cannot be read is left out and warned about.
 */
export function createContext(options: ContextOptions): ContextPort {
  const warn = once(options.warn)
  const readBranch = createBranchReader(options.cwd, options.env)
  const readInstructions = createInstructionReader({ ...options, warn })
  const expandPrompt = createMentionExpander({ ...options, warn })
  let last: { key: string; context: RequestContext } | null = null

  const readState = async (tools: ToolSpec[], more: Omit<MoreState, 'tools'>): Promise<PromptState> => ({
    role: options.role,
    tools: tools.map(({ name }) => name),
    cwd: options.cwd,
    date: localDate(options.now()),
    branch: await readBranch(),
    instructions: readInstructions(),
    skills: [],
    memory: '',
    appended: options.appendSystemPrompt ?? '',
    ...more,
  })

  return {
    expandPrompt,
    async read() {
      const { tools = options.tools, ...more } = (await options.more?.()) ?? {}
      const state = await readState(tools, more)
      const key = sortedJson(state)
      if (last?.key !== key) last = { key, context: requestContext(assemble(state), tools) }
      return last.context
    },
  }
}

function requestContext(system: string, tools: ToolSpec[]): RequestContext {
  const hash = createHash('sha256').update(system).update('\0').update(JSON.stringify(tools)).digest('hex')
  return { hash: hash.slice(0, 16), system, tools }
}

/** @returns JSON with the keys of every object in order, so that equal states have equal text. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
