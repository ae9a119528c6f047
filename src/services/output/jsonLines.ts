/** The machine-readable formats of contract.md, section 3: one document, or one object a line. */
import { wellFormed } from '../../machines/messages.ts'
import type { Progress, RunResult } from '../ports.ts'
import type { Sink } from './sink.ts'

/** Characters JSON leaves as they are and a terminal acts on; U+2028 and U+2029 end a line for some readers. */
const RAW_IN_JSON = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/**
 * @returns the value as JSON on one line, safe to be shown by a terminal; reads back as the same value, except
 * that half of a surrogate pair becomes U+FFFD, which strict readers would refuse
 */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(wellFormed(value))
  return text.replace(RAW_IN_JSON, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export interface Format {
  observe(event: Progress): void
  finish(result: RunResult): void
}

/** `json`: nothing but the result, at the end. */
export function jsonFormat(stdout: Sink): Format {
  return {
    observe: () => {},
    finish: (result) => stdout.write(`${jsonLine(result)}\n`),
  }
}

/**
 * `stream-json`: a line for each thing that is whole, the result as the last one. Every line has the session's id;
 * what comes before the id is known waits for it.
 */
export function streamJsonFormat(stdout: Sink): Format {
  let session_id: string | null = null
  let early: object[] = []
  const write = (line: object) => {
    if (session_id === null) early.push(line)
    else stdout.write(`${jsonLine({ ...line, session_id })}\n`)
  }
  const begin = (id: string) => {
    session_id = id
    const waiting = early
    early = []
    for (const line of waiting) write(line)
  }
  return {
    observe(event) {
      if (event.type === 'started') session_id ??= event.session_id
      const line = streamLine(event)
      if (line !== null) write(line)
      if (event.type === 'started') begin(event.session_id)
    },
    finish(result) {
      if (session_id === null) begin(result.session_id)
      stdout.write(`${jsonLine(result)}\n`)
    },
  }
}

/** @returns the line for an event without its session's id, null for events that are only for people to watch. */
function streamLine(event: Progress): object | null {
  switch (event.type) {
    case 'started':
      return { type: 'system', subtype: 'init', cwd: event.cwd, model: event.model, tools: event.tools }
    case 'reply': {
      const { id, model, content, stop_reason, usage } = event.record
      const message = { id, type: 'message', role: 'assistant', model, content, stop_reason, usage }
      return { type: 'assistant', message, parent_tool_use_id: event.parent_tool_use_id }
    }
    case 'toolResults':
      return { type: 'user', message: event.message, parent_tool_use_id: event.parent_tool_use_id }
    case 'compacted': {
      const { trigger, before_tokens: pre_tokens, after_tokens: post_tokens } = event
      return { type: 'system', subtype: 'compact_boundary', compact_metadata: { trigger, pre_tokens, post_tokens } }
    }
    case 'retry': {
      const { attempt, delay_ms: retry_delay_ms, status: error_status, error } = event
      return { type: 'system', subtype: 'api_retry', attempt, retry_delay_ms, error_status, error }
    }
    case 'state':
    case 'text':
    case 'textDiscarded':
    case 'toolStarted':
    case 'toolFinished':
    case 'remembered':
    case 'warning':
      return null
    default:
      return event satisfies never
  }
}
