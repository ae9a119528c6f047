/** `agent replay <id> [--at <k>] [--json]`: where the machine stood and what it knew (contract.md, section 10). */
import type { Message } from '../machines/messages.ts'
import { conversationAt, stateAt } from '../machines/replay.ts'
import { requestMessages } from '../machines/request.ts'
import { count } from '../machines/words.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import { clip, describeCall, printableLine } from '../services/text.ts'
import { contentText, firstLines } from './lines.ts'
import { disagreementOf, type LookDeps, lookAt, type Out, withOut } from './look.ts'

export interface ReplayArgs {
  /** A session's id or a prefix that only one has. */
  id: string
  /** The transition as typed; null for the last. */
  at: string | null
  json: boolean
}

/** What `--json` prints. `disagreement` only where `matches` is false. */
export interface ReplayJson {
  session_id: string
  at: number
  of: number
  state: string
  messages: Message[]
  matches: boolean
  disagreement?: { transition: number; record: number; message: string }
}

/** @returns the exit code: 0; 1 where the machine does not follow the recording; 2 for no such session or transition */
export function replayCommand({ id, at, json }: ReplayArgs, deps: LookDeps): Promise<number> {
  return withOut(deps, async (out) => {
    const looked = await lookAt(deps.store, id, 'replay', out)
    if (!looked.ok) return refuse(out, looked.message)
    const { session, replay } = looked.value
    const of = replay.transitions.length
    const k = at === null ? of : wholeNumber(at)
    if (k === null)
      return refuse(out, `--at is the number of a transition, from 0 to ${of}, not ${JSON.stringify(at)}.`)
    if (k > of)
      return refuse(
        out,
        `--at ${k} is beyond the end: this session has ${count(of, 'transition')} (agent trace ${id}).`,
      )
    const { disagreement } = replay
    const shown: ReplayJson = {
      session_id: session.head.session_id,
      at: k,
      of,
      state: stateAt(replay, k),
      messages: requestMessages(conversationAt(replay, session.entries, k)),
      matches: disagreement === null,
      ...(disagreement && {
        disagreement: { transition: disagreement.n, record: disagreement.seq, message: disagreement.message },
      }),
    }
    if (json) out.print(jsonLine(shown))
    else showReplay(shown, out)
    const problem = disagreementOf(replay)
    if (problem !== null) out.fail(problem)
    return problem === null ? 0 : 1
  })
}

function refuse(out: Out, message: string): number {
  out.fail(message)
  return 2
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null
}

function showReplay({ session_id, at, of, state, messages, matches }: ReplayJson, out: Out): void {
  const { bold, dim, red } = out.colors
  out.print(`${bold(`Session ${printableLine(session_id)}`)} after transition ${at} of ${of}: ${bold(state)}`)
  out.print(matches ? dim('The machine follows the recording.') : red('The machine does not follow the recording.'))
  for (const message of messages) showMessage(message, out)
}

/** How many lines of a text or a result are shown; `--json` has all of them. */
const SHOWN_LINES = 8

function showMessage({ role, content }: Message, out: Out): void {
  out.print(`\n${out.colors.bold(role)}`)
  for (const block of content) {
    switch (block.type) {
      case 'text':
        for (const line of firstLines(block.text, SHOWN_LINES, out.columns)) out.print(line)
        break
      case 'image':
        out.print(`  [image ${printableLine(block.source.media_type)}]`)
        break
      case 'thinking':
        for (const line of firstLines(block.thinking, SHOWN_LINES, out.columns)) out.print(out.colors.dim(line))
        break
      case 'redacted_thinking':
        out.print(out.colors.dim('  [thinking that the server keeps to itself]'))
        break
      case 'tool_use': {
        const name = printableLine(block.name)
        out.print(clip(`  → ${name} ${describeCall(block, Math.max(10, out.columns - name.length - 5))}`, out.columns))
        break
      }
      case 'tool_result': {
        out.print(block.is_error ? out.colors.red('  ← error') : '  ← result')
        for (const line of firstLines(contentText(block.content), SHOWN_LINES, out.columns))
          out.print(out.colors.dim(line))
        break
      }
      default:
        block satisfies never
    }
  }
}
