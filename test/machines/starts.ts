/** Sessions to go on from: journals as runs leave them that were killed, failed, or ended. */
import type { NewEntry } from '../../src/machines/journal.ts'
import type { Stepper } from '../../src/machines/stepper.ts'
import { enabledEvents, WHOLE } from './alphabet.ts'
import { showEvent } from './show.ts'
import { advance, begin, type World } from './world.ts'

const LONG = 'a session with long old results'

/** @param script parts of the lines that `showEvent` prints, in order; the first event that fits is taken */
export function play(stepper: Stepper, world: World, script: string[]): World {
  return script.reduce((at, part) => {
    const events = enabledEvents(at, WHOLE)
    const event = events.find((one) => showEvent(one).includes(part))
    if (event === undefined) throw new Error(`no event "${part}" in ${at.state}: ${events.map(showEvent).join(', ')}`)
    return advance(stepper, at, event).world
  }, world)
}

const BEGUN = ['loadContext prompt', 'persist saved']
const ANSWERED = ['persist saved', 'persist saved']
const LONG_TURN = [
  ...BEGUN,
  ...['tool_use thinking+text+bash', 'persist saved', 'toolStarted', 'toolFinished', 'runTools ran'],
  ...['persist saved', 'end_turn text', ...ANSWERED],
]

/** Runs, one after the other, each of which is killed where its script ends. */
export const STARTS: Record<string, string[][]> = {
  'a new session': [],
  'a session killed while its tools ran': [
    [
      ...[...BEGUN, 'contextRead', 'tool_use text+bash+bash+bash', 'persist saved'],
      ...['toolStarted a', 'toolStarted b', 'toolFinished b'],
    ],
  ],
  'an answered session over its budget': [[...BEGUN, 'end_turn thinking+text', ...ANSWERED]],
  'a failed turn whose prompt is unanswered': [[...BEGUN, 'api_error', ...ANSWERED]],
  'an answered session': [[...BEGUN, 'contextRead', 'end_turn text', ...ANSWERED]],
  'a session interrupted in the middle of a reply': [
    [...BEGUN, 'pause_turn text', 'persist saved', 'interrupt', ...ANSWERED],
  ],
  [LONG]: [LONG_TURN, LONG_TURN, LONG_TURN, LONG_TURN, LONG_TURN],
}

/** @returns the journal that these runs leave on disk */
export function journalOf(stepper: Stepper, name: string): NewEntry[] {
  const runs = STARTS[name] ?? []
  const journal = runs.reduce<NewEntry[]>((recorded, script) => {
    const world = play(stepper, begin(stepper, recorded), script)
    return world.recorded.slice(0, world.kept)
  }, [])
  return name === LONG ? journal.map(lengthened) : journal
}

/** Long results, and a last reply to an input over half the budget: what the cheap layers are for. */
function lengthened(entry: NewEntry, at: number, journal: NewEntry[]): NewEntry {
  const { record } = entry
  if (record.type === 'toolFinished') return { ...entry, record: { ...record, content: 'line '.repeat(200) } }
  const last = journal.findLastIndex((one) => one.record.type === 'reply')
  if (record.type !== 'reply' || at < last) return entry
  return { ...entry, record: { ...record, usage: { ...record.usage, input_tokens: 800 } } }
}
