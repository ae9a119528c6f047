import { describe, expect, it } from 'vitest'
import { agentMachine } from '../../src/machines/agent.ts'
import { graphOf } from '../../src/machines/graph.ts'
import type { JournalEntry, JournalRecord, NewEntry, StateName } from '../../src/machines/journal.ts'
import { conversationAt, replay, stateAt } from '../../src/machines/replay.ts'
import { createStepper } from '../../src/machines/stepper.ts'
import { traceOf, visitsOf } from '../../src/machines/trace.ts'
import { stored } from './replayed.ts'
import { journalOf, play } from './starts.ts'
import { begin } from './world.ts'

const stepper = createStepper()
const graph = graphOf(agentMachine)

/** A session with two runs: a round of two calls and an answer; then a compaction, a cut reply, and a kill. */
const FIRST = [
  ...['loadContext prompt', 'persist saved', 'contextRead', 'tool_use bash+bash', 'persist saved'],
  ...['toolStarted a', 'toolStarted b', 'toolFinished b1 ok', 'toolFinished a1 ok', 'runTools ran', 'persist saved'],
  ...['compact compacted', 'persist saved', 'end_turn text', 'persist saved', 'persist saved'],
]
const SECOND = [
  ...['loadContext prompt', 'persist saved', 'max_tokens bash incomplete', 'persist saved'],
  ...['tool_use thinking+text+bash', 'persist saved'],
]

function twoRuns(): JournalEntry[] {
  const first = play(stepper, begin(stepper), FIRST)
  const second = play(stepper, begin(stepper, first.recorded), SECOND)
  return stored(second.recorded)
}

const lines = (entries: JournalEntry[]) =>
  replay(entries).transitions.map(({ n, from, event, to, records }) => `${n} ${from} ${event} ${to} ${records}`)

describe('A replay', () => {
  it('takes the transitions of the run, the choices too, and those of the next process after a restart', () => {
    expect(lines(twoRuns())).toEqual([
      '1 loadingContext xstate.done.actor.loadContext persisting 2',
      '2 persisting xstate.done.actor.persist checkingBudget 2',
      '3 checkingBudget always calling 2',
      '4 calling contextRead calling 3',
      '5 calling xstate.done.actor.callModel persisting 4',
      '6 persisting xstate.done.actor.persist runningTool 4',
      '7 runningTool toolStarted runningTool 5',
      '8 runningTool toolStarted runningTool 6',
      '9 runningTool toolFinished runningTool 7',
      '10 runningTool toolFinished runningTool 8',
      '11 runningTool xstate.done.actor.runTools persisting 8',
      '12 persisting xstate.done.actor.persist checkingBudget 8',
      '13 checkingBudget always compacting 8',
      '14 compacting xstate.done.actor.compact persisting 9',
      '15 persisting xstate.done.actor.persist checkingBudget 9',
      '16 checkingBudget always calling 9',
      '17 calling xstate.done.actor.callModel persisting 10',
      '18 persisting xstate.done.actor.persist persisting 11',
      '19 persisting xstate.done.actor.persist done 11',
      '20 done restart loadingContext 11',
      '21 loadingContext xstate.done.actor.loadContext persisting 12',
      '22 persisting xstate.done.actor.persist checkingBudget 12',
      '23 checkingBudget always calling 12',
      '24 calling xstate.done.actor.callModel persisting 13',
      '25 persisting xstate.done.actor.persist checkingBudget 13',
      '26 checkingBudget always calling 13',
      '27 calling xstate.done.actor.callModel persisting 14',
      '28 persisting xstate.done.actor.persist runningTool 14',
    ])
  })

  it('has the state and the conversation after each transition that the machine had there', () => {
    const entries = twoRuns()
    const whole = replay(entries)
    for (const { n, to, records } of whole.transitions) {
      const part = replay(entries.slice(0, records))
      expect(stateAt(whole, n)).toBe(to)
      expect(conversationAt(whole, entries, n)).toEqual(part.conversation)
    }
    expect(stateAt(whole, 0)).toBe('loadingContext')
    expect(conversationAt(whole, entries, 0).session).toBeNull()
  })

  it('ends, for a process that was killed, in the state it was killed in', () => {
    const entries = twoRuns()
    const states = [5, 6, 8, 9, 10].map((count) => replay(entries.slice(0, count)).state)
    expect(states).toEqual(['runningTool', 'runningTool', 'compacting', 'calling', 'persisting'])
  })

  it('follows a fork: the records it inherited, then its own', () => {
    const source = twoRuns().slice(0, 8)
    const [opened, ...rest] = source as [JournalEntry, ...JournalEntry[]]
    const forked = { session_id: 'f', forked_from: { session_id: 's', at: 10 } }
    const inherited: NewEntry[] = [{ ...opened, record: { ...opened.record, ...forked } as JournalRecord }, ...rest]
    const world = play(stepper, begin(stepper, inherited), ['loadContext prompt', 'persist saved', 'compact compacted'])
    const entries = stored([...world.recorded, ...world.context.unsaved])
    const { disagreement, transitions, conversation } = replay(entries)
    expect(disagreement).toBeNull()
    expect(transitions.map(({ event }) => event).slice(12)).toEqual([
      'always',
      'restart',
      'xstate.done.actor.loadContext',
      'xstate.done.actor.persist',
      'always',
      'xstate.done.actor.compact',
      'xstate.done.actor.persist',
      'always',
    ])
    expect(conversation.session?.session_id).toBe('f')
  })

  it('of nothing is nothing', () => {
    expect(replay([])).toMatchObject({ transitions: [], state: 'loadingContext', disagreement: null })
  })
})

describe('A record changed by hand is found and named:', () => {
  const entries = twoRuns()
  const changed = (seq: number, change: (entry: JournalEntry) => JournalEntry) =>
    replay(entries.map((entry) => (entry.seq === seq ? change(entry) : entry))).disagreement
  const record = (seq: number, change: object) =>
    changed(seq, (entry) => ({ ...entry, record: { ...entry.record, ...change } as JournalRecord }))

  it('its state, whichever it is', () => {
    const states: StateName[] = ['loadingContext', 'checkingBudget', 'calling', 'runningTool', 'compacting', 'done']
    const missed = entries.flatMap(({ seq, in: own, record: { type } }) =>
      states
        // The prompt of a new session is written together with what opens it.
        .filter((state) => state !== own && !(type === 'prompt' && seq === 1))
        .filter((state) => changed(seq, (entry) => ({ ...entry, in: state }))?.seq !== seq),
    )
    expect(missed).toEqual([])
  })

  it('one that was taken out', () => {
    const inner = entries.slice(1, -1)
    const found = inner.map(({ seq }) => replay(entries.filter((entry) => entry.seq !== seq)).disagreement?.seq)
    // The first two are taken together.
    expect(found).toEqual(inner.map(({ seq }) => (seq === 1 ? 2 : seq + 1)))
  })

  it('one that was taken out and the others numbered anew, where what follows depends on it', () => {
    const without = (seq: number) => stored(entries.filter((entry) => entry.seq !== seq))
    const unnoticed = entries.filter(({ seq }) => replay(without(seq)).disagreement === null)
    // A context is for showing; a refused call ends without a start; a turn without an end was killed, and so on.
    expect(unnoticed.map(({ seq, record: { type } }) => `${seq} ${type}`)).toEqual([
      '2 context',
      '4 toolStarted',
      '5 toolStarted',
      '10 turnEnded',
      '12 reply',
      '13 reply',
    ])
  })

  it('how a turn ended', () => {
    expect(entries[10]?.record).toEqual({ type: 'turnEnded', status: 'done', subtype: 'success' })
    expect(record(10, { status: 'failed', subtype: 'error_during_execution', message: 'no' })).toEqual({
      seq: 10,
      n: 19,
      message:
        'Record 10 (turnEnded) says {"type":"turnEnded","status":"failed","subtype":"error_during_execution","message":"no"}, but the machine ends the turn with {"type":"turnEnded","status":"done","subtype":"success"}.',
    })
  })

  it('a call or a result that belongs to nothing', () => {
    expect(record(4, { id: 'zz' })?.message).toBe(
      'Record 4 (toolStarted) is about the call zz, which no reply has made.',
    )
    expect(record(7, { id: 'b1' })?.message).toBe(
      'Record 7 (toolFinished) is about the call b1, which is finished already.',
    )
  })

  it('a reply from which the calls were taken', () => {
    expect(record(3, { content: [{ type: 'text', text: 'nothing to do' }], stop_reason: 'end_turn' })).toMatchObject({
      seq: 4,
      message: 'Record 4 (toolStarted) follows, but the machine ends the turn first, as done.',
    })
  })

  it('a compaction that was not due', () => {
    expect(record(8, { trigger: 'tool' })?.message).toBe(
      'Record 8 (compacted) has the trigger tool, but what was due is budget.',
    )
    expect(
      record(3, {
        usage: { input_tokens: 5, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      }),
    ).toMatchObject({
      seq: 8,
      message: 'Record 8 (compacted) was recorded in compacting, but the machine is in calling.',
    })
  })

  it('a record that is broken in itself', () => {
    expect(record(3, { content: null })?.message).toMatch(/^Record 3 \(reply\) cannot be folded: /)
  })
})

describe('A trace', () => {
  it('has a line a transition, with times, tokens and what it was about', () => {
    const trace = traceOf(replay(twoRuns()), graph)
    expect(trace.slice(0, 6)).toEqual([
      {
        n: 1,
        at: '2026-11-30T12:00:00.000Z',
        from: 'loadingContext',
        event: 'xstate.done.actor.loadContext',
        to: 'persisting',
        ms: 0,
        detail: 'do 1',
      },
      {
        n: 2,
        at: '2026-11-30T12:00:00.000Z',
        from: 'persisting',
        event: 'xstate.done.actor.persist',
        to: 'checkingBudget',
        ms: 0,
      },
      { n: 3, at: '2026-11-30T12:00:00.000Z', from: 'checkingBudget', event: 'always', to: 'calling', ms: 0 },
      {
        n: 4,
        at: '2026-11-30T12:00:00.020Z',
        from: 'calling',
        event: 'contextRead',
        to: 'calling',
        ms: 20,
        detail: '0 tools, 7 characters',
      },
      {
        n: 5,
        at: '2026-11-30T12:00:00.030Z',
        from: 'calling',
        event: 'xstate.done.actor.callModel',
        to: 'persisting',
        ms: 10,
        tokens: 2010,
        detail: 'tool_use: bash, bash',
      },
      {
        n: 6,
        at: '2026-11-30T12:00:00.030Z',
        from: 'persisting',
        event: 'xstate.done.actor.persist',
        to: 'runningTool',
        ms: 0,
        detail: 'hasOpenCalls',
      },
    ])
    expect(trace[19]).toMatchObject({ event: 'restart', from: 'done', to: 'loadingContext', ms: 0 })
  })

  it('takes only transitions that the graph has', () => {
    const known = new Set(graph.transitions.map(({ from, event, to }) => `${from} ${event} ${to}`))
    const unknown = replay(twoRuns()).transitions.filter(
      ({ from, event, to }) => event !== 'restart' && !known.has(`${from} ${event} ${to}`),
    )
    expect(unknown).toEqual([])
  })

  it('counts what was visited: a state that only records something is not entered again', () => {
    const { states, transitions } = visitsOf(replay(twoRuns()))
    expect(Object.fromEntries(states)).toEqual({
      loadingContext: 2,
      persisting: 9,
      checkingBudget: 5,
      calling: 4,
      runningTool: 2,
      compacting: 1,
      done: 1,
    })
    expect(transitions.get('checkingBudget|always|2')).toBe(1)
    expect([...transitions.values()].reduce((sum, count) => sum + count, 0)).toBe(27)
  })

  it('works on every journal the starts leave', () => {
    const journal = journalOf(stepper, 'a session with long old results')
    expect(replay(stored(journal)).disagreement).toBeNull()
  })
})
