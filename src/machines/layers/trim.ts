/**
 * The cheap layers in their order: large results first, so that nothing is lost, then the middle, then old results.
 * What a layer wants is found without any effect; the `trim` service puts it on disk; the step that it leaves in the
 * journal is applied by the fold. Pure.
 */
import type { Conversation } from '../conversation.ts'
import type { SavedResult, TrimStep } from '../journal.ts'
import type { Policy } from './policy.ts'
import { findLarge, findOld, replaceResults, type Wanted } from './results.ts'
import { type Cut, findMiddle, leaveOut } from './snip.ts'

export const LAYERS: readonly TrimStep['layer'][] = ['large', 'middle', 'old']

/** What a layer would do now. */
export type Wish =
  | { layer: 'large' | 'old'; results: Wanted[] }
  /** The messages to be left out must be written somewhere first. */
  | { layer: 'middle'; cut: Cut }

/** @returns what this layer has to do here, null where that is nothing. */
export function wishOf(layer: TrimStep['layer'], c: Conversation, policy: Policy): Wish | null {
  if (layer === 'middle') {
    const cut = findMiddle(c, policy)
    return cut === null ? null : { layer, cut }
  }
  const results = layer === 'large' ? findLarge(c, policy) : findOld(c, policy)
  return results.length === 0 ? null : { layer, results }
}

/** @returns the conversation after one step, whose files are written. */
export function applyStep(c: Conversation, step: TrimStep): Conversation {
  switch (step.layer) {
    case 'large':
      return replaceResults(c, step.results, 'preview')
    case 'middle':
      return leaveOut(c, step, step.path)
    case 'old':
      return replaceResults(c, step.results, 'placeholder')
  }
}

/**
 * All layers, as a pass with a disk that takes everything would leave the conversation.
 * @param place names the files of a result; names of the usual length where nobody is going to read them
 */
export function trim(
  c: Conversation,
  policy: Policy,
  place: (id: string) => string[] = usualPlace,
): { conversation: Conversation; done: TrimStep[] } {
  let conversation = c
  const done: TrimStep[] = []
  for (const layer of LAYERS) {
    const wish = wishOf(layer, conversation, policy)
    if (wish === null) continue
    const step = granted(wish, place)
    conversation = applyStep(conversation, step)
    done.push(step)
  }
  return { conversation, done }
}

function granted(wish: Wish, place: (id: string) => string[]): TrimStep {
  if (wish.layer === 'middle') return { layer: 'middle', ...wish.cut, path: '.task_outputs/transcripts/snipped.jsonl' }
  const results = wish.results.map(({ id, paths }): SavedResult => ({ id, paths: paths ?? place(id) }))
  return { layer: wish.layer, results }
}

const usualPlace = (id: string): string[] => [`.task_outputs/tool-results/${id}.txt`]
