/** Read off the machine itself: a service that throws always leads somewhere, and nothing ends without an end. */
import { describe, expect, test } from 'vitest'
import { agentMachine } from '../../src/machines/agent.ts'

interface Node {
  key: string
  type: string
  config: { invoke?: unknown; on?: Record<string, unknown>; always?: unknown }
  states: Record<string, Node>
}

interface Invoke {
  id?: string
  src: unknown
  onDone?: unknown
  onError?: unknown
}

const nodes = (node: Node): Node[] => [node, ...Object.values(node.states).flatMap(nodes)]
const all = nodes(agentMachine.root as unknown as Node)
const invokes = all.flatMap(({ key, config }) =>
  [config.invoke ?? []].flat().map((invoke) => ({ state: key, ...(invoke as Invoke) })),
)

/** The states that an `onError` may lead to. */
function targets(transition: unknown): string[] {
  return [transition]
    .flat()
    .flatMap((one) => (typeof one === 'string' ? one : ((one as { target?: string }).target ?? [])))
}

describe('every service', () => {
  test('is named, and there are as many as states that wait for one', () => {
    expect(invokes.map(({ state, id }) => `${state}: ${id}`).sort()).toEqual([
      'calling: callModel',
      'compacting: compact',
      'loadingContext: loadContext',
      'persisting: persist',
      'recalling: recall',
      'remembering: remember',
      'runningTool: runTools',
      'trimming: trim',
    ])
  })

  test.each(invokes)('$id has an onError that leads to another state of the machine', ({ onDone, onError }) => {
    expect(onDone).toBeDefined()
    const led = targets(onError)
    expect(led).toHaveLength(1)
    for (const target of led) expect(Object.keys(agentMachine.states)).toContain(target)
  })

  test.each(invokes)('$id can be interrupted', ({ state }) => {
    const node = all.find(({ key }) => key === state) ?? expect.fail(state)
    expect(Object.keys(node.config.on ?? {})).toContain('interrupt')
  })
})

test('a state without a service or a choice of its own is final', () => {
  const idle = all.filter(
    ({ key, config }) => key !== 'agent' && config.invoke === undefined && config.always === undefined,
  )
  expect(idle.map(({ key, type }) => `${key}: ${type}`).sort()).toEqual([
    'cancelled: final',
    'done: final',
    'failed: final',
  ])
})
