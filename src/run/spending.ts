/** What the run's model calls cost, call by call: a price may depend on the length of one call's input. */
import { costOf } from '../services/model/prices.ts'
import type { ModelPort } from '../services/ports.ts'

export interface Spending {
  /** The model with its replies counted. */
  model: ModelPort
  /** USD so far; null as soon as one call's price is not known. */
  total(): number | null
}

/** @returns the model, and what its calls have cost by now */
export function createSpending(model: ModelPort): Spending {
  let total: number | null = 0
  return {
    model: {
      call: async (request, options) => {
        const outcome = await model.call(request, options)
        const { usage } = outcome.record
        if (usage !== undefined) {
          const cost = costOf(request.model, usage)
          total = total === null || cost === null ? null : total + cost
        }
        return outcome
      },
    },
    total: () => total,
  }
}
