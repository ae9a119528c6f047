/** The prompt of a run: the argument byte for byte, with what is piped beside it, or stdin itself. */
import { isBlank } from '../machines/messages.ts'
import type { Result } from '../services/ports.ts'
import type { RunRequest } from './request.ts'
import { readStdin, stdinIsPiped } from './stdin.ts'

export type Prompt = { kind: 'prompt'; text: string; extra: string | null } | { kind: 'resume' }

const NO_PROMPT =
  'No prompt was given: agent -p "<prompt>". A conversation needs a terminal for stdin and stdout. See agent --help.'
/** Not taken as the prompt: an inherited pipe would be waited for. */
const PIPED_ALONE =
  'No prompt was given. To take it from stdin: agent -p -. To add stdin to one: agent -p "<prompt>". See agent --help.'
const EMPTY_PROMPT = 'The prompt is empty: say what to do, as in agent -p "fix the failing test".'

const TYPE_IT = 'The prompt is read from the terminal: type it, then press Ctrl-D on a line of its own.'

/**
 * Reads stdin where the prompt is there or something is piped beside it.
 * @param warn told of a stdin that is not waited for, and of one that a person has to type at
 * @returns the prompt, or why there is none
 */
export async function readPrompt(request: RunRequest, warn: (message: string) => void): Promise<Result<Prompt>> {
  switch (request.prompt.kind) {
    case 'argument':
      if (isBlank(request.prompt.text)) return { ok: false, message: EMPTY_PROMPT }
      // With --step what is piped are commands.
      if (request.step) return { ok: true, value: { kind: 'prompt', text: request.prompt.text, extra: null } }
      return withPiped(request.prompt.text, warn)
    case 'stdin':
      return fromStdin(warn)
    case 'none':
      return request.session.kind === 'new'
        ? { ok: false, message: stdinIsPiped() ? PIPED_ALONE : NO_PROMPT }
        : { ok: true, value: { kind: 'resume' } }
  }
}

async function withPiped(text: string, warn: (message: string) => void): Promise<Result<Prompt>> {
  if (!stdinIsPiped()) return { ok: true, value: { kind: 'prompt', text, extra: null } }
  const piped = await readStdin('briefly', warn)
  if (!piped.ok) return piped
  const extra = piped.value === null || isBlank(piped.value) ? null : piped.value
  return { ok: true, value: { kind: 'prompt', text, extra } }
}

async function fromStdin(warn: (message: string) => void): Promise<Result<Prompt>> {
  const isTyped = process.stdin.isTTY === true
  if (!isTyped && !stdinIsPiped()) return { ok: false, message: EMPTY_PROMPT }
  if (isTyped) warn(TYPE_IT)
  const piped = await readStdin('forText', warn)
  if (!piped.ok) return piped
  return piped.value === null || isBlank(piped.value)
    ? { ok: false, message: EMPTY_PROMPT }
    : { ok: true, value: { kind: 'prompt', text: piped.value, extra: null } }
}
