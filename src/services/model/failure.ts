/** Why a try brought no reply, and whether another may: one union for HTTP, streams and connections. */
import { wellFormed } from '../../machines/messages.ts'
import { isObject } from './draft.ts'
import { TransportError } from './transportError.ts'

export type Failure = {
  /** For the user: a sentence without its full stop. */
  message: string
  /** HTTP status, null where there was no answer. */
  status: number | null
} & (
  | { kind: 'too_long' }
  | { kind: 'final' }
  /** `patience`: `short` where nobody answers at all. `waitMs`: how long the server says to wait, null if it does not. */
  | { kind: 'passing'; patience: 'long' | 'short'; waitMs: number | null }
)

/** What failures are explained with. */
export interface Subject {
  model: string
  baseUrl: string
  /** The variable the key came from. */
  keyVariable: 'ANTHROPIC_API_KEY' | 'ANTHROPIC_AUTH_TOKEN'
}

/** An answer with a status, as far as it says what is wrong. */
interface Refusal {
  status: number
  type: string | null
  message: string
  headers: { get(name: string): string | null } | null
}

/** A reply that came with status 200 and is no message, or broke off. */
export class NoMessage extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** An error object where a message should be: as an event of a stream, or as the body of a 200. */
export class ErrorObject extends Error {
  readonly refusal: Refusal
  constructor(body: unknown) {
    const { type, message } = errorOf(body)
    super(message ?? 'error')
    const status = STATUS_OF.get(type ?? '') ?? 500
    this.refusal = { status, type, message: message ?? 'no reason given', headers: null }
  }
}

/** The API's error types and the statuses they stand for (facts.md, "Errors"). */
const STATUS_OF: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** How servers of this API say that the input does not fit, in any case. */
const TOO_LONG = [
  /(prompt|input|request|conversation|messages?)( is| are| was)? too (long|large)/,
  /(context|prompt|input)[ _-]?(length|window|size|limit)?[ _-]?(was |is |has been )?exceed/,
  /exceed\w*\b.{0,60}\b(context|prompt token|input token)/,
  /\b(prompt|input|token)s?\b.{0,60}\bexceed\w*\b.{0,60}\b(limit|maximum|window|context)/,
  /maximum (context|prompt) (length|size|window)/,
  /too many (input |prompt )?tokens/,
]

/** Damaged, or too large beside others: the API allows fewer pixels where a request has many images. */
const NO_IMAGE = /(could not|unable to) process (the |input )?image|image dimensions exceed|image exceeds/i

/** @returns true where the words of a refused request mean that its input is too long for the model. */
function saysTooLong(message: string): boolean {
  const words = message.toLowerCase()
  // "max_tokens: 9 > 8, the maximum number of output tokens" is about the reply, not the input.
  if (/^max_tokens\b/.test(words) && /output/.test(words)) return false
  return TOO_LONG.some((pattern) => pattern.test(words))
}

/**
 * Judges what a try ended in.
 * @param error whatever the SDK, the transport or the reader threw; bugs are thrown again
 */
export function failureOf(error: unknown, subject: Subject): Failure {
  const inner = isObject(error) && error.cause instanceof TransportError ? error.cause : error
  if (inner instanceof TransportError) return transportFailure(inner)
  if (inner instanceof ErrorObject) return refusalFailure(inner.refusal, subject)
  if (inner instanceof NoMessage)
    return { kind: 'passing', patience: 'long', waitMs: null, status: inner.status, message: inner.message }
  // The SDK's own timeout error has lost its cause (a host name with "timeout" in it is enough to get one).
  if (inner instanceof Error && inner.name === 'APIConnectionTimeoutError')
    return transportFailure(new TransportError('broken', 'the connection broke before the answer was whole'))
  const refusal = refusalOf(inner)
  if (refusal !== null) return refusalFailure(refusal, subject)
  throw error
}

function transportFailure(error: TransportError): Failure {
  const message = `The model's server could not be used: ${error.message}`
  switch (error.kind) {
    case 'tls':
    case 'proxy':
    case 'request':
      return { kind: 'final', status: null, message }
    case 'refused':
    case 'dns':
    case 'unreachable':
      return { kind: 'passing', patience: 'short', waitMs: null, status: null, message }
    case 'broken':
    case 'idle':
      return { kind: 'passing', patience: 'long', waitMs: null, status: null, message }
    default:
      return error.kind satisfies never
  }
}

/** The SDK's error for an answer with an error status. */
function refusalOf(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null
  const { status, headers, error: body } = error as { status?: unknown; headers?: Refusal['headers']; error?: unknown }
  if (typeof status !== 'number') return null
  const { type, message } = errorOf(body)
  const text = message ?? readable(error.message.replace(/^\d+ /, ''))
  return { status, type, message: text, headers: headers ?? null }
}

function refusalFailure(refusal: Refusal, subject: Subject): Failure {
  const { status } = refusal
  const said = `${status}${refusal.type === null ? '' : ` ${refusal.type}`}: ${refusal.message}`
  if (status === 413 || (status === 400 && saysTooLong(refusal.message)))
    return { kind: 'too_long', status, message: `The request is too long for the model (${said})` }
  // An image that is refused once is refused for ever. What shortens a conversation takes its images out.
  if (status === 400 && NO_IMAGE.test(refusal.message))
    return { kind: 'too_long', status, message: `The API does not take an image of the conversation (${said})` }
  const passing = status === 408 || status === 409 || status === 429 || status >= 500
  if (passing && refusal.headers?.get('x-should-retry') !== 'false') {
    const waitMs = retryAfter(refusal.headers, Date.now())
    return { kind: 'passing', patience: 'long', waitMs, status, message: `The API answered ${said}` }
  }
  return { kind: 'final', status, message: explained(refusal, said, subject) }
}

function explained(refusal: Refusal, said: string, { model, baseUrl, keyVariable }: Subject): string {
  const key = keyVariable === 'ANTHROPIC_API_KEY' ? keyVariable : `${keyVariable} (or ANTHROPIC_API_KEY)`
  switch (refusal.status) {
    case 401:
      return `The server did not take the API key (${said}). Check ${key}`
    case 403:
      return `The server refused access (${said}). Check ${key} and that it may use the model ${model}`
    case 404: {
      const prefix = /\/v1$/.test(baseUrl) ? ' (without /v1 at its end)' : ''
      return `The server does not know the model ${model}, or has no Messages API at this address (${said}). Check --model or ANTHROPIC_MODEL, and ANTHROPIC_BASE_URL${prefix}`
    }
    default: {
      const elsewhere = refusal.headers?.get('location') ?? null
      if (refusal.status >= 300 && refusal.status < 400 && elsewhere !== null)
        return `The server sends us elsewhere (${refusal.status}). Set ANTHROPIC_BASE_URL to the address it names, ${elsewhere}, without /v1/messages`
      return `The API refused the request (${said})`
    }
  }
}

/** Reads the error out of a body in the shapes servers use. */
function errorOf(body: unknown): { type: string | null; message: string | null } {
  if (!isObject(body)) return { type: null, message: typeof body === 'string' ? readable(body) : null }
  const inner = isObject(body.error) ? body.error : body
  const message = [inner.message, body.message, body.error, body.detail].find((each) => typeof each === 'string')
  return {
    type: typeof inner.type === 'string' && inner.type !== 'error' ? inner.type : null,
    message: typeof message === 'string' ? shortened(message) : readable(JSON.stringify(body)),
  }
}

/** A server's own message whole, unless it quotes the request back at us. */
function shortened(message: string): string {
  return message.length > 2000 ? `${wellFormed(message.slice(0, 2000))}…` : message
}

/** @returns the first words of a page or a body: tags out, white space joined, at most 200 characters. */
export function readable(body: string): string {
  const words = body
    .slice(0, 20_000)
    .replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (words === '') return 'an empty answer'
  const characters = [...words]
  return characters.length > 200 ? `${characters.slice(0, 200).join('')}…` : words
}

/**
 * How long the server says to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a date.
 * @returns null where it says nothing that can be read
 */
export function retryAfter(headers: Refusal['headers'], now: number): number | null {
  const ms = headers?.get('retry-after-ms')
  if (ms !== null && ms !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(ms)) return Number(ms)
  const text = headers?.get('retry-after')
  if (text === null || text === undefined || text.trim() === '') return null
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
