/** `agent graph [--format mermaid|dot|svg|json] [--session <id>]` (contract.md, section 10). */
import { agentMachine } from '../machines/agent.ts'
import { graphOf, toJson, type Visits } from '../machines/graph.ts'
import { markedSvg } from '../machines/graphSvg.ts'
import { toDot, toMermaid } from '../machines/graphText.ts'
import { visitsOf } from '../machines/trace.ts'
import { jsonLine } from '../services/output/jsonLines.ts'
import type { StorePort } from '../services/ports.ts'
import chart from './chart.json'
import { disagreementOf, type LookDeps, lookAt, type Out, withOut } from './look.ts'

export const GRAPH_FORMATS = ['mermaid', 'dot', 'svg', 'json'] as const
export type GraphFormat = (typeof GRAPH_FORMATS)[number]

export interface GraphArgs {
  format: GraphFormat
  /** Id, or the first part of one, of the session whose way is marked. */
  session: string | null
}

/** The store is opened only where a session is asked for. */
export type GraphDeps = Omit<LookDeps, 'store'> & { store: () => StorePort }

/** @returns the exit code: 0; 1 where the session could be followed only in part; 2 where there is no such session */
export function graphCommand({ format, session }: GraphArgs, deps: GraphDeps): Promise<number> {
  return withOut(deps, async (out) => {
    if (session === null) return show(format, out)
    const looked = await lookAt(deps.store(), session, 'graph --session', out)
    if (!looked.ok) {
      out.fail(looked.message)
      return 2
    }
    show(format, out, visitsOf(looked.value.replay), looked.value.session.head.session_id)
    const problem = disagreementOf(looked.value.replay)
    if (problem !== null) out.fail(problem)
    return problem === null ? 0 : 1
  })
}

function show(format: GraphFormat, out: Out, visits?: Visits, session_id?: string): number {
  const graph = graphOf(agentMachine)
  switch (format) {
    case 'mermaid':
      out.print(toMermaid(graph, visits).trimEnd())
      break
    case 'dot':
      out.print(toDot(graph, visits).trimEnd())
      break
    case 'svg':
      out.print((visits === undefined ? chart.svg : markedSvg(chart.svg, graph, visits)).trimEnd())
      break
    case 'json':
      out.print(jsonLine({ ...(session_id && { session_id }), ...toJson(graph, visits) }))
      break
    default:
      return format satisfies never
  }
  return 0
}
