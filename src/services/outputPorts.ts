/** The signatures of `output/`; part of `ports.ts`. */
import type { Denial, ReplyRecord } from '../machines/journal.ts'
import type { Message, ToolUseBlock, Usage } from '../machines/messages.ts'
import type { Memory } from './memoryPorts.ts'

/** What can be seen of a run while it goes on; nothing in the run depends on who looks. */
export type Progress =
  | { type: 'started'; session_id: string; cwd: string; model: string; tools: string[] }
  | { type: 'state'; state: string }
  | { type: 'text'; text: string }
  /** The reply whose text was streamed so far broke and is asked for again: what was shown of it is void. */
  | { type: 'textDiscarded' }
  | { type: 'reply'; record: ReplyRecord; parent_tool_use_id: string | null }
  | { type: 'toolStarted'; call: ToolUseBlock; parent_tool_use_id?: string }
  | {
      type: 'toolFinished'
      call: ToolUseBlock
      is_error: boolean
      /** Permission was refused, by a rule or by the person: nothing ran. */
      denied?: boolean
      ms: number
      parent_tool_use_id?: string
    }
  | { type: 'toolResults'; message: Message; parent_tool_use_id: string | null }
  | { type: 'retry'; attempt: number; delay_ms: number; status: number | null; error: string }
  /** Written to `.memory`: the new files with their descriptions, and whether all were put in order. */
  | {
      type: 'remembered'
      memories: Array<Pick<Memory, 'file' | 'description'>>
      consolidated?: { before: number; after: number }
    }
  | { type: 'compacted'; trigger: string; before_tokens: number; after_tokens: number }
  | { type: 'warning'; message: string }

export type Observe = (event: Progress) => void

/** The result object of contract.md, section 3. */
export interface RunResult {
  type: 'result'
  subtype: 'success' | 'error_max_turns' | 'error_during_execution' | 'error_interrupted'
  is_error: boolean
  result: string
  errors?: string[]
  session_id: string
  num_turns: number
  duration_ms: number
  duration_api_ms: number
  stop_reason: string | null
  usage: Usage
  /** Times the conversation was summarised in this run; absent where it was not. */
  compactions?: number
  total_cost_usd: number | null
  permission_denials: Denial[]
  /** Of `agent fork -p`: the session that was forked, and after which of its transitions. */
  forked_from?: string
  at?: number
}

export interface OutputPort {
  observe: Observe
  /** Writes what is left, whole, and waits until the reader has taken it. */
  finish(result: RunResult): Promise<void>
}
