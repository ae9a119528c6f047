/** Every sequence of outcomes there is, up to a depth; a process killed at any point and started again among them. */
import type { NewEntry } from '../../src/machines/journal.ts'
import type { Stepper } from '../../src/machines/stepper.ts'
import { type Alphabet, enabledEvents } from './alphabet.ts'
import { breachOf } from './invariants.ts'
import { showEvent } from './show.ts'
import { stateKey } from './stateKey.ts'
import { advance, begin, crash, type World } from './world.ts'

export interface Bounded {
  depth: number
  /** Different sequences of that length. */
  paths: number
  /** Steps taken, each followed by every invariant. */
  steps: number
  /** States that can be told apart. */
  states: number
  /** The shortest way to a broken invariant. */
  breach: { message: string; path: string[] } | null
}

/** Told apart from the events: a process that is gone, and the next one on top of what is on disk. */
const KILLED = '(killed; a new process)'
const ENDED = '(a new process)'

/** @param journal what the first process begins on top of */
export function checkAll(stepper: Stepper, alphabet: Alphabet, depth: number, journal: NewEntry[] = []): Bounded {
  const states = new Set<string>()
  const path: string[] = []
  const result: Bounded = { depth, paths: 0, steps: 0, states: 0, breach: null }
  let limit = depth

  const found = (message: string): void => {
    result.breach = { message, path: [...path] }
    // Only a shorter way would tell more.
    limit = path.length - 1
  }
  const follow = (label: string, go: () => World | string): void => {
    path.push(label)
    result.steps++
    const next = go()
    if (typeof next === 'string') found(next)
    else visit(next)
    path.pop()
  }
  const visit = (world: World): void => {
    states.add(stateKey(world))
    if (path.length >= limit) {
      if (result.breach === null) result.paths++
      return
    }
    if (world.standing.status === 'done') {
      follow(ENDED, () => crash(stepper, world))
      return
    }
    for (const event of enabledEvents(world, alphabet)) {
      follow(showEvent(event), () => {
        const next = advance(stepper, world, event)
        return breachOf(world, event, next) ?? next.world
      })
    }
    // A kill before anything was recorded leaves nothing to go on from that was not there before.
    if (world.state !== 'loadingContext') follow(KILLED, () => crash(stepper, world))
  }

  visit(begin(stepper, journal))
  return { ...result, states: states.size }
}

/** @returns the outcome on a few lines, a breach as the shortest path to it */
export function tellBounded({ depth, paths, steps, states, breach }: Bounded): string {
  const counts = `all sequences of ${depth} outcomes: ${paths} paths, ${steps} steps, ${states} states`
  if (breach === null) return `${counts}, 0 breaches`
  return `${counts}; a breach: ${breach.message}\n  the shortest path to it:\n    ${breach.path.join('\n    ')}`
}
