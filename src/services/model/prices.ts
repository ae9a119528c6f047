/**
 * What is known of models: prices, windows, output limits. As of 30 November 2026, from Anthropic's pages
 * "Pricing" and "Models overview". A model that is not here costs null and has no known window.
 */
import { type Usage, wholeInput } from '../../machines/messages.ts'

/** The model where neither a flag, the environment nor a setting names one. */
export const DEFAULT_MODEL = 'claude-sonnet-5-5'

/** USD per million tokens. `cacheWrite` is the five-minute cache, the one that requests ask for. */
interface Price {
  input: number
  output: number
  cacheWrite: number
  cacheRead: number
}

interface ModelFacts {
  /** null: the model is known, its whole price is not. */
  price: Price | null
  /** Input and output together, in tokens. */
  window: number
  /** The most tokens one reply may have. */
  output: number
  /** A dearer price for requests whose whole input is longer than `over` tokens. */
  long?: { over: number; price: Price }
}

const M = 1_000_000

function facts(price: [number, number, number, number] | null, window: number, output: number): ModelFacts {
  return { price: price === null ? null : priceOf(price), window, output }
}

function priceOf([input, output, cacheWrite, cacheRead]: [number, number, number, number]): Price {
  return { input, output, cacheWrite, cacheRead }
}

const MODELS: ReadonlyMap<string, ModelFacts> = new Map([
  ['claude-fable-5-2', facts(null, M, 128_000)],
  ['claude-fable-5-1', facts([10, 50, 12.5, 0.25], M, 128_000)],
  ['claude-fable-5', facts([10, 50, 12.5, 1], M, 128_000)],
  ['claude-mythos-5-1', facts([10, 50, 12.5, 0.25], M, 128_000)],
  ['claude-mythos-5', facts([10, 50, 12.5, 1], M, 128_000)],
  ['claude-opus-5-5', facts([4, 20, 5, 0.2], M, 128_000)],
  ['claude-opus-5', facts([5, 25, 6.25, 0.5], M, 128_000)],
  ['claude-opus-4-8', facts([5, 25, 6.25, 0.5], M, 128_000)],
  ['claude-opus-4-7', facts([5, 25, 6.25, 0.5], M, 128_000)],
  ['claude-opus-4-6', facts([5, 25, 6.25, 0.5], M, 128_000)],
  ['claude-opus-4-5', facts([5, 25, 6.25, 0.5], 200_000, 64_000)],
  ['claude-sonnet-5-5', facts([2, 10, 2.5, 0.1], M, 128_000)],
  ['claude-sonnet-5', facts([2, 10, 2.5, 0.2], M, 128_000)],
  ['claude-sonnet-4-6', facts([3, 15, 3.75, 0.3], M, 64_000)],
  ['claude-sonnet-4-5', facts([3, 15, 3.75, 0.3], 200_000, 64_000)],
  [
    'claude-haiku-5-5',
    {
      ...facts([0.1, 0.5, 0.125, 0.01], M, 128_000),
      long: { over: 100_000, price: priceOf([0.5, 2.5, 0.625, 0.05]) },
    },
  ],
  ['claude-haiku-4-5', facts([1, 5, 1.25, 0.1], 200_000, 64_000)],
])

/** Asked for where the model is known: room for a large file, and no reply that runs for half an hour. */
const USUAL_OUTPUT = 32_000
/** Asked for where it is not: every server of this API grants it. */
const CAREFUL_OUTPUT = 8_192

/**
 * @param usage of one model call, since a price may depend on the length of the input
 * @returns the cost in USD, or null where the model's price is not known
 */
export function costOf(model: string, usage: Usage): number | null {
  const known = factsOf(model)
  if (known === null || known.price === null) return null
  const price = known.long !== undefined && wholeInput(usage) > known.long.over ? known.long.price : known.price
  const cost =
    usage.input_tokens * price.input +
    usage.output_tokens * price.output +
    usage.cache_creation_input_tokens * price.cacheWrite +
    usage.cache_read_input_tokens * price.cacheRead
  return cost / M
}

/** @returns the model's context window in tokens, or null where it is not known. */
export function windowOf(model: string): number | null {
  return factsOf(model)?.window ?? null
}

/** Of the model's window; the rest is for the reply and the summary (contract.md, 9). */
const BUDGET_SHARE = 0.8
/** For a model whose window is not known, in tokens. */
const UNKNOWN_WINDOW = 200_000

/** @returns the input tokens over which a conversation is compacted where no setting says otherwise. */
export function budgetOf(model: string): number {
  return Math.floor(BUDGET_SHARE * (windowOf(model) ?? UNKNOWN_WINDOW))
}

/** @returns the `max_tokens` to ask for. */
export function maxOutputOf(model: string): number {
  const known = factsOf(model)
  return known === null ? CAREFUL_OUTPUT : Math.min(USUAL_OUTPUT, known.output)
}

/** Finds a model by its name, a dated name (`claude-haiku-4-5-20251001`) or a gateway's (`anthropic/claude-opus-5`). */
function factsOf(model: string): ModelFacts | null {
  const name = model
    .replace(/^.*\//, '')
    .replace(/-\d{8}$/, '')
    .replace(/-latest$/, '')
  return MODELS.get(name) ?? null
}
