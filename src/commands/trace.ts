/** `agent trace <id> [--json]`: a line a transition (contract.md, section 10). */
import { agentMachine } from '../machines/agent.ts'
import { graphOf } from '../machines/graph.ts'
import { eventLabel } from '../machines/graphText.ts'
import { type TraceLine, traceOf } from '../machines/trace.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import { withoutTokens } from '../services/redact.ts'
import { clip, displayWidth, duration, padTo, printableLine, tokens } from '../services/text.ts'
import { disagreementOf, type LookDeps, lookAt, type Out, withOut } from './look.ts'

export interface TraceArgs {
  /** A session's id or a prefix that only one has. */
  id: string
  json: boolean
}

/** @returns the exit code: 0; 1 where the machine does not follow the recording; 2 where there is no such session */
export function traceCommand({ id, json }: TraceArgs, deps: LookDeps): Promise<number> {
  return withOut(deps, async (out) => {
    const looked = await lookAt(deps.store, id, 'trace', out)
    if (!looked.ok) {
      out.fail(looked.message)
      return 2
    }
    const lines = traceOf(looked.value.replay, graphOf(agentMachine)).map(withoutSecrets)
    const width = Math.max(3, String(lines.length).length)
    for (const line of lines) out.print(json ? jsonLine(line) : row(line, width, out))
    const problem = disagreementOf(looked.value.replay)
    if (problem !== null) out.fail(problem)
    return problem === null ? 0 : 1
  })
}

function withoutSecrets(line: TraceLine): TraceLine {
  return line.detail === undefined ? line : { ...line, detail: withoutTokens(line.detail) }
}

/** The widest there are: checkingBudget→compacting, loadContext done. */
const WAY = 25
const EVENT = 16

/** One line of at most `columns` columns; what it is about takes what is left. */
function row(line: TraceLine, width: number, { colors, columns }: Out): string {
  const { n, from, event, to, ms, tokens: used = 0, detail = '' } = line
  const counts = `${time(ms).padStart(6)} ${(used === 0 ? '' : tokens(used)).padStart(6)}`
  const head = `${String(n).padStart(width)} ${padTo(`${from}→${to}`, WAY)} ${padTo(eventLabel(event), EVENT)} ${counts}`
  const rest = columns - displayWidth(head) - 1
  const about = clip(printableLine(detail.slice(0, 4 * columns)), rest)
  return `${paint(line, colors)(head)}${about === '' ? '' : ` ${about}`}`.trimEnd()
}

function time(ms: number): string {
  if (ms === 0) return ''
  return ms < 1000 ? `${ms}ms` : duration(ms)
}

/** What went wrong is red, what the machine did by itself is dim. */
function paint({ event, to }: TraceLine, colors: Out['colors']): (text: string) => string {
  if (event.startsWith('xstate.error.') || event === 'interrupt' || to === 'failed') return colors.red
  if (event === 'restart') return colors.yellow
  return event === 'always' || /\.(persist|runTools)$/.test(event) ? colors.dim : (text) => text
}
