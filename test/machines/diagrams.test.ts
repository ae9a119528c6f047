import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { agentMachine } from '../../src/machines/agent.ts'
import { graphOf, toJson } from '../../src/machines/graph.ts'
import { markedSvg } from '../../src/machines/graphSvg.ts'
import { arrowsOf, toDot, toMermaid } from '../../src/machines/graphText.ts'
import { replay } from '../../src/machines/replay.ts'
import { createStepper } from '../../src/machines/stepper.ts'
import { visitsOf } from '../../src/machines/trace.ts'
import { stored } from './replayed.ts'
import { journalOf } from './starts.ts'

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const graph = graphOf(agentMachine)
const svg = read('diagrams/agent.svg')
const visits = visitsOf(replay(stored(journalOf(createStepper(), 'an answered session'))))

it('The diagrams are those of the machine as it is; npm run diagrams draws them anew', async () => {
  const { drawDiagrams } = (await import('../../scripts/diagrams.mjs' as string)) as {
    drawDiagrams(): Promise<Record<string, string>>
  }
  const drawn = await drawDiagrams()
  const stale = Object.entries(drawn).filter(([path, text]) => read(path) !== text)
  expect(stale.map(([path]) => path)).toEqual([])
})

it('The graph has every state and every transition of the machine, the choices and the faults too', () => {
  const states = Object.keys(agentMachine.states)
  expect(graph.states.map(({ name }) => name)).toEqual(states)
  const { transitions } = toJson(graph)
  expect(transitions.filter(({ from, to }) => !states.includes(from) || !states.includes(to))).toEqual([])
  expect(transitions).toContainEqual({
    from: 'checkingBudget',
    event: 'always',
    guard: 'isOverBudget',
    to: 'compacting',
  })
  expect(transitions).toContainEqual({ from: 'calling', event: 'xstate.error.actor.callModel', to: 'persisting' })
  expect(transitions).toContainEqual({ from: 'runningTool', event: 'toolFinished', to: 'runningTool' })
  const declared = Object.values(agentMachine.states).flatMap((node) => [
    ...node.transitions.values(),
    node.always ?? [],
  ])
  const own = graph.transitions.filter(({ scope }) => scope === 'state')
  expect(own.length).toBe(declared.flat().length)
  expect(new Set(graph.transitions.map(({ id }) => id)).size).toBe(graph.transitions.length)
})

it('The picture has an element for every state and every arrow, with a text for each transition', () => {
  for (const { name } of graph.states) expect(svg).toContain(`<g id="state-${name}"`)
  for (const { id, transitions } of arrowsOf(graph)) {
    const group = new RegExp(`<g id="${id}"[\\s\\S]*?</g>`).exec(svg)?.[0] ?? ''
    expect({ id, texts: group.split('</text>').length - 1 }).toEqual({ id, texts: transitions.length })
  }
})

it('A session is marked in every format with how often it was where', () => {
  const marked = markedSvg(svg, graph, visits)
  expect(marked).toMatch(/<g id="state-calling" class="node waiting visited">[\s\S]*?callModel ×1<\/text>\n<\/g>/)
  expect(marked).toMatch(/<g id="state-compacting" class="node waiting unvisited">/)
  expect(marked).toMatch(/<g id="persisting-done" class="edge visited">[\s\S]*?\[isDone\] ×1<\/text>\n<\/g>/)
  expect(marked).toContain('recorded in every state: contextRead ×1, toolStarted, toolFinished')
  expect(toMermaid(graph, visits)).toContain('  persisting --> done : persist done [isDone] ×1\n')
  expect(toMermaid(graph, visits)).toContain('  class calling visited\n')
  expect(toDot(graph, visits)).toMatch(/calling \[id="state-calling".*<b>calling<\/b> ×1.*color="#2563eb" penwidth=2\]/)
  const json = toJson(graph, visits)
  expect(json.visits).toMatchObject({ loadingContext: 1, persisting: 3, calling: 1, done: 1, compacting: 0 })
  expect(json.transitions).toContainEqual({
    from: 'persisting',
    event: 'xstate.done.actor.persist',
    guard: 'isDone',
    to: 'done',
    count: 1,
  })
})
